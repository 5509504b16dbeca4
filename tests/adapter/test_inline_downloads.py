"""Downloads that somebody awaits: polite like all others, kept like all others, and always
answered.
"""

import json
import os
import shutil
import signal
import time
from collections import Counter
from contextlib import closing

import pytest

from tests.support.crawling import Crawl, copy_of, wait_until
from tests.support.examples import in_campaign
from tests.support.inline_site import HOSTS, inline_site
from tests.support.warc_reader import read
from webcrawl.base.settings.scrapy_settings import DOWNLOADER_MIDDLEWARES
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.tools.verify_crawl import verify

SPIDERS = "tests.support.inline_spiders"
WAIT = 0.04  # POLITENESS_MIN_DELAY
IMAGES = {"ITEM_PIPELINES": json.dumps({f"{SPIDERS}.Urls": 300, f"{SPIDERS}.Images": 400})}


@pytest.fixture(name="site")
def _site():
    with inline_site() as site:
        yield site


@pytest.fixture(name="crawl_of")
def _crawl_of(tmp_path, site):
    """A crawl of these hosts, none of which is requested more often than every WAIT seconds."""
    (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in HOSTS))
    common = {
        "SPIDER_MODULES": f"webcrawl.adapter.spiders,{SPIDERS}",
        "HOSTS_FILE": tmp_path / "hosts",
        "POLITENESS_FACTOR": 0,
        "POLITENESS_MIN_DELAY": WAIT,
        "NOTES": tmp_path / "notes",
        "FILES_STORE": tmp_path / "files",
    }

    def crawl_of(spider, arguments, **settings):
        return Crawl(tmp_path / "job", arguments, {**common, **settings}, spider)

    return crawl_of


@pytest.fixture(name="awaiting")
def _awaiting(tmp_path, site, crawl_of):
    """What a spider heard that awaits downloads in one of the ways of `Awaiting`; the crawl must
    end by itself.
    """

    def awaiting(how, **settings):
        arguments = {"how": how, "here": site.url("a.test", ""), "there": site.url("b.test", "")}
        crawl = crawl_of("awaiting", arguments, **settings)
        assert crawl.run() == 0, crawl.output.read_text()
        assert (crawl.stats["reason"], crawl.stats["queued"], crawl.stats["in_flight"]) == (
            "finished",
            0,
            0,
        )
        return heard(tmp_path)

    return awaiting


@pytest.fixture(name="paging")
def _paging(tmp_path, site, crawl_of):
    """A crawl of all pages of these hosts: four of each."""

    def paging(spider, hosts=HOSTS, path="/page", **settings):
        (tmp_path / "seeds.txt").write_text("".join(f"{site.url(host, path)}\n" for host in hosts))
        return crawl_of(spider, {"seeds": tmp_path / "seeds.txt"}, **settings)

    return paging


