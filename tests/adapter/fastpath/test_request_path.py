"""What a user's spider and components see is what they see with plain Scrapy: same calls, same
signals, same order.
"""

import json
import socket
from operator import itemgetter

import pytest

from tests.support.crawling import Crawl
from tests.support.examples import in_campaign
from tests.support.places import ROOT
from tests.support.plain_site import serving
from webcrawl.base.settings.scrapy_settings import DOWNLOADER_MIDDLEWARES

pytestmark = pytest.mark.xdist_group("request path")  # its crawls are shared by all its tests

OURS = "tests.support.request_path_components"
SPIDERS = "tests.support.request_path_spiders"
COMMON = {
    "SPIDER_MODULES": SPIDERS,
    "ROBOTSTXT_OBEY": False,
    "ERROR_BREAKER": "1000/1",
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "LOG_LEVEL": "INFO",
    "DOWNLOAD_TIMEOUT": 60,  # nobody here is slow on purpose, but the machine may be
}
DOWNLOADS = {"DOWNLOADER_MIDDLEWARES": {**DOWNLOADER_MIDDLEWARES, f"{OURS}.OfDownloads": 950}}
CALLBACKS = {"SPIDER_MIDDLEWARES": {f"{OURS}.OfCallbacks": 950, f"{OURS}.OfBothKinds": 940}}
PIPELINES = {"ITEM_PIPELINES": {f"{OURS}.Plain": 300, f"{OURS}.Waiting": 400}}
ALL = {**DOWNLOADS, **CALLBACKS, **PIPELINES}
# The ways that the request path knows; each shortens another part of Scrapy's
WAYS = {
    "middlewares": {**ALL, "CONCURRENT_ITEMS": 1},
    "no spider middleware": {
        **DOWNLOADS,
        **PIPELINES,
        "CONCURRENT_ITEMS": 1,
        "SPIDER_MIDDLEWARES_BASE": {},
    },
    "own item processor": {**ALL, "CONCURRENT_ITEMS": 1, "ITEM_PROCESSOR": f"{OURS}.OwnProcessor"},
    "items together": {**ALL, "CONCURRENT_ITEMS": 8},
}
PLAIN = f"""
SPIDER_MODULES = ["{SPIDERS}"]
TELNETCONSOLE_ENABLED = False
RETRY_ENABLED = False
"""

# What comes of a scene with all middlewares: the texts of its items and the names of its other ends
SCENES = {
    "callbacks": {
        "list": ["item", "item", "item"],
        "nothing": ["called"],
        "one": ["item"],
        "coroutine": ["item", "item"],
        "async generator": ["item", "item"],
        "arguments": ["item"],
        "link": ["item", "item"],
        "download": ["item", "item", "item"],
    },
    "failures": {
        "missing": ["errback"],
        "refused": ["errback"],
        "refused and unheard": [],
        "raises": ["exception", "error"],
        "raises late": ["item", "exception", "error"],
        "raises async": ["item", "exception", "error"],
        "errback raises": ["error"],
        "errback yields": ["item"],
    },
    "downloader middlewares": {
        "answered": ["item"],
        "replaced": ["item"],
        "redirected": ["item"],
        "changed": ["item"],
        "swallowed": ["item"],
        "ignored": ["errback"],
        "ignored and unheard": [],
        "ignored late": ["errback"],
        "broken": ["errback"],
    },
    "spider middlewares": {
        "more": ["item", "item"],
        "unwanted": ["errback"],
        "unwanted and unheard": ["exception", "error"],
        "recovered": ["exception", "item"],
        "recovered late": ["item", "exception", "item"],
    },
    "pipelines": {
        "dropped": ["dropped", "dropped", "item"],
        "breaks": ["item error", "item"],
        "another type": ["item", "item"],
        "together": ["item", "item"],
    },
}
PAGES = {  # what a spider's `parse` gives back -> how it ends
    "list": ["item", "item"],
    "nothing": ["called"],
    "one": ["item"],
    "generator": ["item", "item"],
    "raises": ["error"],
    "link": ["item", "item"],
    "dropped": ["dropped", "item"],
    "breaks": ["item error", "item"],
}
EVERY_WAY = [
    "middlewares",
    *in_campaign("no spider middleware", "own item processor", "items together"),
]
NAMES = [scene for group in SCENES.values() for scene in group]
# A download that fails is tried again here, three times in all; with plain Scrapy that is a
# middleware's affair.
UNDER_WAY = {"scheduled", "reached", "downloaded", "left", "received"}
REPEATED = {"refused", "refused and unheard", "errback raises", "errback yields", "swallowed"}
# Scrapy reads on in a generator while an item is still in the pipelines; here one comes after the
# other.
READ_ON = {"raises late", "raises async", "recovered late", "link", "download"}


