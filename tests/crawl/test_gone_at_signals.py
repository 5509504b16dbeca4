"""A page that was gone, and is again what it was, where signals have it fetched: who heard the one
hears the other.
"""

from itertools import pairwise

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import Web

HOUR = 3600
GONE = Document(status=404)
LISTING = b"<urlset><url><loc>http://a.test/other</loc><lastmod>2024-01-01</lastmod></url></urlset>"


@pytest.fixture(name="web", params=["", '"1"'], ids=["bare", "etag"])
def _web(request, tmp_path):
    """A crawl that fetches each page once a day, and knows a page."""
    here, listing = Document(b"<p>a", etag=request.param), Document(LISTING, media="text/xml")
    one = Web(
        tmp_path / "crawl",
        {"/a": here, "/map.xml": listing, "*": GONE},
        SITEMAPS=True,
        REVISIT_AGE=24 * HOUR,
    )
    one.here = here
    one.seed("/a", "/map.xml")
    one.run(2 * HOUR)
    yield one
    assert one.damage() == []


def told(web, document):
    """A signal comes."""
    web.documents["/a"] = document
    web.crawl.parts.revisiting.tell(web.url("/a"), web.now)
    web.run(HOUR)


def judged(web):
    """What the table of changes and the figures say of each answer."""
    found = [page.exchange.state.revisit for page in web.pages if page.url == web.url("/a")]
    return [(str(one.change), one.by) for one in found if one is not None]


def passed(web, document):
    """The page has its turn."""
    web.documents["/a"] = document
    web.run(30 * HOUR)


@pytest.mark.parametrize("first", [None, told, passed], ids=["new", "told", "passed"])
@pytest.mark.parametrize("going", [told, passed])
@pytest.mark.parametrize("coming", [told, passed])
def test_it_is_gone_and_comes_back(web, first, going, coming):
    """It counts as changed once, requested without a condition, and is then as it was."""
    if first is not None:
        first(web, web.here)
    known = len(web.changes("/a"))
    going(web, GONE)
    coming(web, web.here)
    assert web.changes("/a")[known] == "gone"
    back = web.changes("/a").index("changed")
    assert set(web.changes("/a")[known:back]) == {"gone"}
    assert judged(web)[back] == ("changed", "text")
    assert web.conditions("/a")[back] == {}
    passed(web, web.here)
    passed(web, web.here)
    assert set(web.changes("/a")[back + 1 :]) == {"unchanged"}


def test_a_page_that_is_gone_is_part_of_each_checkpoint(web):
    """What is known of a page that is gone is part of each checkpoint."""
    told(web, GONE)
    web.checkpoint()
    web.kill()
    passed(web, web.here)
    assert web.changes("/a") == ["new", "gone", "changed"]


def test_it_is_back_after_a_kill(web):
    """That a page was found gone in its turn is part of each checkpoint, too."""
    passed(web, GONE)
    web.checkpoint()
    told(web, web.here)
    web.kill()
    told(web, web.here)
    told(web, web.here)

    same = ("unchanged", "status-304" if web.here.etag else "digest")
    assert judged(web)[-3:] == [("changed", "text"), ("changed", "text"), same]


def test_it_was_as_true_as_any_change(web):
    """The signal that told of the return was true, and the record learns of a change when it takes
    that over.
    """
    passed(web, GONE)
    told(web, web.here)
    assert web.crawl.stats()["signals/true"] == 1
    passed(web, web.here)

    passed(web, web.here)
    (record,) = [
        one for one in web.crawl.parts.revisiting.revisits.release(10) if one.url == web.url("/a")
    ]
    assert record.changes == 1


def test_it_rests_like_other_pages(web):
    """However often it is announced, it is requested once a minute at most."""
    passed(web, GONE)
    for _ in range(60):
        web.crawl.parts.revisiting.tell(web.url("/a"), web.now)
        web.run(2)

    times = web.times("/a")[-3:]
    assert min(after - before for before, after in pairwise(times)) >= 60


def counted(web):
    """Signals that were true, and those that were false."""
    stats = web.crawl.stats()
    return stats.get("signals/true", 0), stats.get("signals/false", 0)


@pytest.mark.parametrize("first", [told, passed])
def test_who_announces_what_is_gone_is_wrong(web, first):
    """That a page has gone is a change; that it still is gone is none, whoever found that it was."""
    first(web, GONE)
    true = int(first is told)
    assert counted(web) == (true, 0)

    told(web, GONE)
    told(web, GONE)
    assert counted(web) == (true, 2)


def test_who_announces_what_was_never_there_is_wrong(web):
    """A page without a record that is not there at a signal is as it was."""
    web.seed("/never")
    web.run(HOUR)
    web.crawl.parts.revisiting.tell(web.url("/never"), web.now)
    web.run(HOUR)

    assert counted(web) == (0, 1)


def test_who_announces_what_has_moved_is_wrong(web):
    """A page that was found elsewhere in its turn, and is elsewhere still, has no news."""
    moved = Document(status=301, headers={"Location": "/b"})
    passed(web, moved)
    told(web, moved)

    assert counted(web) == (0, 1)


def test_a_failure_says_nothing_of_a_signal(web):
    """Where the page's host does not answer, or says that it cannot, nobody knows whether there was
    a change.
    """
    passed(web, GONE)
    told(web, Document(status=500))

    assert counted(web) == (0, 0)