def heard(tmp_path):
    notes = tmp_path / "notes"
    return [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []


def logged(crawl):
    """URLs in crawl.log, and how often each is there."""
    return Counter(
        line.split()[3] for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
    )


def archived(crawl):
    """URLs of the archive's answers, and how often each is there."""
    files = sorted((crawl.jobdir / "warc").glob("*.warc.gz*"))
    records = [record for file in files for record in read(file)]
    return Counter(
        record.fields["WARC-Target-URI"]
        for record in records
        if record.kind in ("response", "revisit")
    )


def as_resumed(crawl, tmp_path):
    """A copy of the crawl as its next run will find it: truncated to the last checkpoint, and sound."""
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy_of(crawl.jobdir, copy)
    assert list(verify(copy, Counter())) == []
    with closing(CrawlDB(copy / "state")) as db, closing(Outputs(db, copy)):
        noted = {path.removesuffix(".open") for (path,) in db.query("SELECT path FROM output")}
    for path in (copy / "warc").glob("*.warc.gz*"):
        if f"warc/{path.name.removesuffix('.open')}" not in noted:
            path.unlink()  # as the next run does
    return Crawl(copy)


class TestTurns:
    def test_the_images_of_a_page_take_turns(self, tmp_path, site, paging):
        """A media pipeline's 100 downloads wait for their host, one after the other, and all come."""
        crawl = paging("web", ["a.test"], "/many", **IMAGES)

        assert crawl.run() == 0
        site.check_polite(WAIT)
        assert heard(tmp_path) == [["page", site.url("a.test", "/many"), 100, 100]]
        assert site.paths(robots=True)[:2] == ["/robots.txt", "/many"]
        assert len(site.paths()) == 101

    def test_queued_urls_of_the_host_wait_too(self, tmp_path, site, paging):
        """A host's pages and its pages' images never come closer than the wait, whichever comes
        first.
        """
        crawl = paging("web", **IMAGES)

        assert crawl.run() == 0
        site.check_polite(WAIT)
        assert sorted(note[2:] for note in heard(tmp_path)) == [[4, 4]] * 16

    def test_hosts_of_one_address_take_turns(self, site, paging):
        """With POLITENESS_PER_IP this holds for all hosts of an address, once it is known."""
        crawl = paging("awaiting pages", HOSTS[:2], POLITENESS_PER_IP=True)

        assert crawl.run() == 0
        first = {host: next(hit for hit in site.hits if hit[0] == host) for host in HOSTS[:3]}
        known = max(answered for *_, answered in first.values())
        site.hits[:] = [hit for hit in site.hits if hit[2] > known]
        site.check_polite(WAIT, dict.fromkeys(HOSTS, "127.0.0.1"))

    @pytest.mark.parametrize(
        ("how", "answers"),
        [
            ("together", [f"{host}/{number}" for number in range(5) for host in HOSTS[:2]]),
            ("each other", ["a.test/three", "a.test/two", "b.test/three", "b.test/two"]),
            ("nested", ["a.test/3", "a.test/2", "a.test/1", "a.test/0"]),
            *in_campaign(
                ("own host", ["a.test/one", "after"]),
                ("one by one", [f"a.test/{number}" for number in range(4)]),
                ("errback", ["errback", "a.test/one"]),
                ("from start", ["a.test/one", "after"]),
            ),
        ],
    )
    def test_nobody_waits_for_himself(self, site, awaiting, how, answers):
        """A page may await its own host, several hosts, and a host whose page awaits the page's,
        with a single slot.
        """
        notes = [
            text
            for note in awaiting(how, CONCURRENT_REQUESTS=1, CHECKPOINT_INTERVAL=0.1)
            for text in note
        ]

        assert (sorted(notes) if how == "each other" else notes) == answers
        site.check_polite(WAIT)

    def test_a_middleware_may_ask_its_requests_host(self, site, awaiting):
        """What a downloader middleware awaits before a request goes first, and the request waits
        for the next turn.
        """
        middlewares = json.dumps({**DOWNLOADER_MIDDLEWARES, f"{SPIDERS}.LoggingIn": 600})

        assert (
            awaiting("one by one", DOWNLOADER_MIDDLEWARES=middlewares).count(["a.test/login"]) == 5
        )
        site.check_polite(WAIT)
        assert site.paths() == [
            "/login",
            "/first",
            *(path for n in range(4) for path in ("/login", f"/{n}")),
        ]

    def test_pipelines_may_ask_while_they_open_and_close(self, site, awaiting):
        """Before the first page and after the last one hosts have turns too, and robots.txt comes
        first.
        """
        notes = awaiting("twice", ITEM_PIPELINES=json.dumps({f"{SPIDERS}.Opening": 300}))

        assert notes == [
            ["opened", "b.test/opened"],
            ["a.test/one"],
            ["a.test/one"],
            ["closed", "b.test/closed"],
        ]
        assert site.paths("b.test", robots=True) == ["/robots.txt", "/opened", "/closed"]
        site.check_polite(WAIT)


class TestAnswers:
    def test_robots_txt_is_obeyed(self, site, awaiting):
        """What robots.txt forbids is IgnoreRequest for the caller, and never asked for."""
        assert awaiting("forbidden") == [["IgnoreRequest: robots forbidden"]]
        assert site.paths() == ["/first"]

    def test_a_middleware_may_know_robots_txt(self, site, awaiting):
        """What a middleware answers in a robots.txt's place is obeyed, by awaited and by queued
        requests.
        """
        middlewares = json.dumps({**DOWNLOADER_MIDDLEWARES, f"{SPIDERS}.Answering": 600})

        assert awaiting("from start", DOWNLOADER_MIDDLEWARES=middlewares) == [
            ["IgnoreRequest: robots forbidden"],
            ["after"],
        ]
        assert site.paths(robots=True) == ["/first"]

    def test_a_redirect_takes_its_own_turn(self, site, awaiting):
        """Scrapy's redirect middleware follows, at the host's next turn."""
        assert awaiting("moved") == [["a.test/to/moved"]]
        site.check_polite(WAIT)

    def test_a_bad_answer_is_requested_again(self, site, awaiting):
        """A download is tried three times, as a queued one, at its host's next turn; `dont_retry`
        prevents it.
        """
        assert awaiting("flaky") == [["/flaky"], ["/flaky2"]]
        assert site.paths() == ["/first", "/flaky", "/flaky", "/flaky2"]
        site.check_polite(WAIT)

    def test_retries_are_the_settings(self, site, awaiting):
        """RETRY_TIMES holds for these downloads too."""
        awaiting("flaky", RETRY_TIMES=0)
        assert site.paths() == ["/first", "/flaky", "/flaky2"]

    def test_a_host_that_is_not_there_fails(self, awaiting):
        """The caller gets Scrapy's error once the last attempt has failed."""
        assert awaiting("unreachable", ROBOTSTXT_OBEY=False) == [["CannotResolveHostError"]]

    @pytest.mark.parametrize(
        ("how", "answer"),
        [("unreachable", "IgnoreRequest: dns failed"), ("refused", "IgnoreRequest: excluded")],
    )
    def test_a_host_that_leads_nowhere_holds_up_no_page(self, awaiting, how, answer):
        """A name that does not exist, or an address that is refused, is given up within seconds, as
        for a queued URL, and not after HOST_RETRY_WAIT.
        """
        an_hour = {"HOST_RETRY_WAIT": 3600, "HOST_PATIENCE": 3600}

        heard_answers = awaiting(how, PRIVATE_NETWORKS_ALLOWED="127.0.0.1", **an_hour)

        assert heard_answers == [[answer]]

    def test_slow_servers_time_out(self, awaiting):
        """DOWNLOAD_TIMEOUT counts from the host's turn."""
        assert awaiting("slow", DOWNLOAD_TIMEOUT=0.1, HOST_RETRY_WAIT=0.1) == [
            ["DownloadTimeoutError"]
        ]

    def test_a_caller_may_give_up(self, site, awaiting):
        """Cancelling a task ends its download, or its place in the line; the others go on."""
        assert awaiting("cancelled") == [["CancelledError", "CancelledError", "str"]]
        assert site.paths() == ["/first", "/slow0", "/slow2"]

    def test_other_schemes_have_no_turn(self, awaiting):
        """`data:` and the like need no host; a URL that names none is IgnoreRequest."""
        handlers = json.dumps(
            {"data": "scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler"}
        )

        assert awaiting("foreign", DOWNLOAD_HANDLERS=handlers) == [
            ["hello", "IgnoreRequest: invalid URL: host"]
        ]

    def test_a_stored_answer_takes_no_turn(self, tmp_path, site, awaiting):
        """What Scrapy's HTTP cache has is not requested, awaited or queued, and no host waits
        because of it.
        """
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": tmp_path / "cache"}
        assert awaiting("twice", **cache) == [["a.test/one"]] * 2
        assert site.paths() == ["/first", "/one"]
        (tmp_path / "job").rename(tmp_path / "before")

        assert awaiting("twice", **cache) == [["a.test/one"]] * 4
        assert site.paths() == ["/first", "/one"]


class TestRecords:
    def test_each_has_a_line_and_a_record(self, site, paging):
        """crawl.log and the archive have every download once, with the page that awaited it."""
        crawl = paging("web", ["a.test"], **IMAGES)

        assert crawl.run() == 0
        requested = Counter(site.url("a.test", path) for path in site.paths(robots=True))
        assert logged(crawl) == archived(crawl) == requested
        assert set(requested.values()) == {1}
        line = next(
            line
            for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()
            if "/img/page/" in line
        )
        assert line.split()[4:6] == ["E", site.url("a.test", "/page")]
        assert line.endswith("inline")
        assert crawl.stats["inline"] == 16

    def test_a_page_keeps_its_own_body(self, site, paging):
        """What is fetched inline is no page that was seen: the same URL is fetched as a page too."""
        crawl = paging("awaiting pages", ["a.test"], URL_SCOPE="host")

        assert crawl.run() == 0
        assert crawl.stats["pages"] == 4

    @pytest.mark.parametrize("how", [*in_campaign(signal.SIGKILL), signal.SIGINT])
    @pytest.mark.parametrize("spider", ["web", *in_campaign("awaiting pages")])
    def test_whatever_ends_a_run_nothing_is_lost_or_doubled(
        self, tmp_path, site, paging, spider, how
    ):
        """A page that awaits something is not in a checkpoint, nor is what it has written; its
        downloads are, once.
        """
        settings = (
            IMAGES if spider == "web" else {"ITEM_PIPELINES": json.dumps({f"{SPIDERS}.Urls": 300})}
        )
        crawl = paging(spider, **settings, CHECKPOINT_INTERVAL=0.1, FILES_EXPIRES=0)
        for _ in range(4 if how == signal.SIGKILL else 2):
            before = len(site.hits)
            running = crawl.start()
            wait_until(lambda seen=before: len(site.hits) > seen + 22)
            os.kill(running.process.pid, how)
            assert running.wait() == -how * (how == signal.SIGKILL)
            left = as_resumed(crawl, tmp_path)
            assert set(logged(left).values()) <= {1}
            assert logged(left) == archived(left)

        assert crawl.run() == 0
        site.check_polite(WAIT)
        assert set(logged(crawl).values()) == {1}
        assert logged(crawl) == archived(crawl)
        assert {url.split(":", 2)[2].partition("/")[2] for url in logged(crawl)} == {
            path[1:] for _, path, *_ in site.hits
        }
        urls = (crawl.jobdir / "urls.txt").read_text().splitlines()
        assert len(urls) == len(set(urls)) == 16
        assert {note[1 if spider == "web" else 0] for note in heard(tmp_path)} == set(urls)


class TestEnds:
    def test_a_stopped_crawl_waits_for_nobody(self, tmp_path, site, paging):
        """Ctrl-C ends a crawl within seconds although pages wait for a host's turn; the next run
        gets those pages.
        """
        crawl = paging("web", ["a.test"], **IMAGES, CHECKPOINT_INTERVAL=0.1)
        running = crawl.start(
            POLITENESS_MIN_DELAY=600, POLITENESS_MAX_DELAY=600, ROBOTSTXT_OBEY=False
        )
        wait_until(lambda: len(site.hits) == 1 and (tmp_path / "job/stats.json").exists())
        time.sleep(0.3)  # some checkpoints, with the page away
        running.interrupt()

        assert running.wait() == 0
        assert (crawl.stats["reason"], logged(crawl)) == ("shutdown", Counter())
        assert crawl.run() == 0
        assert heard(tmp_path)[-1][2:] == [4, 4]
        assert set(logged(crawl).values()) == {1}

    def test_checkpoints_do_not_wait_for_turns(self, tmp_path, site, paging):
        """While pages wait for their images checkpoints are taken, and other pages are booked in
        them.
        """
        crawl = paging("web", ["a.test"], "/many", **IMAGES, CHECKPOINT_INTERVAL=0.1)
        (tmp_path / "seeds.txt").write_text(
            f"{site.url('a.test', '/many')}\n{site.url('b.test', '/page')}\n"
        )
        running = crawl.start()
        wait_until(lambda: (tmp_path / "job/stats.json").exists() and crawl.stats["pages"] >= 3)

        assert len(site.paths("a.test")) < 90
        running.process.kill()
        running.wait()
