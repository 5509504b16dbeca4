"""Runs Scrapy's own tests that crawl, plain and with the add-on forced in, and compares what
differs with the list.

    python -m tests.scrapys_own [FOLDER] [-n PROCESSES]

FOLDER keeps the sdist and the environment for the next run; without one, both are removed at the
end. It needs the package index, by pip. The tests themselves reach loopback only: those that need
the internet are left out. Exit status 1: a test differs that is not in expected.txt, or one that is
there does not differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOOLS = (  # of Scrapy's tox.ini
    *(
        "attrs",
        "pexpect>=4.8.0",
        "psutil",
        "pyftpdlib>=2.0.1",
        "pygments",
        "pytest>=8.4.1",
        "pytest-rerunfailures",
    ),
    *("pytest-timeout", "pytest-twisted>=1.14.3", "pytest-xdist", "sybil>=1.3.0"),
)
CRAWLS = re.compile(r"\.crawl\(|crawl_async\(")
# they start processes, which know nothing of the plugin
NOT_THESE = ("subprocess", "command", "cmdline")
# per test; beyond that its process is ended and replaced: a stopped reactor fails all that follow
SECONDS = 60
MARKS = "not requires_internet and not requires_mitmproxy"


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scrapys_own", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="keeps the sdist and the environment for the next run"
    )
    parser.add_argument("-n", default="2", metavar="PROCESSES", help="test processes (2)")
    given = parser.parse_args()
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        return compare(given.folder.resolve(), given.n)
    with TemporaryDirectory(prefix="scrapys-own-") as folder:
        return compare(Path(folder), given.n)


def pinned() -> str:
    """Return the version of Scrapy in the lock file."""
    found = re.search(r"^scrapy==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("requirements.lock has no scrapy==VERSION")
    return found[1]


def sdist(folder: Path, version: str) -> Path:
    """Return the folder of Scrapy's source, downloaded unless it is there."""
    source = folder / f"scrapy-{version}"
    if not source.is_dir():
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            "scrapy",
            "-d",
            str(folder),
        ]
        subprocess.run([*pip, f"scrapy=={version}"], check=True)
        with tarfile.open(folder / f"scrapy-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return source


def environment(folder: Path) -> Path:
    """Return the Python of an environment with what both projects and Scrapy's tests need."""
    python, done = folder / "venv/bin/python", folder / "venv/complete"
    if not done.exists():
        venv.create(folder / "venv", with_pip=True, clear=True)
        needs = ["-r", str(ROOT / "requirements.txt"), *TOOLS]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *needs], check=True)
        done.touch()
    return python


def test_files(source: Path) -> list[str]:
    """Return the files with tests that crawl through Scrapy's public API."""
    files = sorted(source.glob("tests/test_*.py"))
    return [
        f"tests/{file.name}"
        for file in files
        if not any(word in file.name for word in NOT_THESE) and CRAWLS.search(file.read_text())
    ]


def run(
    python: Path, source: Path, tests: list[str], processes: str, **more: str
) -> dict[str, bool]:
    """Run tests; return for each whether it passed. Those that were skipped are left out."""
    report, words = source / "report.xml", source / "tests.txt"
    report.unlink(missing_ok=True)
    words.write_text("\n".join(tests))
    limits = ["--timeout", str(SECONDS), "--timeout-method", "thread"]
    pytest = [
        str(python),
        "-m",
        "pytest",
        "-p",
        "force_addon",
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=line",
        *limits,
    ]
    with TemporaryDirectory(prefix="scrapys-own-") as scratch:  # each crawl leaves a JOBDIR
        subprocess.run(
            [*pytest, "-n", processes, "-m", MARKS, f"--junitxml={report}", f"@{words}"],
            cwd=source,
            env={**os.environ, "PYTHONPATH": str(HERE), "TMPDIR": scratch, **more},
            check=False,
        )
    if not report.exists():
        raise SystemExit("pytest has written no report: see above")
    return outcomes(report)


def outcomes(report: Path) -> dict[str, bool]:
    """Return for each test of a report, by its node id, whether it passed."""
    found: dict[str, bool] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest has just written it
        kinds = {one.tag for one in case}
        if "skipped" not in kinds:
            name = node_id(case.get("classname", ""), case.get("name", ""))
            found[name] = found.get(name, True) and not kinds & {"failure", "error"}
    return found


def node_id(classname: str, name: str) -> str:
    """Return pytest's name of a test, by its class and its name in a report."""
    module, _, kind = classname.removeprefix("tests.").partition(".")
    return "::".join(part for part in (f"tests/{module}.py", kind, name) if part)


def expected(path: Path = HERE / "expected.txt") -> dict[str, str]:
    """Return the tests that are expected to differ, with the reason: the heading above them."""
    reasons: dict[str, str] = {}
    reason = ""
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line.strip():
            reasons[line.strip()] = reason
    return reasons


def verdict(plain: dict[str, bool], forced: dict[str, bool], reasons: dict[str, str]) -> list[str]:
    """Return a line for each test that differs unexpectedly, or does not differ although it is
    expected to.
    """
    differs = {name for name, passed in plain.items() if passed and not forced.get(name, False)}
    unexpected = [
        f"differs, and no reason is known: {name}" for name in sorted(differs - reasons.keys())
    ]
    sure = {name for name, reason in reasons.items() if not reason.startswith("sometimes: ")}
    stale = [
        f"does not differ any more, take it out of expected.txt: {name}"
        for name in sorted(sure - differs)
        if name in plain
    ]
    gone = [
        f"is no test that crawls, take it out of expected.txt: {name}"
        for name in sorted(reasons.keys() - plain.keys())
    ]
    return unexpected + stale + gone


def compare(folder: Path, processes: str) -> int:
    """Run both ways, and tell what differs."""
    source, python = sdist(folder, pinned()), environment(folder)
    crawls = source / "crawls.jsonl"
    crawls.unlink(missing_ok=True)
    plain = run(python, source, test_files(source), processes, WEBCRAWL_OWN_CRAWLS=str(crawls))
    names = {json.loads(line) for line in crawls.read_text().splitlines()}
    crawling = {name: passed for name, passed in plain.items() if name in names}
    forced = run(python, source, sorted(crawling), processes, WEBCRAWL_OWN_FORCED="1")
    lines = verdict(crawling, forced, expected())
    same = sum(passed and forced.get(name, False) for name, passed in crawling.items())
    print(
        f"Scrapy {pinned()}: {sum(plain.values())} of {len(plain)} tests pass plain; {len(crawling)} crawl"
    )
    print(f"with the add-on {same} of these pass, {len(expected())} differences are expected")
    print("\n".join(lines) or "nothing else differs")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
