"""The processes that run the tests (tests/support/forked.py), on a few tests of their own."""

import re

import pytest

from tests.support.commands import command

pytestmark = pytest.mark.xdist_group("forked")  # one run for all tests

CONFTEST = """
from tests.support.forked import Forked

def pytest_configure(config):
    config.pluginmanager.register(Forked(5, lambda item: "many" in item.name))
"""
SINGLE = """
import os, sys, time, warnings
from pathlib import Path
import pytest

@pytest.fixture(autouse=True)
def _runs(request, tmp_path):
    with Path("runs").open("a") as file:
        file.write(f"{os.getpid()} {request.node.name} {tmp_path}\\n")

@pytest.mark.parametrize("number", range(20))
def test_many(number):
    time.sleep(0.001)

def test_says():
    print("one word")
    sys.stderr.write("another word")
    assert "left" == "right"

def test_warns():
    warnings.warn("of the test", UserWarning, stacklevel=1)

def test_skips():
    pytest.skip("for a reason")

def test_dies():
    os._exit(3)

@pytest.mark.xdist_group("together")
def test_joins():
    pass
"""
GROUP = f"""
{SINGLE.partition("@pytest.mark")[0]}
pytestmark = pytest.mark.xdist_group("together")

@pytest.fixture(scope="module")
def made():
    Path("made").open("a").write("x")
    yield
    Path("ended").open("a").write("x")

def test_first(made):
    pass

def test_second(made):
    os._exit(4)

def test_third(made):
    pass
"""


@pytest.fixture(name="run", scope="module")
def _run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forked")
    for name, text in (("conftest", CONFTEST), ("test_single", SINGLE), ("test_group", GROUP)):
        (folder / f"{name}.py").write_text(text)
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers = xdist_group\naddopts = -n 0 -rfs -p no:cacheprovider"
    )
    done = command("pytest", f"--basetemp={folder}/temporary", cwd=folder)
    return folder, done


def runs(folder):
    return [line.split() for line in (folder / "runs").read_text().splitlines()]


def test_each_test_runs_once(run):
    """Every test has its turn in one of the processes, also after one of them has died."""
    folder, done = run

    names = [name for _, name, _ in runs(folder)]
    assert len(set(names)) == len(names) == 28
    assert re.search(r"3 failed, 24 passed, 1 skipped, 1 warning", done.stdout), done.stdout
    assert done.returncode == 1


def test_a_process_that_dies_is_a_failure_of_its_test(run):
    """The test that it was at is named, with the status."""
    _, done = run

    for name, status in (("test_single.py::test_dies", 3), ("test_group.py::test_second", 4)):
        assert f"FAILED {name} - the process of this test ended with {status}" in done.stdout


def test_what_a_test_said_is_told(run):
    """Output, the reason of a failure or of a skip, and warnings reach the summary."""
    _, done = run

    for words in (
        "one word",
        "another word",
        "assert 'left' == 'right'",
        "for a reason",
        "UserWarning: of the test",
    ):
        assert words in done.stdout


def test_a_group_stays_together(run):
    """Tests of a group, of whichever files, share a process, which makes what they share once,
    unless it dies.
    """
    folder, _ = run

    group = ("test_first", "test_second", "test_third", "test_joins")
    first, second, third, joins = (pid for pid, name, _ in runs(folder) if name in group)
    assert first == second != third == joins
    assert ((folder / "made").read_text(), (folder / "ended").read_text()) == ("xx", "x")


def test_processes_have_folders_of_their_own(run):
    """Temporary folders of one process are in none of another."""
    folder, _ = run

    places = {(pid, path.rpartition("/")[0]) for pid, _, path in runs(folder)}
    assert 2 <= len({pid for pid, _ in places}) == len(places)
