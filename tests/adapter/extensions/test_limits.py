"""Limits of a run that change while it runs."""

from types import SimpleNamespace

import pytest
from scrapy import signals
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager

from webcrawl.adapter.extensions import limits
from webcrawl.adapter.extensions.limits import Limits


@pytest.fixture(name="limits_of")
def _limits_of(monkeypatch):
    """Makes the extension; `ended` gets the reasons for which it ends the crawl, `timers` what it
    waits for.
    """
    ended, timers = [], []
    monkeypatch.setattr(limits, "close_spider", lambda _, reason: ended.append(reason))
    timer = SimpleNamespace(cancel=lambda: timers.append("cancelled"))
    monkeypatch.setattr(
        limits, "call_later", lambda seconds, *_: timers.append(round(seconds)) or timer
    )

    def make(**settings):
        crawler = SimpleNamespace(settings=Settings(settings), signals=SignalManager())
        extension = Limits(crawler)
        extension._close_spider = ended.append
        return extension, ended, timers

    return make


def answered(extension, times):
    for _ in range(times):
        extension.crawler.signals.send_catch_log(
            signals.response_received, response=None, request=None, spider=None
        )


def test_a_limit_where_there_was_none(limits_of):
    """Pages are counted from when there is a limit; before, nobody listens."""
    extension, ended, _ = limits_of()
    answered(extension, 5)
    extension._change({"CLOSESPIDER_PAGECOUNT": 3})
    answered(extension, 2)
    assert ended == []
    answered(extension, 1)

    assert ended == ["closespider_pagecount"]


def test_a_limit_beside_another_that_counts_the_same(limits_of):
    """Pages that CLOSESPIDER_PAGECOUNT_NO_ITEM has counted before do not hide that the limit is
    reached.
    """
    extension, ended, _ = limits_of(CLOSESPIDER_PAGECOUNT_NO_ITEM=100)
    answered(extension, 5)
    extension._change({"CLOSESPIDER_PAGECOUNT": 3})
    answered(extension, 3)

    assert ended == ["closespider_pagecount"]


def test_a_limit_that_is_reached_already(limits_of):
    """A number below what was counted ends the crawl at once; 0 takes the limit away."""
    extension, ended, _ = limits_of(CLOSESPIDER_PAGECOUNT=100)
    answered(extension, 5)
    extension._change({"CLOSESPIDER_PAGECOUNT": 0})
    assert ended == []
    extension._change({"CLOSESPIDER_PAGECOUNT": 4})

    assert ended == ["closespider_pagecount"]


def test_seconds_are_those_of_the_run(limits_of):
    """Another time-out counts from the start of the run; it replaces the one before."""
    extension, _, timers = limits_of()
    extension._begun -= 100
    extension._change({"CLOSESPIDER_TIMEOUT": 150.0})
    extension._change({"CLOSESPIDER_TIMEOUT": 50.0})
    extension._change({"CLOSESPIDER_TIMEOUT": 0.0})

    assert timers == [50, "cancelled", 0, "cancelled"]
