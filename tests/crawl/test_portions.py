"""Links of large pages enter in portions, which are part of the checkpoint; MOST_LINKS bounds them."""

from collections import Counter
from contextlib import contextmanager

import pytest
from scrapy.settings import Settings

from tests.support.warc_crawl import exchange
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Link
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.discovery import LINK_TEXT_ROOM
from webcrawl.crawl.page_links import MOST_LINKS
from webcrawl.frontier.seen.portions import PACE, PORTION
from webcrawl.net.gopher import MENU
from webcrawl.tools.verify_crawl import verify
from webcrawl.urls.filters.filter_protocol import ByFunction, Chain, FilterError

BIG = Link("http://big.test/", "L")


@contextmanager
def crawling(jobdir, **settings):
    """A crawl without a fetcher, and its visitor; left without a checkpoint, as by kill -9."""
    values = Settings()
    values.setmodule("webcrawl.settings")
    values.setdict({"JOBDIR": str(jobdir), "TRAP_RULES": False, **settings}, "cmdline")
    crawl, visitor = assemble(plain_values(values, "web"), spider="web")
    try:
        yield crawl, visitor
    finally:
        crawl.close()


def links(count, site="big"):
    return [f"http://{site}.test/{number}" for number in range(count)]


def discover(crawl, count, page=BIG):
    crawl.parts.discovery.discover(
        page, links(count, page.url.split("/")[2].split(".")[-2]), "L", base=""
    )


def submitted(crawl):
    return crawl.stats()["links/new"]


def after(crawl, portions, start=0.0):
    """Lets so many portions enter; returns the time."""
    now = start
    for number in range(portions):
        now = start + number * 1.01 * PACE
        crawl.next_link(now)
    return now


