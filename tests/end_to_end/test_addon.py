"""A Scrapy project that knows of webcrawl by one setting: its own spiders, Scrapy's own commands."""

import json
import os
import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from tests.support.crashes import crash
from tests.support.crawling import POLITE, Crawl, scrapy
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from tests.support.plain_site import Site, serving
from tests.support.snapshots import snapshot_of
from tests.support.warc_reader import read
from webcrawl.lab.simweb import even, gaps, mercator, overlaps, robots_first, wait_until_idle
from webcrawl.tools.verify_crawl import verify

CONFIG = "[settings]\ndefault = shop.settings\n"
SETTINGS = """
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
COOKIES_ENABLED = False  # Scrapy's middleware asks the internet for public suffixes
ADDONS = {"webcrawl.WebcrawlAddon": 300}
"""
SPIDERS = '''
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Shop(CrawlSpider):
    name = "shop"
    rules = [Rule(LinkExtractor(), callback="page", follow=True)]
    handle_httpstatus_list = [404]

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = start.split()

    def page(self, response):
        yield {"url": response.url}


class Asking(scrapy.Spider):
    """Sends one request past the scheduler."""

    name = "asking"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    async def parse(self, response):
        aside = scrapy.Request(response.urljoin("aside"), method="POST", body=b"a=b")
        answer = await self.crawler.engine.download_async(aside)
        yield {"answer": answer.text}


class Refused(scrapy.Spider):
    """Asks for what is no page of a network."""

    name = "refused"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response):
        yield scrapy.Request("file:///nowhere", self.parse)


class Unstarted(scrapy.Spider):
    name = "unstarted"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    async def start(self):
        yield scrapy.Request(self.start_urls[0])
        raise ZeroDivisionError
'''
PIPELINES = """
class Broken:
    def process_item(self, item):
        raise ZeroDivisionError
"""


class Linked(Site):
    """A tree of 30 pages."""

    def do_GET(self):  # noqa: N802 - as http.server wants it
        number = self.path.strip("/")
        links = (
            range(2 * int(number) + 1, min(2 * int(number) + 3, 30)) if number.isdecimal() else ()
        )
        body = "".join(f'<a href="/{link}">{link}</a>' for link in links).encode()
        self.send_response(200 if number.isdecimal() else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):  # noqa: N802
        self.say(200, b"got " + self.rfile.read(int(self.headers["Content-Length"])))


@pytest.fixture(name="project")
def _project(tmp_path):
    package = tmp_path / "project" / "shop"
    package.mkdir(parents=True)
    (tmp_path / "project/scrapy.cfg").write_text(CONFIG)
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(SETTINGS)
    (package / "spiders.py").write_text(SPIDERS)
    (package / "pipelines.py").write_text(PIPELINES)
    return tmp_path / "project"


def crawl_of(project, start, spider="shop", **settings):
    return Crawl(project.parent / "job", {"start": start}, settings, spider, project)


def archived(jobdir):
    """How often an answer of each URL was archived."""
    records = [record for path in sorted(jobdir.glob("warc/*.warc.gz*")) for record in read(path)]
    return Counter(
        one.fields["WARC-Target-URI"] for one in records if one.kind in ("response", "revisit")
    )


