"""`scrapy identity`: what it makes, what it publishes, what it finds wrong, and how it says so."""

import asyncio
import json
import os
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from scrapy.settings import Settings

from tests.support.commands import command
from tests.support.identities import fields_of, pem_of, serving
from tests.support.nameserver import PTR, NameServer
from webcrawl.net.identity.key_directory import MEDIA_TYPE, PATH
from webcrawl.net.identity.request_signing import RequestSigner
from webcrawl.net.identity.signing_key import SigningKey
from webcrawl.tools.commands.identity import crawler_identity

AGENT = "https://bot.example.org"


def identity(*words, **options):
    return command("scrapy", "identity", *words, **options)


@pytest.fixture
def key(tmp_path):
    return SigningKey.new(tmp_path / "bot.pem")


def published(folder, agent=AGENT, *more):
    done = identity(
        "directory", "--key", folder / "bot.pem", "--agent", agent, "-o", folder / "site", *more
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "site"


class TestNew:
    def test_a_key_is_made(self, tmp_path):
        """The key is for its owner alone; the command names it, and shows nothing of it."""
        done = identity("new", tmp_path / "bot.pem")

        key = SigningKey.read(tmp_path / "bot.pem")
        assert (done.returncode, done.stderr) == (0, "")
        assert (
            done.stdout
            == f"{tmp_path}/bot.pem: Ed25519 key {key.keyid}, readable only by its owner\n"
        )
        assert stat.S_IMODE((tmp_path / "bot.pem").stat().st_mode) == 0o600

    def test_nothing_is_overwritten(self, tmp_path, key):
        """A file that is there is left alone."""
        before = (tmp_path / "bot.pem").read_bytes()
        done = identity("new", tmp_path / "bot.pem")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"{tmp_path}/bot.pem: already exists; a key is never overwritten\n"
        assert (tmp_path / "bot.pem").read_bytes() == before


class TestDirectory:
    def test_what_is_written(self, tmp_path, key):
        """The set of public keys, and its fields in two forms, neither with a private part."""
        site = published(tmp_path)

        (one,) = json.loads((site / PATH[1:]).read_bytes())["keys"]
        assert (one["kid"], one.keys()) == (key.keyid, {"kty", "crv", "kid", "x", "use"})
        fields = fields_of(site)
        assert fields["Content-Type"] == MEDIA_TYPE
        nginx = (site / "nginx.conf").read_text()
        assert all(
            f"add_header {name} '{value}';" in nginx
            for name, value in fields.items()
            if name != "Content-Type"
        )
        assert f"default_type {MEDIA_TYPE};" in nginx
        assert sorted(path.name for path in site.rglob("*") if path.is_file()) == [
            "_headers",
            PATH.rpartition("/")[2],
            "nginx.conf",
        ]

    def test_the_next_key_too(self, tmp_path, key):
        """While keys are changed the directory has both, and each signs it."""
        after = SigningKey.new(tmp_path / "next.pem")
        site = published(tmp_path, AGENT, "--key", tmp_path / "next.pem", "--days", "7")

        done = identity("verify", site, "--agent", AGENT)
        assert (done.returncode, done.stderr) == (0, "")
        for number, one in enumerate((key, after)):
            assert f"key {one.keyid}: Ed25519\n" in done.stdout
            assert f"binding{number}: signed by key {one.keyid}, from " in done.stdout

    @pytest.mark.parametrize(
        "agent", ["http://bot.example.org", "https://bot.example.org/keys", "bot.example.org"]
    )
    def test_another_agent(self, tmp_path, key, agent):
        """Only an https origin can have a directory."""
        done = identity(
            "directory", "--key", tmp_path / "bot.pem", "--agent", agent, "-o", tmp_path / "site"
        )

        assert done.returncode == 2
        assert f"--agent '{agent}': must be an https origin" in done.stdout + done.stderr
        assert not (tmp_path / "site").exists()

    def test_a_key_that_cannot_be_used(self, tmp_path, key):
        """Nothing is written if a key is readable by others, or of another kind."""
        (tmp_path / "rsa.pem").write_bytes(pem_of(rsa.generate_private_key(65537, 2048)))
        words = [
            "--key",
            tmp_path / "rsa.pem",
            "--key",
            tmp_path / "bot.pem",
            "--agent",
            AGENT,
            "-o",
            tmp_path / "site",
        ]
        (tmp_path / "rsa.pem").chmod(0o644)  # whatever the umask
        first = identity("directory", *words)
        (tmp_path / "rsa.pem").chmod(0o600)
        second = identity("directory", *words)

        assert (first.returncode, second.returncode) == (1, 1)
        assert (
            first.stderr
            == f"{tmp_path}/rsa.pem: its mode is 0644, so others may read or change it: chmod 600\n"
        )
        assert second.stderr == f"{tmp_path}/rsa.pem: it is an RSA key, not Ed25519\n"
        assert not (tmp_path / "site").exists()


class TestPublished:
    def test_as_it_should_be(self, tmp_path, key):
        """A directory that is published as it was written is found to be right."""
        with serving(tmp_path) as (at, trust):
            published(tmp_path, at)
            done = identity("verify", at, environment=trust)

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(
            f"key {key.keyid}: Ed25519\nbinding0: signed by key {key.keyid}, from "
        )


class TestRequests:
    def test_a_request_of_ours(self, tmp_path, key):
        """A request is checked with the keys of a directory: by whom it was signed, and whether it
        still holds.
        """
        site = published(tmp_path)
        head = b"GET / HTTP/1.1\r\nHost: a.test\r\n%b\r\n"
        (tmp_path / "now").write_bytes(head % RequestSigner(key, AGENT).fields("a.test"))
        (tmp_path / "then").write_bytes(
            head % RequestSigner(key, AGENT, now=lambda: 1_700_000_000.0).fields("a.test")
        )
        now, then = (
            identity("verify", site, "--request", tmp_path / name) for name in ("now", "then")
        )

        assert (now.returncode, now.stderr) == (0, "")
        assert (
            f'sig1: says that its keys are at "{AGENT}"\nsig1: signed by key {key.keyid}, from '
            in now.stdout
        )
        assert then.returncode == 1
        assert f"sig1: signed by key {key.keyid}, from 2023-11-14" in then.stdout
        assert then.stderr == "sig1: has expired, by this machine's clock\n"

    def test_no_request(self, tmp_path, key):
        """A file that is no signed request, or is not there, is one line."""
        site = published(tmp_path)

        for name in ("site/_headers", "absent"):
            done = identity("verify", site, "--request", tmp_path / name)
            assert done.returncode == 1
            assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("which", ["place", "site/_headers", "request"])
    def test_a_pipe_without_a_writer(self, tmp_path, key, which):
        """What is no regular file is refused in a line: nobody waits for a writer."""
        site = published(tmp_path)
        pipe = tmp_path / which
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        words = {"place": [pipe], "request": [site, "--request", pipe]}.get(which, [site])

        done = identity("verify", *words)

        assert (done.returncode, done.stderr) == (1, f"{pipe}: it is not a regular file\n")


class TestNames:
    """`verify --addresses`: what servers without Web Bot Auth would find."""

    ONE = "1.2.0.192.in-addr.arpa"

    @pytest.mark.parametrize(
        ("zone", "status", "said"),
        [
            (
                {ONE: [(ONE, PTR, 60, "bot.test")], "bot.test": [("bot.test", 1, 60, "192.0.2.1")]},
                0,
                "",
            ),
            ({}, 1, "--addresses: 192.0.2.1 has no name\n"),
        ],
    )
    def test_names_are_looked_up(self, tmp_path, zone, status, said):
        """Each address is looked up at DNS_NAMESERVERS; a line says what does not fit."""
        assert identity("new", tmp_path / "bot.pem").returncode == 0
        words = ("verify", published(tmp_path), "--agent", AGENT, "--addresses", "192.0.2.1/32")

        async def go():
            server = NameServer(zone)
            async with server.running():
                done = await asyncio.to_thread(
                    identity, *words, "-s", f"DNS_NAMESERVERS={server.address}"
                )
            return done, server.questions

        done, questions = asyncio.run(go())

        assert (done.returncode, done.stderr) == (status, said)
        assert questions[0][0] == self.ONE


class TestPage:
    def test_from_the_settings(self, tmp_path):
        """The page says what the settings say; the list of addresses is a file beside it.

        No key is needed.
        """
        settings = {
            "BOT_AGENT": AGENT,
            "BOT_KEY": "/nowhere",
            "BOT_FROM": "bot@a.test",
        }
        words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        words += ["--addresses", "192.0.2.0/28"]
        done = identity(
            "page",
            "-o",
            tmp_path / "bot.html",
            "-s",
            "USER_AGENT=mybot/1.0 (+https://a.test)",
            *words,
        )

        assert (done.returncode, done.stderr) == (0, "")
        text = (tmp_path / "bot.html").read_text()
        for said in (
            "<h1>mybot</h1>",
            f"{AGENT}{PATH}",
            "mailto:bot@a.test",
            "192.0.2.0/28",
            "Crawl-delay",
        ):
            assert said in text
        assert json.loads((tmp_path / "addresses.json").read_text())["prefixes"] == [
            {"ipv4Prefix": "192.0.2.0/28"}
        ]

    def test_addresses_that_are_none(self):
        """The line says what is allowed."""
        done = identity("page", "--addresses", "192.0.2.1/28")

        assert done.returncode == 2
        assert (
            "--addresses 192.0.2.1/28: must be comma-separated networks in CIDR form" in done.stderr
        )

    def test_printed(self):
        """Without a file it is printed."""
        done = identity("page")

        assert (done.returncode, done.stdout[:15], done.stderr) == (0, "<!doctype html>", "")

    def test_of_another_project(self):
        """In a project that has none of webcrawl's settings its defaults count."""
        found = crawler_identity(
            Settings({"USER_AGENT": "own/1", "PURPOSE": "search research"}), ""
        )

        assert (found.name, found.purposes) == ("own", ("search", "research"))

    def test_a_setting_that_is_wrong(self):
        """A setting with an impossible value is one line."""
        done = identity("page", "-s", "BOT_FROM=nobody")

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "BOT_FROM = 'nobody': must be an e-mail address, or none\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["sign"],
        ["new"],
        ["new", "a", "b"],
        ["verify"],
        ["directory", "--key", "a"],
        ["directory", "--key", "a", "--agent", AGENT, "-o", "b", "--days", "0"],
        ["directory", "--key", "a", "--agent", "none", "-o", "b"],
        ["page", "a"],
    ],
)
def test_wrong_command_lines(words, tmp_path):
    """A command line that is not understood has exit status 2, and does nothing."""
    # outside a project scrapy does not know it
    done = command("webcrawl", "identity", *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert list(tmp_path.iterdir()) == []
