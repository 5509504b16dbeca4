"""The lock files fit the requirements, and every pin has a hash."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from packaging.requirements import Requirement

from tests.support.places import ROOT

FILES = ["requirements", "tests/requirements"]
BLOCK = re.compile(r"^([\w.-]+)==(\S+)(.*(?:\n    --hash=.*)*)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(file):
    """The requirements of one file, without those that it includes."""
    lines = [
        line.partition("#")[0].strip() for line in (ROOT / f"{file}.txt").read_text().splitlines()
    ]
    return [Requirement(line) for line in lines if line and not line.startswith("-r")]


def pins(file):
    """Name, version and hashes of each pin."""
    text = (ROOT / f"{file}.lock").read_text()
    return [
        (plain(name), version, HASH.findall(rest)) for name, version, rest in BLOCK.findall(text)
    ]


@pytest.mark.parametrize("lock", FILES)
def test_every_pin_has_a_hash(lock):
    """What is installed from a lock file is a file that was seen when it was written."""
    found = pins(lock)

    assert len(found) > 50
    assert [name for name, _, hashes in found if not hashes] == []
    assert len(found) == len(
        re.findall(r"^[^ #]", (ROOT / f"{lock}.lock").read_text(), re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("file", "lock"), [*zip(FILES, FILES, strict=True), ("requirements", "tests/requirements")]
)
def test_the_lock_has_all_that_is_required(file, lock):
    """Each requirement is pinned, to a version that it allows: after a change of the requirements
    run .ci/lock.
    """
    versions = {}
    for name, version, _ in pins(lock):
        versions.setdefault(name, []).append(version)
    broken = [
        str(one)
        for one in wanted(file)
        if not versions.get(plain(one.name))
        or not all(map(one.specifier.contains, versions[plain(one.name)]))
    ]

    assert broken == []


def test_both_locks_have_the_same_versions():
    """The tests run with the versions that a user of the lock file gets."""
    both = {(name, version) for name, version, _ in pins("tests/requirements")}

    assert {(name, version) for name, version, _ in pins("requirements")} <= both


def test_what_the_state_depends_on_is_bounded():
    """A new major version of what computes a stored value is not installed by itself."""
    stored = {
        "ada-url",
        "blake3",
        "msgpack",
        "pybloom-live",
        "siphashc",
        "tldextract",
        "backports.zstd",
    }
    bounded = {one.name for one in wanted("requirements") if "<" in str(one.specifier)}

    assert bounded >= stored | {"scrapy"}


def script_of(name):
    """A script of .ci as a module."""
    loader = SourceFileLoader(name, str(ROOT / ".ci" / name))
    script = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    return script


def test_outdated_reads_both_files():
    """.ci/outdated knows the locked versions, for all Pythons on Linux, and the upper bounds."""
    script = script_of("outdated")
    lock = "a_B==1.0 \\\n    --hash=sha256:0\nc==2 ; python_version < '3'\nc==3\nw==1 ; sys_platform == 'win32'\n"

    assert script.pins(lock) == {"a-b": {"1.0"}, "c": {"2", "3"}}
    assert script.bounds("a.b>=1,<2 # why\nc>=1\nd<3\n") == {"a-b": "<2", "d": "<3"}


def test_wheels_says_where_there_is_none():
    """.ci/wheels compares the names of the wheels with each system and Python that needs the
    package.
    """
    wheels = ["a-1-cp311-abi3-manylinux_2_17_x86_64.whl", "a-1-cp313-cp313-macosx_11_0_arm64.whl"]
    packages = [
        {"name": "pure", "version": "1", "wheels": [{"name": "pure-1-py3-none-any.whl"}]},
        {"name": "source", "version": "1"},
        {"name": "a", "version": "1", "wheels": [{"name": name} for name in wheels]},
        {
            "name": "later",
            "version": "1",
            "marker": "python_full_version < '3.12' and sys_platform == 'darwin'",
        },
    ]
    script = script_of("wheels")
    found = script.missing({"packages": packages})

    assert found.keys() == {"source 1 (source only)", "a 1", "later 1 (source only)"}
    assert script.told(found["source 1 (source only)"]) == "everywhere"
    assert script.told(found["later 1 (source only)"]) == "macOS x86_64 (3.11); macOS arm64 (3.11)"
    assert script.told(found["a 1"]) == (
        "musllinux x86_64; manylinux aarch64; musllinux aarch64; macOS x86_64; macOS arm64 (3.11, 3.12, 3.14)"
    )
