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
    lines = [line.partition("#")[0].strip() for line in (ROOT / f"{file}.txt").read_text().splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("-r")]


def pins(file):
    """Name, version and hashes of each pin."""
    text = (ROOT / f"{file}.lock").read_text()
    return [(plain(name), version, HASH.findall(rest)) for name, version, rest in BLOCK.findall(text)]


@pytest.mark.parametrize("lock", FILES)
def test_every_pin_has_a_hash(lock):
    """What is installed from a lock file is a file that was seen when it was written."""
    found = pins(lock)

    assert len(found) > 50
    assert [name for name, _, hashes in found if not hashes] == []
    assert len(found) == len(re.findall(r"^[^ #]", (ROOT / f"{lock}.lock").read_text(), re.MULTILINE))


@pytest.mark.parametrize(("file", "lock"), [*zip(FILES, FILES, strict=True), ("requirements", "tests/requirements")])
def test_the_lock_has_all_that_is_required(file, lock):
    """Each requirement is pinned, to a version that it allows: after a change of the requirements run .ci/lock."""
    versions = {}
    for name, version, _ in pins(lock):
        versions.setdefault(name, []).append(version)
    broken = [
        str(one)
        for one in wanted(file)
        if not versions.get(plain(one.name)) or not all(map(one.specifier.contains, versions[plain(one.name)]))
    ]

    assert broken == []


def test_both_locks_have_the_same_versions():
    """The tests run with the versions that a user of the lock file gets."""
    both = {(name, version) for name, version, _ in pins("tests/requirements")}

    assert {(name, version) for name, version, _ in pins("requirements")} <= both


def test_what_the_state_depends_on_is_bounded():
    """A new major version of what computes a stored value is not installed by itself."""
    stored = {"ada-url", "blake3", "msgpack", "pybloom-live", "siphashc", "tldextract", "zstandard"}
    bounded = {one.name for one in wanted("requirements") if "<" in str(one.specifier)}

    assert bounded >= stored | {"scrapy"}


def test_outdated_reads_both_files():
    """.ci/outdated knows the locked versions, for all Pythons on Linux, and the upper bounds."""
    loader = SourceFileLoader("outdated", str(ROOT / ".ci/outdated"))
    script = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    lock = "a_B==1.0 \\\n    --hash=sha256:0\nc==2 ; python_version < '3'\nc==3\nw==1 ; sys_platform == 'win32'\n"

    assert script.pins(lock) == {"a-b": {"1.0"}, "c": {"2", "3"}}
    assert script.bounds("a.b>=1,<2 # why\nc>=1\nd<3\n") == {"a-b": "<2", "d": "<3"}
