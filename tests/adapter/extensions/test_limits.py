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
    """Makes a crawl with the extension, of a run that takes as long as `pass_time` says.

    `ended` gets the reasons for which it ends the crawl, `timers` what it waits for.
    """
    ended, timers, now = [], [], [1000.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(limits, "close_spider", lambda _, reason: ended.append(reason))
    timer = SimpleNamespace(cancel=lambda: timers.append("cancelled"))
    monkeypatch.setattr(
        limits, "call_later", lambda seconds, *_: timers.append(round(seconds)) or timer
    )

    def make(**settings):
        made = SimpleNamespace(ended=ended, timers=timers)

        def listen(names, change):
            made.change = change

        def pass_time(seconds):
            now[0] += seconds

        crawl = SimpleNamespace(parts=SimpleNamespace(in_force=SimpleNamespace(listen=listen)))
        monkeypatch.setattr(limits, "scheduler_of", lambda _: SimpleNamespace(crawl=crawl))
        crawler = SimpleNamespace(settings=Settings(settings), signals=SignalManager())
        made.extension = Limits(crawler)
        made.extension._close_spider = ended.append  # Scrapy's own
        made.extension.opened()
        made.pass_time = pass_time
        return made

    return make


def answered(made, times):
    for _ in range(times):
        made.extension.crawler.signals.send_catch_log(
            signals.response_received, response=None, request=None, spider=None
        )


def test_a_limit_where_there_was_none(limits_of):
    """Pages are counted from when there is a limit; before, nobody listens."""
    made = limits_of()
    answered(made, 5)
    made.change({"CLOSESPIDER_PAGECOUNT": 3})
    answered(made, 2)
    assert made.ended == []
    answered(made, 1)

    assert made.ended == ["closespider_pagecount"]


def test_a_limit_beside_another_that_counts_the_same(limits_of):
    """Pages that CLOSESPIDER_PAGECOUNT_NO_ITEM has counted before do not hide that the limit is
    reached.
    """
    made = limits_of(CLOSESPIDER_PAGECOUNT_NO_ITEM=100)
    answered(made, 5)
    made.change({"CLOSESPIDER_PAGECOUNT": 3})
    answered(made, 3)

    assert made.ended == ["closespider_pagecount"]


def test_a_limit_that_is_reached_already(limits_of):
    """A number below what was counted ends the crawl at once; 0 takes the limit away."""
    made = limits_of(CLOSESPIDER_PAGECOUNT=100)
    answered(made, 5)
    made.change({"CLOSESPIDER_PAGECOUNT": 0})
    assert made.ended == []
    made.change({"CLOSESPIDER_PAGECOUNT": 4})

    assert made.ended == ["closespider_pagecount"]


def test_seconds_are_those_of_the_run(limits_of):
    """Another time-out counts from the start of the run; it replaces the one before."""
    made = limits_of()
    made.pass_time(100)
    made.change({"CLOSESPIDER_TIMEOUT": 150.0})
    made.change({"CLOSESPIDER_TIMEOUT": 50.0})
    made.change({"CLOSESPIDER_TIMEOUT": 0.0})

    assert made.timers == [50, "cancelled", 0, "cancelled"]