class TestPortions:
    def test_the_first_links_are_submitted_at_once(self, tmp_path):
        """A page's first links are submitted with it; the others wait."""
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 5 * PORTION)

            assert submitted(crawl) == PORTION
            assert crawl.stats()["links/waiting"] == 4 * PORTION
            assert crawl.pending

    def test_no_more_than_a_portion_enters_in_one_turn(self, tmp_path):
        """However often links are asked for, one portion enters in PACE seconds."""
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 5 * PORTION)
            for _ in range(10):
                crawl.next_link(1.0)

            assert submitted(crawl) == 2 * PORTION
            assert crawl.next_ready() <= 1.0 + PACE
            crawl.next_link(1.0 + PACE)
            assert submitted(crawl) == 3 * PORTION

    def test_where_nothing_else_is_left_they_do_not_wait(self, tmp_path):
        """While no URL is queued or under way, there is nobody whom portions would hold up: none of
        them waits.
        """
        with crawling(tmp_path) as (crawl, _):
            crawl.parts.discovery.discover(BIG, ["mailto:a"] * 5 * PORTION, "L")

            for left in range(3, -1, -1):
                assert crawl.next_ready() <= crawl.parts.clock()
                crawl.next_link(1.0)
                assert crawl.stats()["links/waiting"] == left * PORTION

    def test_all_enter_in_the_end(self, tmp_path):
        """Every link of the page is submitted, and the numbers add up."""
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 3 * PORTION + 7)
            after(crawl, 4)
            stats = crawl.stats()

            assert submitted(crawl) == stats["links"] == 3 * PORTION + 7
            assert stats["links/waiting"] == 0

    def test_sites_take_turns(self, tmp_path):
        """A site's second large page waits behind its first; another site's does not."""
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 10 * PORTION)
            discover(crawl, 10 * PORTION, Link("http://www.big.test/"))
            after(crawl, 2)
            discover(crawl, 3 * PORTION, Link("http://small.test/"))
            after(crawl, 4, start=10.0)

            sites = Counter(
                dict(crawl.parts.db.query("SELECT site, count(*) FROM portion GROUP BY site"))
            )
            assert sites == {"big.test": 14}

    def test_of_several_links_to_a_url_the_first_says_how_it_was_found(self, tmp_path):
        """The hop of a URL that a page has twice is that of the first link to it."""
        with crawling(tmp_path, ROBOTSTXT_OBEY=False, CONCURRENT_REQUESTS=1) as (crawl, _):
            crawl.parts.discovery.discover(BIG, ["mailto:a", "/x", "http://big.test/x#y"], "LEL")

            assert crawl.next_link(0.0).path == "LE"

    def test_hop_and_base_are_the_pages(self, tmp_path):
        """A link of a later portion has the letter, the page and the base that it would have had at
        once.
        """
        with crawling(tmp_path, CONCURRENT_REQUESTS=1) as (crawl, _):
            some = ["mailto:a"] * PORTION + ["../one"]
            crawl.parts.discovery.discover(
                BIG, some, "L" * PORTION + "E", base="http://base.test/a/b/"
            )
            crawl.next_link(0.0)
            (record,) = crawl.parts.frontier.core.back.active.values()

            assert record.name == "base.test"
            assert record.given.startswith(b"http://base.test/robots.txt LEP ")
            assert record.later[0][1].startswith(b"http://base.test/a/one LE http://big.test/ ")

    def test_a_mistake_of_ours_costs_the_portion(self, tmp_path, monkeypatch, caplog):
        """The links of that portion are lost with a line in the log, and the crawl continues."""
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 3 * PORTION)
            with monkeypatch.context() as patched:
                patched.setattr(crawl.parts.pipeline, "process", lambda *_: 1 / 0)
                crawl.next_link(0.0)
            crawl.next_link(1.0)

            assert submitted(crawl) == 2 * PORTION
            assert "http://big.test/: 1000 links lost" in caplog.text

    def test_an_error_of_a_users_filter_is_the_crawls(self, tmp_path, monkeypatch):
        """It is raised, so that the portion is not lost: what it was in the middle of is never
        committed.
        """
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, 3 * PORTION)
            monkeypatch.setattr(
                crawl.parts.pipeline.chain,
                "keep",
                Chain([ByFunction(lambda _: 1 / 0, "mine")]).keep,
            )

            with pytest.raises(FilterError, match="mine: ZeroDivisionError"):
                crawl.next_link(0.0)

    def test_a_slice_in_one_turn(self, tmp_path):
        """Links that nobody may ask for yet enter the frontier in slices, one per turn, and the
        crawl says: at once.
        """
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, PORTION)
            assert crawl.next_link(0.0) is not None
            before = crawl.stats()["queued"]
            assert crawl.next_link(0.0) is None

            assert crawl.stats()["queued"] - before <= 500
            assert crawl.next_ready() == 0.0


class TestKilled:
    @pytest.mark.parametrize("taken", [0, 1, 3, 6])
    def test_no_link_is_lost_or_doubled(self, tmp_path, taken):
        """After kill -9 at any point, the links of a page that the checkpoint has are submitted
        once.
        """
        total = 5 * PORTION + 1
        with crawling(tmp_path) as (crawl, _):
            discover(crawl, total)
            after(crawl, 2)
            crawl.checkpoint()
            after(crawl, taken, start=10.0)
        assert list(verify(tmp_path, Counter())) == []
        with crawling(tmp_path) as (crawl, _):
            assert submitted(crawl) == 3 * PORTION
            after(crawl, 6, start=20.0)

            assert submitted(crawl) == crawl.stats()["links"] == total
            assert crawl.stats()["seen/submitted"] == total

    def test_a_page_that_no_checkpoint_has_leaves_nothing(self, tmp_path):
        """Without a checkpoint after it, neither the page nor its links exist: it will be fetched
        again.
        """
        with crawling(tmp_path) as (crawl, _):
            crawl.checkpoint()
            discover(crawl, 3 * PORTION)
        with crawling(tmp_path) as (crawl, _):
            assert not crawl.pending


