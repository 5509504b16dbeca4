"""Links that were left for a later segment: `scrapy why` says where they wait."""

import pytest

from tests.tools.segments.crawls import build, builder, crawled, link
from webcrawl.tools.segments.earlier_crawl import earlier_crawls
from webcrawl.tools.why import noted_links
from webcrawl.tools.why.answer import OpenedCrawls, why

A, B, C, COMMA = (
    "http://a.test/",
    "http://b.test/1",
    "http://c.test/?",
    "http://c.test/2,3?q=%224%22",
)


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """It requested A, and found B on it, among others."""
    found = [
        [
            link(B, via=A),
            link(COMMA, via=A),
            *(f"http://b.test/{number}" for number in range(2, 50)),
        ]
    ]
    return crawled(tmp_path / "job", requested=[A], found=found, URL_FOLLOW=False)


def test_in_the_log(crawl):
    """Before a segment is built: with the page that links to it."""
    answer = why(crawl, B)

    assert (answer.state, answer.kind) == ("seen", "left for later")
    assert answer.reason.endswith("in logs/found.log, which `scrapy segments build` reads")
    assert answer.details["later"] == {"where": "log", "file": "logs/found.log"}
    assert (answer.details["found"]["via"], answer.details["found"]["path"]) == (A, "L")
    assert answer.details["now"] == "nothing: it is left for a later segment already"


def test_in_the_pool(crawl):
    """The builder has read it, and a later segment will have it."""
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        made.checkpoint()
        made.make(1, 1)

    states = {number: why(crawl, f"http://b.test/{number}") for number in (1, 20, 49)}
    assert [answer.details["later"]["where"] for answer in states.values()] == [
        "segment",
        "pool",
        "pool",
    ]
    assert "waits in the pool of segments for a later segment" in states[49].reason


@pytest.mark.parametrize("url", [B, COMMA])
def test_in_a_segment(crawl, url):
    """It was built, and this crawl has not come to it."""
    build(crawl)

    answer = why(crawl, url)

    assert answer.state == "seen"
    assert "segments/segment-000001.csv" in answer.reason
    assert answer.details["found"]["via"] == A


def test_what_was_requested(crawl):
    """It is fetched, wherever it was found again."""
    crawled(crawl, requested=[B], found=[[B]], URL_FOLLOW=False)

    assert why(crawl, B).state == "fetched"


def test_what_nobody_found(crawl):
    """It is unknown; a link to it would be left for later."""
    build(crawl)

    answer = why(crawl, C)

    assert (answer.state, answer.details["later"]) == ("unknown", None)
    assert answer.details["now"] == "it would be left for a later segment (follow=0)"


def test_how_far_it_looks(crawl, monkeypatch):
    """What is not looked through is named; `--all` looks through all."""
    monkeypatch.setattr(noted_links, "FILE_BYTES", 100)
    assert "logs/found.log: the last 100 bytes of 2702 bytes" in why(crawl, B).details["looked"]
    with OpenedCrawls(crawl, deep=True) as crawls:
        assert [answer.kind for answer in crawls.answers([B])] == ["left for later"]


def test_a_pool_that_is_damaged(crawl):
    """The answer is what else is known, and says so."""
    with builder(crawl) as made:
        made.read(earlier_crawls(crawl))
        made.make(1, 1)
    (pool,) = (crawl / "segments").glob("pool-*")
    pool.write_bytes(b"x" * pool.stat().st_size)

    answer = why(crawl, "http://b.test/49")

    assert answer.details["later"]["where"] == "log"
    assert any("the pool of segments" in line for line in answer.details["looked"])
