"""URLs in saved queues: found at their places, in as much of a queue as may be looked at."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link
from webcrawl.frontier.fifo import Blocks, Pool
from webcrawl.frontier.seen.portions import Portions
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.queue_row import SavedQueues, count_of
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why.queued import RETRY, Budget, Place, Wanted, among_portions, look
from webcrawl.tools.why.verdict import _queued


def saved_queue(state, urls, popped):
    """A queue of links to these URLs, of which some were popped, in a crawl.db; as it is saved."""
    db = CrawlDB(state)
    fifo = Pool(Blocks(db), 1 << 20, block=200).fifo()
    for url in urls:
        fifo.push(Link(url, "LL", "http://a.test/via", "http://a.test/").pack())
    for _ in range(popped):
        fifo.pop()
    saved = fifo.save()
    db.checkpoint()
    db.close()
    return saved


@given(
    numbers=st.lists(st.integers(0, 30), max_size=60),
    popped=st.integers(0, 20),
    sought=st.sets(st.integers(0, 40), min_size=1, max_size=20),
    budget=st.integers(-1, 3000),
)
def test_places(tmp_path_factory, numbers, popped, sought, budget):
    """The first place of each URL is found among the records looked at, and how many these were."""
    folder = tmp_path_factory.mktemp("job")
    urls = [f"http://a.test/{number}/{'x' * number}" for number in numbers]
    saved = saved_queue(folder / "state", urls, popped)
    left = urls[popped:]
    wanted = Wanted(f"http://a.test/{number}/{'x' * number}" for number in sought)
    with Snapshot(folder / "state") as snapshot:
        looked = look(SavedQueues(snapshot), saved, wanted, Budget(budget))

    assert looked.of == len(left) == count_of(saved)
    seen = left[: looked.records]
    assert {url: place for url, (place, _) in looked.found.items()} == {
        url: seen.index(url) for url in wanted.urls.values() if url in seen
    }
    if budget < 0:
        assert looked.whole


def test_a_url_that_begins_like_another(tmp_path):
    """Only the whole URL counts, and not one in another field of a link."""
    saved = saved_queue(tmp_path / "state", ["http://a.test/xy", "http://a.test/x"], 0)
    with Snapshot(tmp_path / "state") as snapshot:
        looked = look(SavedQueues(snapshot), saved, Wanted(["http://a.test/x", "http://a.test/via"]), Budget(-1))

    assert {url: place for url, (place, _) in looked.found.items()} == {"http://a.test/x": 1}


@pytest.mark.parametrize("link", ["page.html", "/b/page.html", "http://a.test/b/page.html#x", "./page.html"])
def test_links_of_large_pages(tmp_path, link):
    """A link that waits in a portion is found by what it leads to, however it is written."""
    db = CrawlDB(tmp_path / "state")
    Portions(db, str).put(Link("http://a.test/b/"), "", ["other", link], "L", 0)
    db.checkpoint()
    db.close()
    urls = ["http://a.test/b/page.html", "http://a.test/page.html"]
    with Snapshot(tmp_path / "state") as snapshot:
        found, looked = among_portions(snapshot, urls, 2000)

    assert {url: one.via for url, one in found.items()} == {urls[0]: "http://a.test/b/"}
    assert looked == (1, 1)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link("http://a.test/x"), "it was not tried yet, and waits"),
        (Link("http://a.test/x", attempt=1), "it failed, and waits"),
        (Link("http://a.test/x", struck=1), "it failed, and waits"),
    ],
)
def test_what_waits_has_not_always_failed(link, words):
    """A host may have asked to be left alone with its robots.txt, before any of its URLs was tried."""
    place = Place(RETRY, link.pack(), 0, 1)

    assert _queued(SimpleNamespace(paused=False, robots=None, last_try=(0, "")), place).startswith(words)
