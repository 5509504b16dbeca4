"""Pages that are fetched again by `scrapy crawl web`, from the first fetch to the last."""

from collections import Counter

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from webcrawl.verify.whole import verify


def sound(crawl):
    return list(verify(crawl.jobdir, Counter())) == []


def test_a_page_is_fetched_again_and_again(tmp_path):
    """Its first fetch is as ever; each later one sends the validators, and may be answered by 304."""
    documents = {
        "/": Document(b"<a href=/a>a</a>", etag='"1"'),
        "/a": Document(b"<p>A", modified="Sun, 06 Nov 1994 08:49:37 GMT"),
    }
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path)
        assert site.until("/a", 4, crawl.start()) == 0

    first, *again = site.of("/")
    assert not first.conditional
    assert {one.headers["If-None-Match"] for one in again} == {'"1"'}
    assert {one.headers.get("If-Modified-Since") for one in site.of("/a")[1:]} == {"Sun, 06 Nov 1994 08:49:37 GMT"}
    log = log_of(crawl)
    assert [row[2] for row in log[:2]] == [["-"], ["-"]]
    assert all(row[0] == 304 and row[2][:2] == ["revisit", "unchanged"] for row in log[2:])
    assert sound(crawl)


def test_links_of_a_changed_page_are_followed(tmp_path):
    """A page that has changed is processed anew."""
    documents = {"/": Document(b"<p>nothing yet", etag='"1"'), "/new": Document(b"<p>N")}
    with changing_site(documents) as site:
        crawl = site.crawl(tmp_path)
        running = crawl.start()
        wait_until(lambda: len(site.of("/")) >= 2)
        documents["/"] = Document(b"<a href=/new>new</a>", etag='"2"')
        assert site.until("/new", 2, running) == 0

    assert "changed" in {
        note for status, path, notes in log_of(crawl) for note in notes if path == "/" and status == 200
    }
    assert sound(crawl)