class TestCrawl:
    MIX = even(["redirect_302", "status_404", "status_500", "duplicate", "robots_missing"])

    def test_all_that_a_spider_gets_is_archived(self, simweb, project):
        """Politeness, robots.txt first, and each answer in the archive: redirects, errors and
        retries too.
        """
        server = simweb(8, 40, mix=self.MIX, size=(2000, 3000))
        crawl = crawl_of(project, " ".join(server.world.seeds()), DNS_NAMESERVERS=server.nameserver)

        assert crawl.run() == 0

        wait_until_idle(server)
        hits = list(server.log.hits)
        assert [
            *overlaps(hits),
            *gaps(hits, mercator(server.world, **POLITE)),
            *robots_first(hits),
        ] == []
        assert archived(crawl.jobdir) == Counter(hit.url for hit in hits)
        assert [*verify(crawl.jobdir, Counter())] == []
        assert set(snapshot_of(crawl.jobdir).logged) == {
            hit.url for hit in hits if not hit.url.endswith("/robots.txt")
        }
        assert crawl.stats["reason"] == "finished"

    @pytest.mark.campaign
    def test_killed(self, tmp_path, simweb, project):
        """After kill -9 the last checkpoint holds: what was done is not done again, and is in the
        archive once.
        """
        server = simweb(8, 50, mix=self.MIX, size=(2000, 3000), latency=0.01)
        settings = {
            "DNS_NAMESERVERS": server.nameserver,
            "CHECKPOINT_INTERVAL": 0.1,
            "LOG_LEVEL": "INFO",
        }
        crawl = crawl_of(project, " ".join(server.world.seeds()), **settings)

        killed = crash(crawl, server, Random(5), kills=1, requests=(25, 40), settings=[{}] * 2)

        assert killed.status == 0
        assert len(killed.deaths) == 1
        assert all(death.snapshot.logged for death in killed.deaths)
        assert [*killed.fetched_again()] == []
        assert max(killed.snapshot.logged.values()) == 1
        assert set(killed.snapshot.archived) == {hit.url for hit in killed.hits}

    def test_a_request_past_the_scheduler(self, project):
        """What a callback downloads by itself is archived as well, with the body that was sent."""
        with serving(Linked) as site:
            crawl = crawl_of(project, f"{site}/0", "asking", PRIVATE_NETWORKS_ALLOWED="127.0.0.0/8")
            assert crawl.run() == 0

        records = [record for path in crawl.jobdir.glob("warc/*.warc.gz*") for record in read(path)]
        about = [
            record for record in records if record.fields.get("WARC-Target-URI") == f"{site}/aside"
        ]
        assert [record.kind for record in about] == ["response", "request", "metadata"]
        assert about[0].block.endswith(b"\r\n\r\ngot a=b")
        assert about[1].block.endswith(b"\r\n\r\na=b")
        assert "{'answer': 'got a=b'}" in crawl.output.read_text()

    def test_what_it_cannot_have(self, project):
        """A request that is for no network is named in the log."""
        with serving(Linked) as site:
            crawl = crawl_of(
                project, f"{site}/0", "refused", PRIVATE_NETWORKS_ALLOWED="127.0.0.0/8"
            )
            assert crawl.run() == 0

        assert "WARNING: <GET file:///nowhere> cannot be crawled: " in crawl.output.read_text()
        assert archived(crawl.jobdir) == {f"{site}/robots.txt": 1, f"{site}/0": 1}

    def test_a_start_url_that_is_refused(self, project):
        """The log says why nothing was fetched; the status is Scrapy's."""
        with serving(Linked) as site:
            crawl = crawl_of(project, f"{site}/0", "shop", PRIVATE_NETWORKS_ALLOWED="")
            assert crawl.run() == 0

        assert "nothing was fetched: 127.0.0.1 is loopback: " in crawl.output.read_text()


class TestEnds:
    """Scrapy's own `crawl` runs here."""

    @pytest.mark.parametrize(
        ("settings", "line"),
        [
            (
                {"FRONTIER_LEVELS": 0},
                "FRONTIER_LEVELS = '0': must be a whole number from 1 to 1000",
            ),
            (
                {"SCHEDULER": "scrapy.core.scheduler.Scheduler"},
                "SCHEDULER = 'scrapy.core.scheduler.Scheduler': webcrawl",
            ),
        ],
    )
    def test_what_is_impossible_is_one_line_without_a_traceback(self, project, settings, line):
        """What is impossible is one line at the end of the log, without a traceback, and exit
        status 1.
        """
        crawl = crawl_of(project, "http://127.0.0.1/", **settings)

        assert crawl.run() == 1

        said = crawl.output.read_text()
        assert said.splitlines()[-1].startswith(line)
        assert "Traceback" not in said
        assert not crawl.jobdir.exists()

    def test_a_crawl_that_ended_badly(self, project):
        """Scrapy's `crawl` ends with 1 after a crawl that was ended by its errors, whose last lines
        stay the last.
        """
        with serving(Linked) as site:
            settings = {"PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8", "ERROR_BREAKER": "2/60"}
            crawl = crawl_of(
                project, f"{site}/0", ITEM_PIPELINES='{"shop.pipelines.Broken": 1}', **settings
            )

            assert crawl.run() == 1

        assert crawl.stats["reason"] == "error_breaker"
        assert "Spider closed (error_breaker)" in crawl.output.read_text().splitlines()[-1]

    def test_a_spider_that_cannot_start(self, project):
        """A `start` that raises has not requested all that it wanted: the crawl ends with 1,
        whatever came of it, and is not said to be complete.
        """
        with serving(Linked) as site:
            crawl = crawl_of(
                project, f"{site}/0", "unstarted", PRIVATE_NETWORKS_ALLOWED="127.0.0.0/8"
            )

            assert (crawl.run(), crawl.run()) == (1, 1)

        said = crawl.output.read_text()
        assert crawl.stats["reason"] == "start_error"
        assert "ZeroDivisionError" in said
        assert "logs/errors.log; the next run calls the spider's start again" in said
        assert "already complete" not in said


