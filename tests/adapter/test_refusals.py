"""Requests of a user's own spider that the frontier ends: who hears of it, and that he does
whatever happens.
"""

import json
import socket
from contextlib import closing

import pytest
from scrapy import Request

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving
from tests.support.refusal_spiders import Asking
from webcrawl.adapter.request_links import has_errback, to_link
from webcrawl.base.model import Link, Status
from webcrawl.crawl.lost_requests import Refusals
from webcrawl.store.crawldb import CrawlDB


class Guarded(Site):
    """Whatever is requested, and a robots.txt that forbids some of it."""

    def answer(self):
        self.say(
            200,
            b"User-agent: *\nDisallow: /no" if self.path == "/robots.txt" else self.path.encode(),
        )


@pytest.fixture(name="here", scope="module")
def _here():
    with serving(Guarded) as address:
        yield address


@pytest.fixture(name="nowhere", scope="module")
def _nowhere():
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.2", 0))
        yield f"http://127.0.0.2:{bound.getsockname()[1]}"


@pytest.fixture(name="heard")
def _heard(tmp_path, here):
    """What the spider heard, after it was to ask for these: in order, without its first page."""

    def heard(then, **settings):
        notes = tmp_path / "notes"
        given = {
            "SPIDER_MODULES": "tests.support.refusal_spiders",
            "POLITENESS_FACTOR": 0,
            "POLITENESS_MIN_DELAY": 0,
            **settings,
        }
        crawl = Crawl(
            tmp_path / "job",
            {"here": here, "then": json.dumps(then), "notes": notes},
            given,
            "asking",
        )
        assert crawl.run() == 0, crawl.output.read_text()
        assert crawl.stats["reason"] == "finished"
        return (
            [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
        )

    return heard


class TestErrbacks:
    def test_what_robots_forbids_fails_with_ignore_request(self, heard, here):
        """As with Scrapy's own middleware: the errback gets IgnoreRequest, and what it yields
        counts.
        """
        url = f"{here}/no/1"

        assert heard([(url, [])]) == [
            ["failed", url, "IgnoreRequest", "robots forbidden", 1],
            ["item", url],
            ["page", f"{here}/after"],
        ]

    def test_without_an_errback_nobody_hears(self, heard, here):
        """A request without an errback that ends in the frontier has a line in the log, and that is
        all.
        """
        assert heard([(f"{here}/no/1", ["unheard"])]) == []

    def test_a_host_without_robots_fails_every_request(self, heard, nowhere):
        """Where robots.txt cannot be had, after its last try, every request of the host fails."""
        urls = [f"{nowhere}/{number}" for number in range(3)]
        failed = [
            note
            for note in heard([(url, []) for url in urls], HOST_PATIENCE=0)
            if note[0] == "failed"
        ]

        assert sorted(failed) == [
            ["failed", url, "IgnoreRequest", "robots unreachable", 1] for url in urls
        ]

    def test_a_host_given_up_fails_what_it_has_left(self, heard, nowhere):
        """The request that was asked for fails with its own error, those behind it with
        IgnoreRequest, however many.
        """
        urls = [f"{nowhere}/{number}" for number in range(600)]
        notes = heard(
            [(url, []) for url in urls], ROBOTSTXT_OBEY=False, HOST_MAX_FAILURES=1, HOST_PATIENCE=0
        )
        failed = [note for note in notes if note[0] == "failed"]

        assert sorted(url for _, url, *_ in failed) == sorted(urls)
        assert (
            sum(why == ["IgnoreRequest", "connect failed", 1] for _, _, *why in failed)
            == len(urls) - 1
        )

    def test_what_is_excluded_while_it_waits_fails(self, heard, here, tmp_path):
        """A request that the exclusion file stops when its turn has come fails too."""
        (tmp_path / "excluded").write_text(f"{here}/excluded\n")
        url = f"{here}/excluded/1"

        assert heard([(url, ["unfiltered"])], URL_EXCLUDE_FILE=tmp_path / "excluded")[0] == [
            *("failed", url, "IgnoreRequest", "excluded", 1)
        ]


class TestSignals:
    def test_what_a_filter_keeps_out_is_dropped(self, heard, here):
        """A request that does not get into the frontier is `request_dropped`, as in Scrapy; no
        errback is called.
        """
        urls = [f"{here}/out/1", "nothing://to.do/"]

        assert heard([(url, []) for url in urls], URL_EXCLUDE="/out/") == [
            ["dropped", url] for url in urls
        ]


class Log:
    """A log of dropped links."""

    def __init__(self):
        self.lines = []

    def dropped(self, link, status):
        self.lines.append((link.url, status))


@pytest.fixture(name="spider")
def _spider():
    return Asking("", "[]", "/dev/null")


def link(spider, number, *, errback=True):
    return to_link(
        Request(f"http://a.test/{number}", errback=spider.failed if errback else None, priority=1),
        spider,
    )


class TestRefusals:
    def test_every_drop_is_logged_and_some_are_told(self, tmp_path, spider):
        """A link of a page's and a request without an errback are logged only."""
        log = Log()
        with closing(CrawlDB(tmp_path)) as db:
            refusals = Refusals(db, log, has_errback)
            for one in (Link("http://a.test/"), link(spider, 1, errback=False), link(spider, 2)):
                refusals.dropped(one, Status.HOST_RETIRED)

            assert [url for url, _ in log.lines] == [
                "http://a.test/",
                "http://a.test/1",
                "http://a.test/2",
            ]
            assert len(refusals) == 1
            assert refusals.next_refusal().reason == "host retired"

    def test_what_was_not_told_outlives_a_crash(self, tmp_path, spider):
        """What waits or is being told at a checkpoint is told by the next run, in order; what was
        told is not.
        """
        with closing(CrawlDB(tmp_path)) as db:
            refusals = Refusals(db, Log(), has_errback)
            for number in range(4):
                refusals.dropped(link(spider, number), Status.HOST_BUDGET)
            refusals.delivered(refusals.next_refusal())
            refusals.next_refusal()
            db.checkpoint()
            while refusals.next_refusal() is not None:
                pass  # the next run does not know that
        with closing(CrawlDB(tmp_path)) as db:
            refusals = Refusals(db, Log(), has_errback)
            left = [refusals.next_refusal() for _ in range(len(refusals))]

            assert [(one.record, one.status) for one in left] == [
                (link(spider, number).pack(), Status.HOST_BUDGET) for number in (1, 2, 3)
            ]
            for one in left:
                refusals.delivered(one)
            db.checkpoint()
        with closing(CrawlDB(tmp_path)) as db:
            assert len(Refusals(db, Log(), has_errback)) == 0

    def test_a_crawl_without_such_requests_keeps_nothing(self, tmp_path):
        """Where nobody wants to hear of anything the checkpoint has no word of it."""
        with closing(CrawlDB(tmp_path)) as db:
            refusals = Refusals(db, Log(), has_errback)
            refusals.dropped(Link("http://a.test/"), Status.HOST_RETIRED)
            db.checkpoint()

            assert db.query("SELECT count(*) FROM meta") == [(0,)]
