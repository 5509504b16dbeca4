"""`scrapy dashboard` as a command: what it refuses, what it prints, how it ends."""

import re
import resource
import signal
import socket
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection

import pytest

from tests.support.commands import command, served
from tests.support.dashboards import made
from tests.support.examples import in_campaign
from tests.support.places import ROOT

ADDRESS = re.compile(r"dashboard: http://127\.0\.0\.1:(\d+)(/\S+)/\?token=(\S+)")


@pytest.fixture(name="started")
def _started(tmp_path):
    """The process of a dashboard on any free port, and what its first line says."""
    made(tmp_path / "crawls/web")
    process = served(tmp_path, "dashboard")
    with process:
        yield process, ADDRESS.fullmatch(process.stdout.readline().rstrip("\n"))
        process.kill()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--port", "x"], "--port x: must be a whole number from 0 to 65535"),
        (["--port", "65536"], "--port 65536: must be a whole number from 0 to 65535"),
        (["--port", "-1"], "--port -1: must be a whole number from 0 to 65535"),
        (["nowhere"], "nowhere: contains no crawl and no hive"),
        (["."], ".: contains no crawl and no hive"),
        (["a\x1b[2Jb"], "a\\x1b[2Jb: contains no crawl and no hive"),
        (["--host", "192.0.2.1"], "192.0.2.1:8700: Cannot assign requested address"),
    ],
)
def test_a_wrong_port_folder_or_address_is_one_line(tmp_path, words, line):
    """A wrong port, a folder without a crawl and an address that is none end in one line and exit
    status 1.
    """
    done = command("webcrawl", "dashboard", *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(tmp_path):
    """A port that somebody else has is one line, too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("webcrawl", "dashboard", "--port", port, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"127.0.0.1:{port}: Address already in use\n"


def test_without_aiohttp(tmp_path):
    """Without its package the command says what to install."""
    done = command(
        "tests.support.without",
        "aiohttp",
        "webcrawl",
        "dashboard",
        cwd=tmp_path,
        environment={"PYTHONPATH": str(ROOT)},
    )

    assert (done.returncode, done.stderr) == (
        1,
        "aiohttp is not installed: pip install 'aiohttp>=3.11,<4'\n",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, *in_campaign(signal.SIGTERM)])
def test_from_its_start_to_ctrl_c(started, number):
    """It prints its address with the token, finds the crawls below ./crawls, and ends with 0, pages
    open or not.
    """
    process, said = started
    port, base, token = int(said[1]), said[2], said[3]
    with asked(port, f"{base}/", "") as answer:
        assert answer.status == 403
    with asked(port, f"{base}/?token={token}", "") as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
    with asked(port, f"{base}/", cookie) as answer:
        assert ">web</a>" in answer.read().decode()
    with asked(port, f"{base}/events", cookie) as events:
        assert events.readline().startswith(b'data: {"crawls":')
        process.send_signal(number)
        assert process.wait(120) == 0

    assert process.stderr.read() == ""


@pytest.mark.campaign
def test_more_connections_than_descriptors(started):
    """Who opens more connections than it can take fills no log, and only keeps it busy until they
    are closed.
    """
    process, said = started
    port, base = int(said[1]), said[2]
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (40, 40))
    with ExitStack() as strangers:
        for _ in range(60):
            stranger = strangers.enter_context(socket.socket())
            stranger.setblocking(False)
            stranger.connect_ex(("127.0.0.1", port))
        line = process.stdout.readline()

    with asked(port, f"{base}/", "") as answer:
        assert answer.status == 403
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    assert line == "no connection can be accepted until others are closed: Too many open files\n"
    assert (process.stdout.read(), process.stderr.read()) == ("", "")


@contextmanager
def asked(port, path, cookie):
    """The answer to a browser with this cookie."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Cookie": cookie})
        with connection.getresponse() as answer:
            yield answer
