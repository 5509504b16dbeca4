"""What a crawl says at its start of who it is."""

import logging

from tests.support.identities import pem_of
from webcrawl import settings as defaults
from webcrawl.adapter.extensions.summary import Identity
from webcrawl.crawl.checks import check
from webcrawl.net.identity.signing_key import SigningKey

NAMED = {"USER_AGENT": "mybot/1.0 (+https://example.org/bot)"}


def said(caplog, **settings):
    """The lines of a start with these settings."""
    caplog.set_level(logging.INFO, "webcrawl.adapter.extensions.summary")
    Identity(check({**NAMED, **settings})).opened()
    return [record.getMessage() for record in caplog.records]


def test_the_default_user_agent(caplog):
    """A crawl without a name of its own is warned."""
    (line,) = said(caplog, USER_AGENT=defaults.USER_AGENT)

    assert line.startswith("USER_AGENT is the default")


def test_nothing_to_say(caplog):
    """A crawl with a name and nothing else says nothing."""
    assert said(caplog) == []


def test_a_key(caplog, tmp_path):
    """The key that signs is named, by its public name."""
    key = SigningKey.new(tmp_path / "bot.pem")
    (line,) = said(caplog, BOT_KEY=tmp_path / "bot.pem", BOT_AGENT="https://bot.example.org")

    assert line.startswith(
        f"requests are signed: key {key.keyid}, directory https://bot.example.org "
    )
    assert pem_of(key._private).decode().split("\n")[1] not in line
