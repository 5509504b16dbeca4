"""One start of a drone, or of a server."""

import errno
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.crawling import wait_until
from tests.support.fake_hives import gone
from tests.support.places import ROOT
from webcrawl.crawl.hive import process as processes
from webcrawl.crawl.hive.process import Child


@pytest.fixture(name="run")
def _run(tmp_path):
    """Runs Python code as a drone, to its end; what the drone printed, as lines, is in `read`."""

    def run(code):
        process = Child([sys.executable, "-c", code], tmp_path / "logs/drone-0.log")
        wait_until(lambda: process.poll() is not None)
        process.read = [*process.lines()]
        return process

    return run


def test_what_it_prints(run, tmp_path):
    """Both of its outputs are appended to its log, and can be read by line; the last one may lack its end."""
    first = run("import sys; print('one', flush=True); sys.stderr.write('two')")
    second = run("print('three')")

    assert first.read == ["one", "two"]
    assert second.read == ["three"]
    assert [*second.lines()] == []
    assert (tmp_path / "logs/drone-0.log").read_text() == "one\ntwothree\n"


def test_what_is_no_text(run):
    """Whatever bytes it prints, they are read."""
    process = run("import os; os.write(1, b'\\xff\\x00' + b'x' * 20000 + b'\\n')")

    (line,) = process.read

    assert line.startswith("\ufffd\x00xxx")
    assert len(line) < 20_000


def test_how_it_ended(run):
    """Its exit status, or the signal that ended it."""
    assert run("raise SystemExit(3)").poll() == 3
    assert run("import os; os.kill(os.getpid(), 9)").poll() == -signal.SIGKILL


def test_a_request_before_it_listens(run):
    """A drone that does not listen to SIGUSR1 yet is not ended by it."""
    process = run("import os, signal; os.kill(os.getpid(), signal.SIGUSR1)")

    assert process.poll() == 0
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_signals_after_its_end(run):
    """A signal to a process that has ended does nothing."""
    run("pass").send(signal.SIGTERM)


def test_when_nobody_watches(tmp_path):
    """A process whose parent is gone, even by a kill -9, gets SIGTERM, whatever it does."""
    log = tmp_path / "logs/drone-0.log"
    words = [sys.executable, "-u", "-c", "import os, time; print(os.getpid()); time.sleep(60)"]
    code = (
        "import sys, time; from pathlib import Path; from webcrawl.crawl.hive.process import Child\n"
        "child = Child(sys.argv[2:], Path(sys.argv[1])); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, log, *words], cwd=ROOT) as parent:
        wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
        parent.kill()

    wait_until(lambda: gone(int(log.read_text())))


def test_its_guard_ends_with_it(run):
    """When a process has ended nobody waits beside it to signal its number, which may be another's by then."""
    process = run("pass")

    def beside():
        stats = (path.read_text().rpartition(")")[2].split() for path in Path("/proc").glob("[0-9]*/stat"))
        with suppress(OSError):
            return [one for one in stats if int(one[3]) == process.pid and one[0] != "Z"]
        return [process]

    wait_until(lambda: not beside())


def test_no_descriptor_for_what_it_prints(tmp_path, monkeypatch):
    """A drone whose lines nobody could read is not begun: it would run on, and its successor be refused."""
    begun = []
    monkeypatch.setattr(processes.subprocess, "Popen", lambda *words, **_: begun.append(words))
    monkeypatch.setattr(processes, "regular", broken)

    with pytest.raises(OSError, match="too many"):
        Child([sys.executable, "-c", ""], tmp_path / "logs/drone-0.log")

    assert begun == []


def broken(path):
    raise OSError(errno.EMFILE, "too many open files")
