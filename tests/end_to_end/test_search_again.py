"""`scrapy search` of a crawl that fetches pages again, killed among it, and of its archive
processed again.
"""

from collections import Counter

from tests.support.changing_site import Document, changing_site
from tests.support.commands import command
from tests.support.crawling import wait_until
from webcrawl.record.fulltext.text_search import SearchAll
from webcrawl.tools.verify_crawl import verify

LINKS = b"".join(
    b"<a href=/%b></a>" % name for name in (b"back", b"gone", b"same", b"other", b"moved")
)
FIRST = {
    "/": Document(LINKS + b"lamp at home", etag='"1"'),
    "/back": Document(b"<p>lamp A"),
    "/gone": Document(b"<p>lamp here"),
    "/same": Document(b"<p>lamp of its own"),
    "/other": Document(b"<p>lamp of the other", etag='"1"'),
    "/moved": Document(b"<p>lamp on its way"),
}
SECOND = {
    "/back": Document(b"<p>candle B"),
    "/gone": Document(status=404),
    "/same": Document(b"<p>lamp of the other"),
    "/moved": Document(status=301, headers={"Location": "/there"}),
    "/there": Document(b"<p>lamp on its way"),
}
NOW = {
    "/": "lamp at home",
    "/back": "lamp A",
    "/other": "lamp of the other",
    "/there": "lamp on its way",
}


def found(jobdir, site, words):
    """What a search finds, by path, and that it finds each page once; of equal pages all."""
    total, answers = SearchAll([jobdir]).find(words, 10)
    pages = {
        url.removeprefix(site.address): answer.snippet[0]
        for answer in answers
        for url in (answer.url, *answer.similar)
    }
    assert len(pages) == total
    return pages


def test_each_page_as_it_is_now(tmp_path):
    """A page that changed and changed back is found as it is; what is gone, moved or another page's
    by now is not.
    """
    documents = dict(FIRST)
    with changing_site(documents) as site:
        crawl = site.crawl(
            tmp_path, "/other", "/", OUTPUTS="warc cdxj index", CHECKPOINT_INTERVAL=0.3
        )
        running = crawl.start()
        wait_until(lambda: all(len(site.of(path)) >= 2 for path in documents))
        documents.update(SECOND)
        before = {path: len(site.of(path)) for path in ("/back", "/same", "/there")}
        wait_until(lambda: all(len(site.of(path)) >= many + 2 for path, many in before.items()))
        wait_until(
            lambda: (
                {("/gone", 404), ("/moved", 301)}
                <= {(one.path, one.status) for one in site.requested}
            )
        )
        running.kill()
        running = crawl.start()
        before = {path: len(site.of(path)) for path in ("/back", "/same", "/there")}
        wait_until(lambda: all(len(site.of(path)) >= many + 2 for path, many in before.items()))
        wait_until(
            lambda: (
                {("/gone", 404), ("/moved", 301)}
                <= {(one.path, one.status) for one in site.requested}
            )
        )
        documents["/back"] = FIRST["/back"]
        assert site.until("/back", len(site.of("/back")) + 3, running) == 0

    checked = Counter()
    assert list(verify(crawl.jobdir, checked)) == []
    assert checked["replaced"] >= 3
    assert found(crawl.jobdir, site, "lamp") == NOW
    assert found(crawl.jobdir, site, "candle") == {}

    again = tmp_path / "again"
    settings = ("-s", f"JOBDIR={again}", "-s", "OUTPUTS=index", "-s", "MIN_FREE_DISK=0")
    done = command("scrapy", "process", crawl.jobdir / "warc", *settings)
    assert done.returncode == 0, done.stderr
    # What a redirect means is not asked: so /there is a copy of /moved, which is skipped.
    expected = NOW | {"/moved": "lamp on its way", "/same": "lamp of the other"}
    del expected["/there"]
    assert found(again, site, "lamp") == expected
    assert found(again, site, "candle") == {}
    assert list(verify(again, Counter())) == []