class TestDaily:
    """A spider that is run each day, without JOBDIR."""

    def words(self, site, *more):
        words = [
            "crawl",
            "shop",
            "-a",
            f"start={site}/0",
            "-s",
            "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
        ]
        return [
            *words,
            "-s",
            "POLITENESS_MIN_DELAY=0",
            "-s",
            "POLITENESS_FACTOR=0",
            "-O",
            "items.jl",
            *more,
        ]

    def test_the_next_run_crawls_again(self, project):
        """A complete crawl of a spider without JOBDIR is kept beside, and the next run begins anew,
        which is logged.

        The second run of a daily spider fetched nothing and ended with status 0, with nothing in
        its log.
        """
        with serving(Linked) as site:
            for earlier in (0, 1, 2):
                assert (
                    scrapy(self.words(site, "-s", "LOG_LEVEL=WARNING"), project, project / "out")
                    == 0
                )

                assert len((project / "items.jl").read_text().splitlines()) == 29
                said = (project / "out").read_text()
                assert said.count("crawls/shop: the crawl of this spider was complete") == bool(
                    earlier
                )
                assert (
                    f"The earlier crawl is kept in crawls/shop.{earlier} ({earlier} earlier crawl"
                    in said
                    or not earlier
                )
        assert {path.name for path in (project / "crawls").iterdir()} == {
            "shop",
            "shop.1",
            "shop.2",
        }
        assert archived(project / "crawls/shop.1") == archived(project / "crawls/shop")

    def test_a_crawl_that_is_not_complete_is_resumed(self, project):
        """A crawl that was stopped is resumed, once; then it is complete."""
        with serving(Linked) as site:
            assert (
                scrapy(self.words(site, "-s", "CLOSESPIDER_PAGECOUNT=5"), project, project / "out")
                == 0
            )
            assert scrapy(self.words(site), project, project / "out") == 0

        assert [path.name for path in (project / "crawls").iterdir()] == ["shop"]
        assert max(archived(project / "crawls/shop").values()) == 1
        assert len((project / "items.jl").read_text().splitlines()) == 29

    def test_with_a_jobdir_nothing_is_crawled_again(self, project):
        """With JOBDIR a complete crawl stays as it is, with its feed, and a warning says why
        nothing comes.
        """
        with serving(Linked) as site:
            words = self.words(site, "-s", "JOBDIR=job", "-s", "LOG_LEVEL=WARNING")
            assert scrapy(words, project, project / "out") == 0
            before = (project / "items.jl").read_text()
            assert scrapy(words, project, project / "out") == 0

        assert (project / "items.jl").read_text() == before
        said = (project / "out").read_text()
        assert (
            "job: the crawl was already complete, with nothing left to do. To crawl again, use another JOBDIR"
            in said
        )


PROGRAM = """
import sys

from scrapy import signals
from scrapy.crawler import {kind}
from scrapy.utils.project import get_project_settings

settings = get_project_settings()
settings.setdict({settings!r})
process = {kind}(settings)
first = process.create_crawler("shop")
later = []


def scraped():
    if not later:
        later.append(process.crawl("shop", start={start!r}))


first.signals.connect(scraped, signals.item_scraped)
process.crawl(first, start={start!r})
process.crawl("shop", start={start!r})
process.start()
sys.exit(process.bootstrap_failed)
"""