@pytest.fixture(name="here", scope="module")
def _here():
    with serving() as address:
        yield address


@pytest.fixture(name="closed_port", scope="module")
def _closed_port():
    # and not listening: connections to it are refused, and nobody else gets it
    with socket.socket() as bound:
        bound.bind(("0.0.0.0", 0))  # noqa: S104 - it accepts nobody
        yield bound.getsockname()[1]


@pytest.fixture(name="crawled", scope="module")
def _crawled(tmp_path_factory, here, closed_port):
    """Crawls once for all tests that ask for the same; gives what was noted, by scene, and the
    crawl.
    """
    done = {}

    def crawl(kind, spider, *, settings=(), status=0, **arguments):
        key = json.dumps([kind, spider, dict(settings), arguments])
        if key not in done:
            folder = tmp_path_factory.mktemp(kind)
            given = {
                **COMMON,
                **dict(settings),
                "NOTES": folder / "notes",
                "EXTENSIONS": {f"{OURS}.Recorder": 500},
            }
            project = ROOT
            if kind == "plain":
                (folder / "scrapy.cfg").write_text("[settings]\ndefault = plain\n")
                (folder / "plain.py").write_text(PLAIN)
                project = folder
            words = {
                name: json.dumps(value) if isinstance(value, dict) else value
                for name, value in given.items()
            }
            run = Crawl(folder / "job", {"here": here, **arguments}, words, spider, project)
            assert run.run() == status, run.output.read_text()
            done[key] = _by_scene(folder / "notes"), run
        return done[key]

    return crawl


def _by_scene(notes):
    found = {}
    for scene, *event in map(json.loads, notes.read_text().splitlines()):
        found.setdefault(scene, []).append(event)
    return found


@pytest.fixture(name="both", scope="module")
def _both(crawled, closed_port):
    """All scenes by one of the ways, with this crawler and with plain Scrapy."""

    def both(way):
        arguments = {"scenes": ",".join(NAMES), "closed_port": closed_port}
        return [
            crawled(kind, "each", settings=WAYS[way], **arguments)[0] for kind in ("ours", "plain")
        ]

    return both


class TestScenes:
    @pytest.mark.parametrize("way", EVERY_WAY)
    @pytest.mark.parametrize("scene", NAMES)
    def test_it_is_as_with_plain_scrapy(self, both, scene, way):
        """Calls, items and signals of a request are those of plain Scrapy, in the same order, with
        the same values.
        """
        ours, plain = (found[scene] for found in both(way))
        if scene in REPEATED:
            ours = [event for number, event in enumerate(ours) if event not in ours[:number]]
        if scene in READ_ON:
            ours, plain = (sorted(events, key=itemgetter(0)) for events in (ours, plain))

        assert ours == plain

    @pytest.mark.parametrize(
        ("scene", "ends"), [(s, e) for group in SCENES.values() for s, e in group.items()]
    )
    def test_it_ends_as_documented(self, both, scene, ends):
        """Whatever a callback, middleware or pipeline does, the request comes to the end that
        Scrapy documents.
        """
        ours, _ = both("middlewares")

        assert [event[0] for event in ours[scene] if event[0] not in UNDER_WAY] == ends
        assert ours[scene][0] == ["scheduled", ours[scene][0][1]]

    @pytest.mark.parametrize("way", EVERY_WAY)
    def test_the_counters_are_the_same(self, both, way):
        """Errors of callbacks are counted as Scrapy does, and the crawl ends with the same reason
        and signals.
        """
        ours, plain = both(way)

        assert ours[""] == plain[""]
        assert [event[0] for event in ours[""]] == ["closed", "stats", "stopped"]
        assert ours[""][0] == ["closed", "finished"]
        assert ours[""][1][1]["spider_exceptions/ValueError"] > 1

    @pytest.mark.parametrize("way", EVERY_WAY)
    def test_every_request_is_booked(self, both, crawled, closed_port, way):
        """However a request ended, nothing of it is left queued or in flight, and its download is
        counted.
        """
        both(way)
        _, run = crawled(
            "ours", "each", settings=WAYS[way], scenes=",".join(NAMES), closed_port=closed_port
        )

        assert (run.stats["queued"], run.stats["in_flight"], run.stats["reason"]) == (
            0,
            0,
            "finished",
        )
        assert run.stats["status/404"] == 1


