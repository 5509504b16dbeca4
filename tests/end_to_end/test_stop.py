"""Stopping and resuming a crawl: Ctrl-C, SIGTERM, both twice, CLOSESPIDER_*, and its normal end."""

import os
import re
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from tests.support.crawling import QUICK, Crawl, wait_until
from tests.support.examples import in_campaign
from tests.support.plain_site import Site, serving
from webcrawl.lab.simweb import wait_until_idle
from webcrawl.tools.commands.crawl import SAME_SIGNAL_SECONDS

FAST = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CONCURRENT_REQUESTS": 8}


class Links(Site):
    """A front page with a hundred links."""

    def answer(self):
        links = "".join(f"<a href=/{number}>x</a>" for number in range(1, 100))
        self.say(200, links.encode(), content_type="text/html")
        # else its thread would serve that one on after the server's end
        self.close_connection = True


COUNTED = '{"tests.support.cli_components.Counting": 1000}'


def crawl_of(tmp_path, server, **settings):
    (tmp_path / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "COUNTING_FILE": tmp_path / "pages",
        **FAST,
        **settings,
    }
    return Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)


def requested(server):
    """URLs of pages that the server answered completely, without robots.txt."""
    wait_until_idle(server)
    return [
        hit.url
        for hit in server.log.hits
        if not hit.url.endswith("/robots.txt") and hit.outcome == "sent"
    ]


def log_of(crawl):
    return (crawl.jobdir / "logs/crawl.log").read_text()


def said(crawl):
    return crawl.output.read_text() if crawl.output.exists() else ""


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, *in_campaign(signal.SIGTERM)])
    def test_pages_under_way_are_finished(self, tmp_path, simweb, number):
        """After one signal every page in progress is finished: the next run fetches only the
        others.
        """
        server = simweb(8, 120, latency=0.05)
        crawl = crawl_of(tmp_path, server, ITEM_PIPELINES=COUNTED)

        running = crawl.start()
        wait_until(lambda: len(server.log.hits) > 30)
        os.kill(running.process.pid, number)
        first = running.wait()
        half, stats = len(requested(server)), crawl.stats
        second = crawl.run()

        assert (first, stats["reason"], second, crawl.stats["reason"]) == (
            0,
            "shutdown",
            0,
            "finished",
        )
        assert half < 120
        assert len(requested(server)) == len(set(requested(server))) == 120
        assert sorted((tmp_path / "pages").read_text().splitlines()) == sorted(requested(server))

    def test_a_run_that_is_killed_at_once_has_not_ended_as_the_one_before(self, tmp_path, simweb):
        """stats.json says that it runs from its beginning on, and not from its first checkpoint on."""
        server = simweb(4, 60, latency=0.2)
        crawl = crawl_of(tmp_path, server, CHECKPOINT_INTERVAL=600)

        for kill in (False, True):
            before = len(server.log.hits)
            running = crawl.start()
            wait_until(lambda before=before: len(server.log.hits) > before + 5)
            running.kill() if kill else running.interrupt()
            running.wait()
            assert crawl.stats["reason"] == (None if kill else "shutdown")

    def test_the_last_lines_name_the_server_that_is_waited_for(self, tmp_path):
        """A crawl that ends while its only host does not answer says what is left, although its
        state is closed.
        """
        with serving(Links) as address:
            settings = {**QUICK, "POLITENESS_MIN_DELAY": 0.5, "HOST_RETRY_WAIT": 60}
            crawl = Crawl(tmp_path / "job", {"seeds": f"{address}/", "scope": "host"}, settings)
            running = crawl.start()
            wait_until(
                lambda: (tmp_path / "job/logs/crawl.log").exists() and "/1 " in log_of(crawl)
            )

        assert running.wait() == 0
        assert "Traceback" not in said(crawl)
        left = crawl.stats["queued"]
        assert left > 50
        assert f"{left} URLs of 1 host left" in said(crawl)
        # The server's end may cut off a connection that it has not accepted yet
        assert re.search(rf"after (no|a lost) connection from {re.escape(address)};", said(crawl))

    def test_servers_that_hang_delay_nothing(self, tmp_path, simweb):
        """Downloads that take more than 5 seconds are given up, and their URLs fetched again by the
        next run.
        """
        server = simweb(4, 4, latency=600)
        crawl = crawl_of(tmp_path, server, DOWNLOAD_TIMEOUT=600)

        running = crawl.start()
        wait_until(lambda: server.busy == 4)
        begun = time.monotonic()
        running.interrupt()

        assert running.wait() == 0
        assert time.monotonic() - begun > 4
        assert (crawl.stats["reason"], crawl.stats["failures"]) == ("shutdown", 0)
        with closing(sqlite3.connect(tmp_path / "job/state/crawl.db")) as db:
            assert db.execute("SELECT count(*) FROM host WHERE state = 1").fetchone() == (4,)
        crawl.run(CLOSESPIDER_TIMEOUT=0.5, DOWNLOAD_TIMEOUT=1)
        wait_until(lambda: len(server.log.hits) == 8)
        assert sorted(hit.url for hit in server.log.hits) == sorted(
            2 * [hit.url for hit in server.log.hits[:4]]
        )

    def test_twice_is_at_once(self, tmp_path, simweb):
        """A second signal ends the process at once, with an exit status that says so."""
        server = simweb(4, 4, latency=600)
        crawl = crawl_of(tmp_path, server, DOWNLOAD_TIMEOUT=600)

        running = crawl.start()
        wait_until(lambda: server.busy == 4)
        running.interrupt()
        wait_until(lambda: "Send again to force" in said(crawl))
        time.sleep(SAME_SIGNAL_SECONDS)
        running.interrupt()

        assert running.wait() == 130

    def test_twice_within_half_a_second_is_once(self, tmp_path, simweb):
        """Signals that follow the first one closely are the same Ctrl-C: pages in progress are
        finished.
        """
        server = simweb(4, 40, latency=0.3)
        crawl = crawl_of(tmp_path, server)

        running = crawl.start()
        wait_until(lambda: server.busy == 4)
        running.interrupt()
        wait_until(lambda: "Send again to force" in said(crawl))
        running.interrupt()
        os.kill(running.process.pid, signal.SIGTERM)

        assert (running.wait(), crawl.stats["reason"]) == (0, "shutdown")
        assert crawl.run() == 0
        assert len(requested(server)) == len(set(requested(server))) == 40

    def test_a_paused_crawl_can_be_stopped(self, tmp_path, simweb):
        """A crawl that has paused for want of disk space fetches nothing, says so, and ends on a
        signal.
        """
        server = simweb(2, 4)
        crawl = crawl_of(tmp_path, server, MIN_FREE_DISK=1 << 20, CHECKPOINT_INTERVAL=0.1)

        running = crawl.start()
        wait_until(
            lambda: "fetching is paused" in said(crawl) and (tmp_path / "job/stats.json").exists()
        )
        running.interrupt()

        assert running.wait() == 0
        assert crawl.stats["reason"] == "shutdown"
        assert server.log.hits == []

    def test_before_it_has_begun(self, tmp_path, simweb):
        """A signal while the crawl is being opened ends it cleanly, and nothing has changed."""
        server = simweb(2, 4)
        crawl = crawl_of(tmp_path, server, MIN_FREE_DISK=1 << 20)

        running = crawl.start()
        wait_until(lambda: "fetching is paused" in said(crawl))
        running.interrupt()

        assert running.wait() == 0
        assert crawl.run(MIN_FREE_DISK=0) == 0
        assert len(requested(server)) == 4


