"""A crawl that begins from an earlier one, and fetches its pages again."""

from collections import Counter

from tests.support.changing_site import Document, changing_site, log_of
from tests.support.crawling import wait_until
from tests.support.fulltext import written
from webcrawl.tools.verify_crawl import verify


def conditions(requested):
    return [one.headers.get("If-None-Match") for one in requested]


def test_first_from_the_earlier_crawl_then_from_its_own(tmp_path):
    """A page's first request has the earlier crawl's validators, and all later ones those of the
    last answer.

    What is changed is said of this crawl's own states: one that the earlier crawl had is not taken
    for the last.
    """
    january, february = b"<p>as in January, with words", b"<p>as in February, other words"
    documents = {
        "/": Document(b"<a href=/moving>m</a> at home", etag='"0"'),
        "/moving": Document(january, etag='"1"'),
    }
    with changing_site(documents) as site:
        earlier = site.crawl(tmp_path / "jan", REVISIT_POLICY="none")
        assert earlier.run() == 0
        crawl = site.crawl(tmp_path / "feb", OUTPUTS="warc cdxj text")
        crawl.arguments["since"] = earlier.jobdir
        before = len(site.of("/moving"))
        running = crawl.start()
        wait_until(lambda: len(site.of("/moving")) >= before + 3)
        documents["/moving"] = Document(february)
        wait_until(lambda: site.of("/moving")[-1].status == 200)
        gone = len(site.of("/moving"))
        assert site.until("/moving", gone + 3, running) == 0
        last = site.of("/moving")

    assert conditions(last[before:gone]) == ['"1"'] * (gone - before)
    # the answer in between had no validators
    assert conditions(last[gone + 1 :]) == [None] * (len(last) - gone - 1)
    notes = [(status, set(said)) for status, path, said in log_of(crawl) if path == "/moving"]
    assert "since:304" in notes[0][1]
    assert {"revisit", "unchanged"} <= notes[1][1]
    assert sum("changed" in said for _, said in notes) == 1
    assert not any("since:304" in said for _, said in notes[1:])
    assert [line["text"] for line in written(crawl.jobdir) if line["url"].endswith("/moving")] == [
        "as in January, with words",
        "as in February, other words",
    ]
    assert list(verify(crawl.jobdir, Counter())) == []
    assert list(verify(earlier.jobdir, Counter())) == []
