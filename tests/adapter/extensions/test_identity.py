"""What a crawl says at its start of who it is."""

import asyncio
import logging

import pytest

from tests.support.identities import pem_of
from tests.support.nameserver import PTR, NameServer
from webcrawl import settings as defaults
from webcrawl.adapter.extensions import identity as extension
from webcrawl.adapter.extensions.identity import Identity
from webcrawl.crawl.checks import check
from webcrawl.net.identity.signing_key import SigningKey

NAMED = {"USER_AGENT": "mybot/1.0 (+https://example.org/bot)"}
ONE = "1.2.0.192.in-addr.arpa"


def said(caplog, zone=None, **settings):
    """The lines of a start with these settings and name servers."""
    caplog.set_level(logging.INFO, "webcrawl.adapter.extensions.identity")

    async def go():
        server = NameServer(zone)
        async with server.running():
            identity = Identity(check({**NAMED, **settings, "DNS_NAMESERVERS": server.address}))
            identity.opened()
            if identity._asking is not None:
                await identity._asking
            identity.closed()
        return server.questions

    questions = asyncio.run(go())
    return [record.getMessage() for record in caplog.records], questions


def test_the_default_user_agent(caplog):
    """A crawl without a name of its own is warned."""
    (line,), _ = said(caplog, USER_AGENT=defaults.USER_AGENT)

    assert line.startswith("USER_AGENT is the default")


def test_nothing_to_say(caplog):
    """A crawl with a name and nothing else says nothing, and asks nobody."""
    assert said(caplog) == ([], [])


def test_a_key(caplog, tmp_path):
    """The key that signs is named, by its public name."""
    key = SigningKey.new(tmp_path / "bot.pem")
    (line,), _ = said(caplog, BOT_KEY=tmp_path / "bot.pem", BOT_AGENT="https://bot.example.org")

    assert line.startswith(f"requests are signed: key {key.keyid}, directory https://bot.example.org ")
    assert pem_of(key._private).decode().split("\n")[1] not in line


@pytest.mark.parametrize(
    ("zone", "lines"),
    [
        ({ONE: [(ONE, PTR, 60, "bot.test")], "bot.test": [("bot.test", 1, 60, "192.0.2.1")]}, []),
        ({}, ["BOT_ADDRESSES: 192.0.2.1 has no name: servers that check names will not know this crawl"]),
    ],
)
def test_addresses(caplog, zone, lines):
    """Declared addresses are looked up at the crawl's own name servers; a line says what does not fit."""
    found, questions = said(caplog, zone, BOT_ADDRESSES="192.0.2.1/32")

    assert found == lines
    assert questions[0][0] == ONE


def test_slow_name_servers(caplog, monkeypatch):
    """Of addresses that nobody could look up in time, nobody says that they are unknown to servers."""
    monkeypatch.setattr(extension, "PATIENCE", 0.0)
    found, _ = said(caplog, BOT_ADDRESSES="192.0.2.1/32")

    assert found == ["BOT_ADDRESSES: the name servers are too slow to tell whether their names fit"]