class TestConditions:
    @pytest.mark.parametrize(
        ("name", "value", "reason"),
        [
            ("CLOSESPIDER_PAGECOUNT", 20, "closespider_pagecount"),
            *in_campaign(
                ("CLOSESPIDER_ITEMCOUNT", 20, "closespider_itemcount"),
                ("CLOSESPIDER_TIMEOUT", 1, "closespider_timeout"),
            ),
        ],
    )
    def test_closespider(self, tmp_path, simweb, name, value, reason):
        """Scrapy's CLOSESPIDER settings end a crawl cleanly, and it can be resumed."""
        server = simweb(6, 60, latency=0.1)
        crawl = crawl_of(tmp_path, server, CONCURRENT_REQUESTS=4)

        assert crawl.run(**{name: value}) == 0
        assert crawl.stats["reason"] == reason
        assert len(requested(server)) < 60
        assert crawl.run() == 0
        assert len(requested(server)) == len(set(requested(server))) == 60

    def test_the_end_is_noticed(self, tmp_path, simweb):
        """A crawl with nothing left to do ends by itself, and does nothing when run again."""
        server = simweb(3, 12)
        crawl = crawl_of(tmp_path, server)

        assert (crawl.run(), crawl.stats["reason"]) == (0, "finished")
        pages, hits = crawl.stats["pages"], len(server.log.hits)
        assert (crawl.run(), crawl.stats["reason"]) == (0, "finished")

        assert len(server.log.hits) == hits
        assert crawl.stats["pages"] == pages
