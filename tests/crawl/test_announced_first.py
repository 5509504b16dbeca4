"""A page that is announced, and fetched for that, before its first turn has come: the host is new once."""

import pytest

from tests.support.changing_site import Document
from tests.support.revisiting import HOST, Web
from webcrawl.base.model import Link

HOUR = 3600
LISTING = b"<urlset><url><loc>http://a.test/other</loc><lastmod>2024-01-01</lastmod></url></urlset>"
FINDINGS = ("unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone")


@pytest.fixture(name="web")
def _web(tmp_path):
    """A crawl that knows a listing, and nothing else of its host."""
    documents = {
        "/a": Document(b"<p>a"),
        "/map.xml": Document(LISTING, media="text/xml"),
        "*": Document(status=404),
    }
    one = Web(tmp_path / "crawl", documents, SITEMAPS=True, REVISIT_AGE=24 * HOUR)
    one.seed("/map.xml")
    one.run(HOUR)
    yield one
    assert one.damage() == []


def told(web):
    web.crawl.parts.revisiting.tell(web.url("/a"), web.now)
    web.run(HOUR)


def turn(web):
    """Its first turn, which comes late."""
    web.crawl.parts.discovery.submit(Link(f"{HOST}/a", "L"))
    web.run(HOUR)


def found(web):
    """By the figures."""
    figures = web.crawl.parts.revisiting.counts.figures()
    return {name: getattr(figures, name) for name in FINDINGS if getattr(figures, name)}


def test_it_is_new_once(web):
    """New at the signal, and as it was in its turn; then it is fetched again like any other page."""
    known = web.known
    told(web)
    assert (web.changes("/a"), found(web)) == (["new"], {})
    turn(web)
    assert web.changes("/a") == ["new", "unchanged"]
    assert found(web) == {"unchanged_digest": 1}
    assert web.known == known + 1
    web.run(30 * HOUR)
    assert web.changes("/a") == ["new", "unchanged", "unchanged"]
    assert web.known == known + 1


def test_of_a_host_without_listings(web):
    """A feed announces pages of other hosts of its site: they are new once as well."""
    url = "http://www.a.test/a"
    web.documents[url] = Document(b"<p>a")
    web.crawl.parts.revisiting.tell(url, web.now)
    web.run(HOUR)
    web.crawl.parts.discovery.submit(Link(url, "L"))
    web.run(HOUR)
    assert [page.change for page in web.pages if page.url == url] == ["new", "unchanged"]
    assert found(web) == {"unchanged_digest": 1}


def test_it_has_changed_in_between(web):
    """The change is seen in its turn, and counts once."""
    told(web)
    web.documents["/a"] = Document(b"<p>b")
    turn(web)
    assert web.changes("/a") == ["new", "changed"]
    assert found(web) == {"changed_text": 1}


def test_two_signals(web):
    """The second one is compared with the first."""
    told(web)
    told(web)
    web.documents["/a"] = Document(b"<p>b")
    told(web)
    assert web.changes("/a") == ["new", "unchanged", "changed"]
    turn(web)
    assert web.changes("/a") == ["new", "unchanged", "changed", "unchanged"]


def test_it_is_gone_in_its_turn(web):
    """What was new is gone, and is looked for again like any other page that is gone."""
    told(web)
    web.documents["/a"] = Document(status=404)
    known = web.known
    turn(web)
    assert web.changes("/a") == ["new", "gone"]
    assert web.known == known + 1


def test_no_word_on_its_host(web):
    """A signal of a page that was never fetched is neither true nor false."""
    told(web)
    figures = web.crawl.parts.revisiting.counts.figures()
    assert (figures.signals_true, figures.signals_false) == (0, 0)


def test_a_page_that_was_fetched(web):
    """Its change is one at the signal, even if its first fetch was before the last kill."""
    turn(web)
    web.checkpoint()
    web.kill()
    web.documents["/a"] = Document(b"<p>b")
    told(web)
    assert web.changes("/a") == ["new", "changed"]


def test_pages_of_a_crawl_without_revisits(tmp_path):
    """Which pages were fetched before revisits were switched on is not known: a signal finds them
    changed.
    """
    documents = {
        "/a": Document(b"<p>a"),
        "/map.xml": Document(LISTING, media="text/xml"),
        "*": Document(status=404),
    }
    web = Web(tmp_path / "crawl", documents, REVISIT_POLICY="none")
    turn(web)
    web.stop()
    web.open(REVISIT_POLICY="fixed")
    web.documents["/a"] = Document(b"<p>b")
    told(web)
    assert web.changes("/a") == ["new", "changed"]
    assert web.damage() == []
