"""When an item goes to its feeds, and what of it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from scrapy import Field, Item
from scrapy.extensions.feedexport import FeedExporter

from webcrawl.adapter.extensions import feed_export
from webcrawl.adapter.extensions.feed_export import CheckpointedFeeds, copied
from webcrawl.base.model import Link
from webcrawl.crawl.trip import PAGE, Trip
from webcrawl.store.errors import StoreError


class Row(Item):
    words = Field()


@dataclass
class Data:
    words: list = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    words: tuple = ()


@pytest.fixture(name="feeds")
def _feeds(monkeypatch):
    """The extension, what it has exported, and the page under way."""
    exported = []
    monkeypatch.setattr(FeedExporter, "item_scraped", lambda _, item, spider: exported.append(item))
    counted = []
    feeds = CheckpointedFeeds.__new__(CheckpointedFeeds)
    feeds.crawler = SimpleNamespace(
        engine=SimpleNamespace(scheduler=None), stats=SimpleNamespace(inc_value=counted.append)
    )
    feeds._has_logged_limit = False
    feeds.slots = ["a feed"]
    page = Trip(Link("http://a.test/"))
    token = PAGE.set(page)
    yield SimpleNamespace(feeds=feeds, exported=exported, page=page, counted=counted)
    PAGE.reset(token)


def test_an_item_waits_for_its_page(feeds):
    """What a page yields is exported when the page is finished, in its order; what comes without a
    page, at once.
    """
    for number in range(3):
        feeds.feeds.item_scraped(number, None)
    assert feeds.exported == []

    (write,) = feeds.page.writes
    write()
    assert feeds.exported == [0, 1, 2]

    feeds.page.booked = True
    feeds.feeds.item_scraped(3, None)
    assert feeds.exported == [0, 1, 2, 3]


def test_memory_is_bounded(feeds, monkeypatch):
    """Of a page with very many items no more than so many wait; none is lost, and their order
    stays.
    """
    monkeypatch.setattr(feed_export, "MAX_WAITING_ITEMS", 10)

    for number in range(35):
        feeds.feeds.item_scraped(number, None)
    assert feeds.exported == [*range(30)]
    for write in feeds.page.writes:
        write()
    assert feeds.exported == [*range(35)]


def test_an_item_that_is_changed_later(feeds):
    """An item is exported as it was when it was yielded."""
    for item in ({"words": ["a"]}, OrderedDict(words=["a"]), Row(words=["a"]), Data(["a"])):
        feeds.feeds.item_scraped(item, None)
        (getattr(item, "words", None) or item["words"]).append("b")

    feeds.page.writes[0]()
    words = [
        getattr(item, "words", None) if isinstance(item, Data) else item["words"]
        for item in feeds.exported
    ]
    assert words == [["a"]] * 4
    assert [type(item) for item in feeds.exported] == [dict, OrderedDict, Row, Data]


def test_what_cannot_change_is_shared():
    """Values within an item are not copied, and a frozen one stays what it is."""
    shared = object()

    assert copied({"a": shared, "b": [shared]}) == {"a": shared, "b": [shared]}
    assert copied(Frozen((1,))) == Frozen((1,))
    assert copied({"a": {1}})["a"] == {1}


def test_an_item_that_nobody_takes(feeds, monkeypatch, caplog):
    """An item that cannot be copied or exported is counted, and logged with its error; the others
    are exported.
    """
    item = {}
    item["self"] = item

    feeds.feeds.item_scraped(item, None)
    feeds.feeds.item_scraped(1, None)
    feeds.page.writes[0]()

    assert feeds.exported == [1]
    assert feeds.counted == ["feedexport/lost_items"]
    assert "an item could not be exported" in caplog.text
    assert "RecursionError" in caplog.text


def test_a_disk_that_takes_nothing(feeds, monkeypatch):
    """Without a crawl around it an error of the disk is raised as it is."""

    def fail(*_):
        raise StoreError("full")

    monkeypatch.setattr(FeedExporter, "item_scraped", fail)
    feeds.feeds.item_scraped(1, None)
    with pytest.raises(StoreError):
        feeds.page.writes[0]()
