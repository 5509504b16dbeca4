"""The files of docs/deploy, which users put on their servers."""

import re
import shlex
import shutil
import subprocess
from argparse import ArgumentParser

import pytest
from scrapy.settings import Settings

from tests.support.commands import command
from tests.support.crawling import wait_until
from tests.support.fake_hives import COMMAND
from tests.support.hive_members import Members
from tests.support.places import ROOT
from webcrawl import settings as defaults
from webcrawl.crawl.hive.redis_server.embedded_server import find_binary
from webcrawl.tools.commands import crawl, hive

HERE = ROOT / "docs/deploy"
UNITS = sorted(HERE.glob("*.service"))


@pytest.fixture(name="url")
def _url(tmp_path):
    """A server with the configuration and the user that are in docs/deploy, on a socket instead of
    TLS.
    """
    (tmp_path / "users.acl").write_text(
        (HERE / "users.acl").read_text().replace("PASSWORD", "secret")
    )
    lines = (
        (HERE / "valkey.conf")
        .read_text()
        .replace("/etc/webcrawl/users.acl", "users.acl")
        .splitlines()
    )
    kept = [line for line in lines if not line.startswith(("tls-", "bind"))]
    (tmp_path / "valkey.conf").write_text("\n".join([*kept, "unixsocket valkey.sock", ""]))
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [find_binary(), "valkey.conf"], cwd=tmp_path, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: (tmp_path / "valkey.sock").exists() or server.poll() is not None)
        assert server.poll() is None, (tmp_path / "log").read_text()
        yield f"unix://webcrawl:secret@{tmp_path}/valkey.sock"
    finally:
        server.terminate()
        server.wait()


def test_the_servers_user_has_the_rights_that_are_needed(url):
    """Drones and operators can do all that they do with the rights of users.acl, and valkey.conf is
    understood.
    """
    with Members(url, 2) as members:
        for words in (
            ["hive", "status", url],
            ["ctl", url, "pause"],
            ["hive", "resize", url, "-n", 1],
        ):
            done = command(COMMAND, *words)
            assert (done.returncode, done.stderr) == (0, "")
    assert [name for name, *_ in members.commands] == ["pause", "resize"]


def test_without_the_password(url):
    """Nobody else is let in; the line says so, without the password."""
    done = command(COMMAND, "hive", "status", url.replace("secret", "guess"))

    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert (
        "REDIS_URL: the server refuses the login (REDIS_PASSWORD_FILE names the file with the password): "
        in done.stderr
    )
    assert "guess" not in done.stderr


@pytest.mark.parametrize(
    "unit", [one for one in UNITS if "ExecStart=/srv" in one.read_text()], ids=lambda one: one.name
)
def test_commands_of_units(unit):
    """A unit's command line has options and settings that there are, and values that hive.env
    gives.
    """
    text = unit.read_text().replace("\\\n", " ")
    _, scrapy, name, *words = [
        "",
        *shlex.split(re.search("^ExecStart=(.*)$", text, re.MULTILINE)[1]),
    ]
    parser, kind = (
        ArgumentParser(conflict_handler="resolve"),
        {"crawl": crawl.Command, "hive": hive.HiveRunning}[name],
    )
    made = kind()
    made.settings = Settings()
    made.add_options(parser)
    options, rest = parser.parse_known_args(words)

    assert scrapy.endswith("/scrapy")
    assert rest == ["web"]
    assert all(
        hasattr(defaults, setting.partition("=")[0]) or "LOG_FILE" in setting
        for setting in options.set
    )
    given = set(re.findall(r"^(\w+)=", (HERE / "hive.env").read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)\}", text)) <= given


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda one: one.name)
def test_units_are_understood(tmp_path, unit):
    """Systemd finds nothing to say against a unit, but for programs and users that are not here."""
    path = tmp_path / unit.name.replace("@", "@0")
    path.write_text(
        re.sub("^ExecStart=[^ ]*", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE)
    )

    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False
    )

    assert not [line for line in done.stderr.splitlines() if unit.stem.rstrip("@") in line]