class TestPages:
    @pytest.mark.parametrize("at_once", [1, *in_campaign(8)])
    @pytest.mark.parametrize("spider", ["paging", *in_campaign("paging late"), "paging together"])
    def test_the_short_way_is_as_with_plain_scrapy(self, crawled, spider, at_once):
        """A spider that makes pages, with no middleware, sees and causes what it does with plain
        Scrapy.
        """
        settings = {**PIPELINES, "CONCURRENT_ITEMS": at_once}
        ours, plain = (
            crawled(kind, spider, settings=settings, scenes=",".join(PAGES))[0]
            for kind in ("ours", "plain")
        )
        if at_once > 1:  # an item in the pipelines and the request beside it: either may be first
            ours, plain = (
                found | {"link": sorted(found["link"], key=itemgetter(0))}
                for found in (ours, plain)
            )

        assert ours == plain
        assert {
            scene: [event[0] for event in ours[scene] if event[0] not in UNDER_WAY]
            for scene in PAGES
        } == PAGES

    def test_whoever_overrides_parse_gets_each_page_there(self, crawled):
        """A subclass with a `parse` of its own is asked page by page, whatever `parse_all` it
        inherits.
        """
        settings = {**PIPELINES, "CONCURRENT_ITEMS": 1}
        ours, plain = (
            crawled(kind, "paging alone", settings=settings, scenes="list,link")[0]
            for kind in ("ours", "plain")
        )

        assert ours == plain
        assert ["alone"] in ours["list"]

    @pytest.mark.parametrize("spider", ["paging badly", "paging short"])
    def test_an_error_of_a_batch_is_each_pages(self, crawled, spider):
        """A `parse_all` that raises, or forgets a page, is the error of every page it got; the
        crawl goes on.
        """
        heard, run = crawled("ours", spider, settings=PIPELINES, scenes=",".join(PAGES))

        assert [
            [event[0] for event in heard[scene] if event[0] not in UNDER_WAY] for scene in PAGES
        ] == [["error"]] * 8
        assert (run.stats["queued"], run.stats["in_flight"], run.stats["reason"]) == (
            0,
            0,
            "finished",
        )


class TestErrors:
    @pytest.mark.parametrize(
        ("scenes", "many"),
        [("refused and unheard,ignored and unheard,missing", 0), ("broken and unheard", 1)],
    )
    def test_only_mistakes_are_unexpected(self, crawled, closed_port, scenes, many):
        """A download that fails is no unexpected error though no errback hears of it; a
        middleware's mistake is one.
        """
        _, run = crawled("ours", "each", settings=DOWNLOADS, scenes=scenes, closed_port=closed_port)

        assert run.stats["errors"] == many
        assert (run.jobdir / "logs/errors.log").exists() == bool(many)

    @pytest.mark.parametrize("items", [1, 8])
    def test_a_panic_is_an_error_of_its_page(self, crawled, closed_port, items):
        """What is raised and is no Exception, or cancels the page's own task, is one more error;
        the crawl ends, with status 1 because its pipeline cannot close.
        """
        settings = {
            "ITEM_PIPELINES": {f"{SPIDERS}.PanickingItems": 300},
            "DOWNLOADER_MIDDLEWARES": {f"{SPIDERS}.PanickingDownloads": 950},
            "CONCURRENT_ITEMS": items,
        }

        heard, run = crawled(
            "ours", "panicking", settings=settings, status=1, closed_port=closed_port
        )

        assert heard["failed"] == [["download"]]
        assert sorted(heard["read on"]) == [["cancelled_pipeline"], ["late_pipeline"], ["pipeline"]]
        assert run.stats["errors"] == 9
        assert (run.stats["queued"], run.stats["in_flight"], run.stats["reason"]) == (
            0,
            0,
            "finished",
        )

    def test_a_panic_of_start(self, tmp_path, here, closed_port):
        """The crawl ends, with status 1 and the reason that Scrapy has for any error of `start`."""
        run = Crawl(
            tmp_path / "job", {"here": here, "closed_port": closed_port}, COMMON, "start panicking"
        )

        assert (run.run(), run.stats["reason"]) == (1, "start_error")


