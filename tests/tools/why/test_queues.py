"""Where a URL waits is found in the queues of a frontier, as far as they may be looked through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.frontiers import add, make
from webcrawl.base.model import Link
from webcrawl.frontier.seen.portions import Portions
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why import places
from webcrawl.tools.why.places import FRONT, HOST, QueueSearch, large_pages_of


def searched(core, urls, *, deep=False):
    search = QueueSearch(core, str, deep=deep)
    search.search_own_queues(urls)
    search.search_shared_queues([url for url in urls if url not in search.places])
    return search


@given(
    numbers=st.lists(st.integers(0, 30), min_size=1, max_size=60, unique=True),
    sought=st.sets(st.integers(0, 40), min_size=1, max_size=20),
    room=st.integers(1, 3000),
    deep=st.booleans(),
)
def test_places(tmp_path_factory, numbers, sought, room, deep):
    """Each URL is found in its place among those that are looked at; what is not looked at is said."""
    db = CrawlDB(tmp_path_factory.mktemp("job") / "state")
    frontier = make(db)
    urls = [f"http://a.test/{number}/{'x' * number}" for number in numbers]
    add(frontier, *urls)
    taken = frontier.take(0.0).url
    left = [url for url in urls if url != taken]
    wanted = [f"http://a.test/{number}/{'x' * number}" for number in sought]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(places, "QUEUE_BYTES", room)
        patched.setattr(places, "SHARED_BYTES", room)
        search = searched(frontier.core, wanted, deep=deep)
    db.close()

    found = {url: place.place for url, place in search.places.items()}
    assert {place.where for place in search.places.values()} <= {HOST, FRONT}
    assert found.items() <= {url: number for number, url in enumerate(left)}.items()
    missed = {url for url in wanted if url in left and url not in found}
    assert not (deep and missed)
    assert not missed or search.unsearched_for("a.test")


def test_a_url_that_begins_like_another(tmp_path):
    """Only the whole URL counts, and not one in another field of a link."""
    db = CrawlDB(tmp_path / "state")
    frontier = make(db)
    frontier.add(
        [
            Link(f"http://a.test/{name}", "L", "http://a.test/via").pack()
            for name in ("xy", "x", "y")
        ]
    )
    frontier.take(0.0)
    search = searched(frontier.core, ["http://a.test/x", "http://a.test/via"])
    db.close()

    assert {url: place.place for url, place in search.places.items()} == {"http://a.test/x": 0}


@pytest.mark.parametrize(
    "link", ["page.html", "/b/page.html", "http://a.test/b/page.html#x", "./page.html"]
)
def test_links_of_large_pages(tmp_path, link):
    """A link that waits in a portion is found by what it leads to, however it is written."""
    db = CrawlDB(tmp_path / "state")
    Portions(db, str).put(Link("http://a.test/b/"), "", ["other", link], "L", 0)
    db.checkpoint()
    db.close()
    urls = ["http://a.test/b/page.html", "http://a.test/page.html"]
    with Snapshot(tmp_path / "state") as snapshot:
        found, partial = large_pages_of(snapshot, urls, 2000)

    assert (found, partial) == ({urls[0]: "http://a.test/b/"}, [])