@pytest.mark.parametrize("kind", ["CrawlerProcess", *in_campaign("AsyncCrawlerProcess")])
def test_two_crawls_on_one_jobdir(project, kind):
    """A second crawl of a program on one JOBDIR is refused in one line, at any log level; the first
    goes on.

    Scrapy logged AssertionErrors of its CoreStats, and at the level CRITICAL nothing. Of the two
    refused crawls one is begun together with the first, one while that runs.
    """
    quick = {
        "POLITENESS_MIN_DELAY": 0,
        "POLITENESS_FACTOR": 0,
        "PRIVATE_NETWORKS_ALLOWED": "127.0.0.0/8",
    }
    with serving(Linked) as site:
        settings = {**quick, "JOBDIR": "job", "LOG_LEVEL": "CRITICAL"}
        (project / "program.py").write_text(
            PROGRAM.format(kind=kind, settings=settings, start=f"{site}/0")
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "program.py"]
        ended = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, check=False
        )

    lines = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert [line.partition("CRITICAL: ")[2] for line in lines] == [
        "JOBDIR = job: another crawl in this program is using it; give each crawl a JOBDIR of its own"
    ] * 2, ended.stderr
    assert len(archived(project / "job")) == 31


class TestOtherCommands:
    def test_the_folder_is_named_after_the_spider(self, project):
        """Without JOBDIR, and whatever runs the spider, its crawl is in crawls/SPIDER."""
        with serving(Linked) as site:
            words = [
                "runspider",
                "shop/spiders.py",
                "-a",
                f"start={site}/20",
                "-s",
                "PRIVATE_NETWORKS_ALLOWED=127.0.0.0/8",
            ]
            (project / "shop/spiders.py").write_text(SPIDERS.partition("class Asking")[0])
            assert scrapy([*words, "-s", "POLITENESS_MIN_DELAY=0"], project, project / "out") == 0

        assert archived(project / "crawls/shop") == {f"{site}/robots.txt": 1, f"{site}/20": 1}

    @pytest.mark.parametrize(
        "words", [["fetch"], *in_campaign(["fetch", "--spider=shop"], ["parse", "--spider=shop"])]
    )
    def test_a_look_at_a_page_is_no_crawl(self, project, words):
        """`fetch` and `parse` are Scrapy's own, and make no JOBDIR."""
        with serving(Linked) as site:
            assert scrapy([*words, f"{site}/0"], project, project / "out") == 0

        assert not (project / "crawls").exists()

    @pytest.mark.parametrize(
        "words",
        [
            *in_campaign(["fetch"]),
            ["parse", "--spider=shop", "-c", "page", "--pipelines"],
            *in_campaign(["shell", "-c", "1"]),
        ],
    )
    def test_a_pipeline_that_writes_to_the_crawl_has_none_to_write_to(self, project, words):
        """One of webcrawl's own pipelines in the project keeps no command from looking at a page."""
        pipelines = json.dumps({"webcrawl.adapter.pipelines.outputs.LinkLogPipeline": 300})
        with serving(Linked) as site:
            words = [*words, f"{site}/0", "-s", f"ITEM_PIPELINES={pipelines}"]
            assert scrapy(words, project, project / "out") == 0

        said = (project / "out").read_text()
        assert (
            said.count(
                "links.log is not written, because this command is not a crawl and has no JOBDIR"
            )
            == 1
        )
        assert "Traceback" not in said
        assert not (project / "crawls").exists()

    def test_without_the_addon(self, project):
        """A project that does not name the add-on is plain Scrapy, although webcrawl is installed."""
        (project / "shop/settings.py").write_text(SETTINGS.partition("ADDONS")[0])
        with serving(Linked) as site:
            assert (
                scrapy(
                    ["crawl", "shop", "-a", f"start={site}/0", "-O", "items.jl"],
                    project,
                    project / "out",
                )
                == 0
            )

        items = [
            json.loads(line)["url"] for line in (project / "items.jl").read_text().splitlines()
        ]
        assert sorted(items) == sorted(f"{site}/{number}" for number in range(1, 30))
        assert {path.name for path in project.iterdir()} == {
            "scrapy.cfg",
            "shop",
            "items.jl",
            "out",
        }
        assert "webcrawl" not in (project / "out").read_text()
