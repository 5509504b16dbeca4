"""URL_MAX_DEPTH in a crawl: links count from where their site was entered, and the crawl of traps
ends.
"""

from contextlib import closing

import pytest
from scrapy.settings import Settings

from tests.support.warc_crawl import exchange
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Link, unpack
from webcrawl.crawl.assembly import assemble
from webcrawl.frontier.seen.portions import PACE, PORTION


@pytest.fixture(name="parts")
def _parts(tmp_path):
    """A crawl without a fetcher that goes three links deep, and its visitor."""
    values = Settings()
    values.setmodule("webcrawl.settings")
    values.setdict(
        {"JOBDIR": str(tmp_path), "URL_MAX_DEPTH": 3, "ROBOTSTXT_OBEY": False}, "cmdline"
    )
    crawl, visitor = assemble(plain_values(values, "web"), spider="web")
    with closing(crawl):
        yield crawl, visitor


@pytest.fixture(name="crawl")
def _crawl(parts):
    return parts[0]


@pytest.fixture(name="submitted")
def _submitted(crawl, monkeypatch):
    """The links that the crawl finds."""
    found = []
    monkeypatch.setattr(
        crawl.parts.seen, "submit", lambda _, records: found.extend(map(unpack, records))
    )
    return found


def walk(crawl, submitted, *urls):
    """Follows a link to each URL from the one before; those after `>` are redirected to.

    Returns the pages reached.
    """
    page = Link("http://seed.example/", seed="http://seed.example/")
    reached = []
    for url in urls:
        redirect, target = url[0] == ">", f"http://{url.lstrip('>')}"
        if redirect:
            crawl.parts.discovery.redirected(page, target, "")
        else:
            crawl.parts.discovery.discover(page, [target], "L")
        if not submitted:
            break
        page = submitted.pop()
        reached.append(page)
    return reached


class TestDepth:
    def test_subdomains_are_one_site(self, crawl, submitted):
        """Any number of subdomains of one registered domain are one site."""
        assert len(walk(crawl, submitted, *(f"s{i}.seed.example/" for i in range(100)))) == 3

    def test_redirects_count_nothing(self, crawl, submitted):
        """A redirect into another site leaves what its links count as it was, or lets them begin
        there.
        """
        home = walk(
            crawl,
            submitted,
            ">moved.example/",
            "moved.example/1",
            "moved.example/2",
            "moved.example/3",
        )
        away = walk(
            crawl,
            submitted,
            "seed.example/o",
            "seed.example/p",
            ">c.example/",
            "c.example/1",
            "c.example/2",
        )

        assert [page.path for page in home] == ["R", "RL", "RLL", "RLLL"]
        assert [page.path for page in away] == ["L", "LL", "LLR", "LLrL", "LLrLL"]

    def test_the_later_links_of_a_large_page_are_no_deeper(self, crawl, submitted):
        """Links that enter in portions count like the first."""
        page = Link("http://b.example/", "LLL", "http://seed.example/", "http://seed.example/")
        crawl.parts.discovery.discover(page, [f"/{i}" for i in range(PORTION + 1)], "L")
        crawl.parts.discovery.submit_portion(PACE)

        assert {one.path for one in submitted} == {"LLlL"}
        assert len(submitted) == PORTION + 1

    def test_a_request_of_a_spider_counts_from_the_start(self, crawl):
        """A request is as deep as it says, wherever it leads."""
        assert crawl.parts.discovery.submit(
            Link("http://b.example/", "LLL", "http://seed.example/")
        )
        assert not crawl.parts.discovery.submit(
            Link("http://c.example/", "LLLL", "http://seed.example/")
        )


def redirects(visitor, page, submitted):
    """How many redirects in a row are followed between two sites that redirect to each other for
    ever.
    """
    for number in range(100):
        head = b"HTTP/1.1 302 Found\r\nLocation: http://%s.example/%d\r\n\r\n" % (
            b"ab"[number % 2 :][:1],
            number,
        )
        location = head.split(b": ")[1].strip()
        visitor.visit(
            page, exchange(page.url, b"", status=302, head=head, headers=[(b"Location", location)])
        )
        if not submitted:
            return number
        page = submitted.pop()
    return 100


@pytest.mark.parametrize(
    ("path", "via"), [("", ""), ("L", "http://seed.example/"), ("LL", "http://c.example/x")]
)
def test_redirects_between_sites_are_redirects_in_a_row(parts, submitted, path, via):
    """REDIRECT_MAX_HOPS holds for redirects from site to site too, whatever was followed before."""
    page = Link("http://c.example/", path, via, "http://seed.example/")

    assert redirects(parts[1], page, submitted) == 5