class TestSignals:
    @pytest.fixture(name="heard", params=["ours", "plain"])
    def _heard(self, request, crawled):
        return crawled(request.param, "listening", settings={"CONCURRENT_ITEMS": 1})[0]

    def test_listeners_come_and_go(self, heard):
        """A listener hears what is sent while it is connected, and nothing before or after."""
        assert heard["listeners"] == [
            *(["late", number] for number in (2, 3)),
            *(["any sender", number] for number in (4, 5)),
            ["any signal", "item_scraped"],
            ["any signal", "request_scheduled"],
            ["any signal", "response_received"],
            ["one sender", True],
        ]

    def test_a_pause_holds_the_next_request_back(self, heard):
        """While the engine is paused nothing is asked for; afterwards the crawl goes on."""
        pages = [
            event[0] for event in heard["page"] if event[0] not in ("reached", "downloaded", "left")
        ]
        paused = pages.index("paused")

        assert pages[paused : paused + 5] == ["paused", "item", "scheduled", "unpaused", "received"]
        assert pages.count("item") == 13

    def test_an_idle_spider_may_stay(self, heard):
        """DontCloseSpider keeps an idle spider open for what was asked for meanwhile; CloseSpider
        gives a reason.
        """
        assert heard["idle"] == [[1], [2]]
        assert heard[""][0] == ["closed", "nothing more"]


class TestEnds:
    @pytest.mark.parametrize("kind", ["ours", *in_campaign("plain")])
    @pytest.mark.parametrize(
        ("how", "settings", "reason"),
        [
            ("raises", {}, "enough"),
            ("", {"CLOSESPIDER_ITEMCOUNT": 3}, "closespider_itemcount"),
            ("", {"CLOSESPIDER_PAGECOUNT": 3}, "closespider_pagecount"),
            ("errors", {"CLOSESPIDER_ERRORCOUNT": 3}, "closespider_errorcount"),
            ("", {"CLOSESPIDER_TIMEOUT": 0.2}, "closespider_timeout"),
        ],
    )
    def test_the_crawl_ends_for_this_reason(self, crawled, kind, how, settings, reason):
        """A crawl without end is ended by CloseSpider in a callback and by each of Scrapy's limits."""
        heard, run = crawled(kind, "ending", settings=settings, how=how)

        assert heard[""][0] == ["closed", reason]
        assert heard[""][-1] == ["stopped"]
        assert kind == "plain" or run.stats["in_flight"] == 0

    def test_the_last_line_says_whether_anything_is_left(self, crawled):
        """A crawl that CloseSpider ends is said to be resumed by the same command, unless its last
        request is done; stats.json says the same.
        """
        _, endless = crawled("ours", "ending", how="raises")
        _, done = crawled("ours", "listening", settings={"CONCURRENT_ITEMS": 1})

        by_code = "stopped by code of the project, with the reason"
        assert f"{by_code} 'enough': run the same command to resume" in endless.output.read_text()
        assert f"{by_code} 'nothing more', with nothing left to do" in done.output.read_text()
        assert (endless.stats["work_left"], done.stats["work_left"]) == (True, False)
