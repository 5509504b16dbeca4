"""`scrapy leaving` as a command: what it refuses, what it prints, how it ends."""

import re
import signal
import socket
import stat
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.support.commands import command, served
from tests.support.dashboards import made
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from webcrawl.tools.optout.token import NAME

PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
ADDRESS = re.compile(r"the form for owners: (http://127\.0\.0\.1:\d+/)\n")


def leaving(*words, cwd, **more):
    environment = {"PYTHONPATH": str(ROOT), **dict.fromkeys(PROXIES, ""), **more}
    return command("webcrawl", "leaving", *words, cwd=cwd, environment=environment)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere"], "nowhere: no crawl and no hive lies there"),
        (["a\x1b[2Jb"], "a\\x1b[2Jb: no crawl and no hive lies there"),
        (["web", "--port", "x"], "--port x: must be a whole number from 0 to 65535"),
        (["web", "--host", "localhost"], "--host localhost: must be an IP address of this machine"),
        (["web", "--host", "192.0.2.1"], "--port: cannot listen on 192.0.2.1, port 8710: Cannot assign"),
        (["web", "--port", "0", "-s", "BOT_FROM=nobody"], "BOT_FROM = 'nobody': must be an e-mail address, or none"),
    ],
)
def test_a_wrong_folder_address_or_setting_is_one_line(tmp_path, words, line):
    """A folder without a crawl, an address that is none and a wrong setting end in one line and exit status 1."""
    made(tmp_path / "web")
    done = leaving(*words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(tmp_path):
    """A port that somebody else has is one line, too."""
    made(tmp_path / "web")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = leaving("web", "--port", port, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"--port: cannot listen on 127.0.0.1, port {port}: Address already in use\n"


def test_a_key_that_others_read(tmp_path):
    """With a key that is not secret there is no form."""
    made(tmp_path / "web")
    (tmp_path / "web" / NAME).write_bytes(bytes(32))
    (tmp_path / "web" / NAME).chmod(0o644)
    done = leaving("web", "--port", "0", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"web/{NAME}: must be a file of mode 600, which nobody else may read\n"


def test_a_proxy(tmp_path):
    """Where requests go through a proxy there is no form: strangers would choose names that only the proxy checks."""
    made(tmp_path / "web")
    done = leaving("web", "--port", "0", cwd=tmp_path, http_proxy="http://127.0.0.1:9")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("the environment names a proxy, and the form has none: ")


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--jump"]])
def test_wrong_command_lines(tmp_path, words):
    """A command line that is not understood has exit status 2."""
    assert leaving(*words, cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, *in_campaign(signal.SIGTERM)])
def test_from_its_start_to_ctrl_c(tmp_path, number):
    """It prints its address, makes its key, shows the page, and ends with 0 though a connection is open."""
    made(tmp_path / "web")
    process = served(tmp_path, "leaving", "web")
    with process:
        try:
            address = ADDRESS.fullmatch(process.stdout.readline())[1]
            with build_opener(ProxyHandler({})).open(address, timeout=60) as page:
                assert b"leave your site alone" in page.read()
            with socket.create_connection(("127.0.0.1", int(address.split(":")[2][:-1]))):
                process.send_signal(number)
                said = process.communicate(timeout=120)
        finally:
            process.kill()

    assert (process.returncode, said) == (0, ("", ""))
    assert stat.S_IMODE((tmp_path / "web" / NAME).stat().st_mode) == 0o600
