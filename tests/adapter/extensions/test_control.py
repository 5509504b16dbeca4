"""The extension that takes commands: what it does where it cannot listen, or keep."""

import asyncio
import logging
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from webcrawl.adapter.extensions import control
from webcrawl.adapter.extensions.control import Control
from webcrawl.crawl.control.command import CommandError
from webcrawl.store.errors import StoreError


@pytest.fixture(name="extension_of")
def _extension_of(tmp_path, monkeypatch):
    """Makes the extension of a crawl that is as its commands see it."""

    def make(**crawl):
        monkeypatch.setattr(control, "scheduler_of", lambda _: None)
        monkeypatch.setattr(control, "CommandedCrawl", lambda *_: SimpleNamespace(**crawl))
        return Control(SimpleNamespace(), tmp_path)

    return make


@pytest.fixture(name="command")
def _command(extension_of, monkeypatch):
    """Gives a command to such a crawl, as its socket does, and returns the answer."""

    def command(name, words, **crawl):
        servers = []

        class Server:
            def __init__(self, folder, obey):
                self.obey = obey
                servers.append(self)

            def start(self):
                pass

        monkeypatch.setattr(control, "ControlServer", Server)
        extension_of(**crawl).opened()
        (server,) = servers
        return asyncio.run(server.obey(name, words))

    return command


@pytest.mark.parametrize("why", ["Operation not permitted", "Operation not supported"])
def test_no_sockets_here(extension_of, monkeypatch, caplog, why):
    """On a file system without sockets the crawl goes on, and says that it cannot be asked."""

    def refuse(*_):
        raise OSError(95, why)

    monkeypatch.setattr(control, "ControlServer", refuse)
    extension = extension_of()
    extension.opened()
    extension.closed()

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith(
        f"control.sock: {why}, so `scrapy ctl` cannot reach this crawl"
    )


@pytest.mark.parametrize(
    ("checkpoint", "why"),
    [
        (lambda: asyncio.sleep(60), "done, but no checkpoint includes it yet"),
        (lambda: fail(StoreError("disk full")), "done, but it was not saved: disk full"),
        (lambda: fail(CommandError("switched off")), "done, but it was not saved: switched off"),
    ],
)
def test_what_is_not_kept(command, monkeypatch, checkpoint, why):
    """A command that lasts is not answered as done if no checkpoint has it."""
    monkeypatch.setattr(control, "CHECKPOINT_TIMEOUT", 0.01)

    with pytest.raises(CommandError, match=why):
        command("pause", [], crawl=MagicMock(), checkpoint=checkpoint)


def test_a_checkpoint_that_fails(command):
    """`checkpoint` is refused with what is wrong with the disk, which is no bug."""
    with pytest.raises(CommandError, match=r"^disk full$"):
        command("checkpoint", [], checkpoint=lambda: fail(StoreError("disk full")))


def test_what_changes_nothing(command):
    """What does not last needs no checkpoint."""
    assert command("status", [], status=lambda: {"pages": 1}) == {"pages": 1}


def test_seeds_at_the_end(command):
    """A crawl that closes takes none, for it would end as finished without them."""
    with pytest.raises(CommandError, match="the crawl is ending"):
        command("seeds", ["add", "http://a.org/"], status=lambda: {"state": "stopping"})


async def fail(error):
    raise error