class TestMost:
    def visit(self, tmp_path, count, url="http://big.test/", kind=None, **settings):
        """The statistics after one page with so many links, and its exchange."""
        body = "".join(f'<a href="/{number}">x</a>' for number in range(count)).encode()
        if kind is not None:
            body = "".join(
                f"0file {number}\t/{number}\tbig.test\t70\r\n" for number in range(count)
            ).encode()
        answer = exchange(url, body, headers=[(b"Content-Type", (kind or "text/html").encode())])
        with crawling(tmp_path, **settings) as (crawl, visitor):
            page = visitor.visit(Link(url), answer)
            visitor.follow(page)
            return crawl.stats(), answer, page

    def test_the_first_links_are_followed(self, tmp_path):
        """Of a page with more links than MOST_LINKS the first are followed; the others are counted."""
        stats, answer, page = self.visit(tmp_path, MOST_LINKS + 15)

        assert (stats["links"], stats["links/cut"]) == (MOST_LINKS + 15, 15)
        assert answer.state.truncated_links == 15
        assert len(page.links) == MOST_LINKS + 15

    def test_none_is_truncated_below(self, tmp_path):
        """A page with as many links as are allowed is whole."""
        stats, answer, _ = self.visit(tmp_path, MOST_LINKS)

        assert (stats["links"], stats.get("links/cut", 0), answer.state.truncated_links) == (
            MOST_LINKS,
            0,
            0,
        )

    def test_a_menu_is_whole(self, tmp_path):
        """A Gopher menu lists what there is: it is never truncated."""
        stats, _, _ = self.visit(
            tmp_path, MOST_LINKS + 15, "gopher://big.test/1", "text/x-gopher-menu"
        )

        assert (stats["links"], stats.get("links/cut", 0)) == (MOST_LINKS + 15, 0)

    def bomb(self, tmp_path, url, body, kind="text/html", **settings):
        """The statistics after one page that names far more than it is long, and what its links say
        in all.
        """
        answer = exchange(url, body, headers=[(b"Content-Type", kind.encode())])
        with crawling(tmp_path, **settings) as (crawl, visitor):
            link = Link(url, "L", "", "http://seed.test/")
            page = visitor.visit(link, answer)
            visitor.follow(page)
            queued = crawl.stats()["links"] - crawl.stats().get("links/cut", 0)
            assert answer.state.truncated_links == crawl.stats().get("links/cut", 0)
            return crawl.stats(), queued * 2 * len(url)

    def test_a_long_url_with_many_links(self, tmp_path):
        """Links that would fill logs and queues with their page's URL are followed as far as there
        is room for them.
        """
        url = f"http://big.test/{'x' * 1900}/"
        body = "".join(f"<a href={number}>" for number in range(100_000)).encode()

        stats, said = self.bomb(tmp_path, url, body)

        assert stats["links/cut"] > 90_000
        assert 0.9 * LINK_TEXT_ROOM < said <= LINK_TEXT_ROOM

    def test_a_long_menu(self, tmp_path):
        """Of FTP listings and Gopher menus, too, no more is followed than there is room for."""
        url = f"gopher://big.test/1/{'x' * 1900}/"
        body = "".join(f"0f\t/{number}\tb.test\t70\r\n" for number in range(50_000)).encode()

        stats, _ = self.bomb(tmp_path, url, body, MENU)

        assert stats["links/cut"] > 40_000

    def test_many_links_of_an_ordinary_page(self, tmp_path):
        """A page with fifty thousand links of usual length is whole."""
        body = "".join(f'<a href="/articles/{number}.html">' for number in range(50_000)).encode()

        stats, _ = self.bomb(tmp_path, "http://big.test/section/overview/index.html", body)

        assert stats.get("links/cut", 0) == 0

    def test_sitemaps_of_a_robots_txt(self, tmp_path):
        """What a robots.txt names is followed as far as there is room for it."""
        page = Link(f"http://big.test/{'x' * 1900}", "P", "", "", history="http://big.test")
        body = b"".join(b"Sitemap: /%d\n" % number for number in range(30_000))
        with crawling(tmp_path, SITEMAPS=True) as (crawl, visitor):
            visitor.follow_robots(visitor.visit(page, exchange("http://big.test/robots.txt", body)))

            assert crawl.stats()["links/cut"] > 15_000
            assert crawl.stats()["links"] == 30_000
