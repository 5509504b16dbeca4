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


@pytest.fixture(name="extension")
def _extension(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "scheduler_of", lambda _: None)
    return Control(SimpleNamespace(), tmp_path)


@pytest.mark.parametrize("why", ["Operation not permitted", "Operation not supported"])
def test_no_sockets_here(extension, monkeypatch, caplog, why):
    """On a file system without sockets the crawl goes on, and says that it cannot be asked."""

    def refuse(*_):
        raise OSError(95, why)

    monkeypatch.setattr(control, "ControlServer", refuse)
    extension.opened()
    extension.closed()

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith(f"control.sock: {why}: scrapy ctl cannot reach this crawl")


@pytest.mark.parametrize(
    ("checkpoint", "why"),
    [
        (lambda: asyncio.sleep(60), "done, but no checkpoint has it yet"),
        (lambda: fail(StoreError("disk full")), "done, but it is not kept: disk full"),
        (lambda: fail(CommandError("switched off")), "done, but it is not kept: switched off"),
    ],
)
def test_what_is_not_kept(extension, monkeypatch, checkpoint, why):
    """A command that lasts is not answered as done if no checkpoint has it."""
    monkeypatch.setattr(control, "PATIENCE", 0.01)
    extension._commanding = SimpleNamespace(crawl=MagicMock(), checkpoint=checkpoint)

    with pytest.raises(CommandError, match=why):
        asyncio.run(extension._obey("pause", []))


def test_what_changes_nothing(extension):
    """What does not last needs no checkpoint."""
    extension._commanding = SimpleNamespace(status=lambda: {"pages": 1})

    assert asyncio.run(extension._obey("status", [])) == {"pages": 1}


def test_seeds_at_the_end(extension):
    """A crawl that closes takes none, for it would end as finished without them."""
    extension._commanding = SimpleNamespace(status=lambda: {"state": "stopping"})

    with pytest.raises(CommandError, match="the crawl is ending"):
        asyncio.run(extension._obey("seeds", ["add", "http://a.org/"]))


async def fail(error):
    raise error
