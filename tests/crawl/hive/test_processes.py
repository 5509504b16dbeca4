"""A drone as a process."""

import errno
import signal
import sys

import pytest

from tests.support.crawling import wait_until
from tests.support.fake_hives import gone
from webcrawl.crawl.hive import drone_process
from webcrawl.crawl.hive.drone_process import DroneProcess


@pytest.fixture(name="run")
def _run(tmp_path):
    """Runs Python code as a drone, to its end; what the drone printed, as lines, is in `read`."""

    def run(code):
        process = DroneProcess([sys.executable, "-c", code], tmp_path / "logs/drone-0.log")
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
    """A drone whose supervisor is gone gets SIGTERM, whatever it does."""
    code = (
        "import time; from webcrawl.tools.supervisor.until_eof import stop_at_eof; "
        "stop_at_eof(0); print(1); time.sleep(60)"
    )
    log = tmp_path / "logs/drone-0.log"
    process = DroneProcess([sys.executable, "-u", "-c", code], log)
    wait_until(lambda: log.read_text() == "1\n")
    process._process.stdin.close()

    wait_until(lambda: process.poll() is not None)
    assert process.poll() == -signal.SIGTERM
    assert [*process.lines()] == ["1"]
    assert gone(process._process.pid)


def test_no_descriptor_for_what_it_prints(tmp_path, monkeypatch):
    """A drone whose lines nobody could read is not begun: it would run on, and its successor be refused."""
    begun = []
    monkeypatch.setattr(drone_process.subprocess, "Popen", lambda *words, **_: begun.append(words))
    monkeypatch.setattr(drone_process, "regular", broken)

    with pytest.raises(OSError, match="too many"):
        DroneProcess([sys.executable, "-c", ""], tmp_path / "logs/drone-0.log")

    assert begun == []


def broken(path):
    raise OSError(errno.EMFILE, "too many open files")
