"""What the add-on makes of a project's settings."""

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl import settings
from webcrawl.adapter import addon
from webcrawl.adapter.addon import WebcrawlAddon
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.base.errors import CannotStart


class Shop(Spider):
    name = "shop"


@pytest.fixture(name="updated")
def _updated(tmp_path, monkeypatch):
    """The settings of a spider's crawler after the add-on."""
    monkeypatch.chdir(tmp_path)

    def update(project=None, kind=Shop, **arguments):
        crawler = Crawler(kind, {"ROBOTSTXT_OBEY": True} | (project or {}))
        crawler.spider = kind.from_crawler(crawler, **arguments)
        WebcrawlAddon.from_crawler(crawler).update_settings(crawler.settings)
        return crawler.settings

    return update


class TestSettings:
    def test_the_project_has_the_last_word(self, updated):
        """What the project sets stays; what it does not set is webcrawl's."""
        found = updated(
            {"POLITENESS_FACTOR": 3, "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager"}
        )

        assert found["POLITENESS_FACTOR"] == 3
        assert found["ITEM_PROCESSOR"] == "scrapy.pipelines.ItemPipelineManager"
        assert found["SCHEDULER"] == settings.SCHEDULER
        assert found["CHECKPOINT_INTERVAL"] == settings.CHECKPOINT_INTERVAL

    def test_a_host_that_is_away_is_given_up_in_minutes(self, updated):
        """A spider's errbacks are called soon, unless its project says how long hosts are waited
        for.
        """
        assert (updated()["HOST_RETRY_WAIT"], updated()["HOST_PATIENCE"]) == (5, 120)
        assert updated({"HOST_PATIENCE": 3600})["HOST_PATIENCE"] == 3600
        assert (
            updated(kind=WebSpider, seeds="http://a.test/")["HOST_PATIENCE"]
            == settings.HOST_PATIENCE
        )

    def test_components_are_added(self, updated):
        """The project's own extensions, pipelines and middlewares stay beside the crawl's, which it
        can switch off.
        """
        mine = {"tests.adapter.test_addon.Shop": 300}
        found = updated(
            {
                "EXTENSIONS": mine | {"webcrawl.adapter.extensions.progress.Progress": None},
                "ITEM_PIPELINES": mine,
            }
        )

        extensions = found.getwithbase("EXTENSIONS")
        assert extensions["tests.adapter.test_addon.Shop"] == 300
        assert extensions["webcrawl.adapter.extensions.progress.Progress"] is None
        assert extensions["webcrawl.adapter.extensions.checkpoints.Checkpoints"] == 100
        assert extensions["scrapy.extensions.corestats.CoreStats"] == 0
        assert found.getwithbase("ITEM_PIPELINES").keys() >= {
            *mine,
            "webcrawl.adapter.pipelines.outputs.WarcPipeline",
        }
        assert (
            found.getwithbase("DOWNLOADER_MIDDLEWARES")[
                "scrapy.downloadermiddlewares.retry.RetryMiddleware"
            ]
            is None
        )

    @pytest.mark.parametrize(
        "name", ["COOKIES_ENABLED", "LOG_LEVEL", "LOG_FORMATTER", "USER_AGENT", "DOWNLOAD_TIMEOUT"]
    )
    def test_an_ordinary_spider_keeps_scrapys_defaults(self, updated, name):
        """Scrapy's settings that the crawl does not need are left alone."""
        assert updated()[name] == Crawler(Shop).settings[name]

    def test_what_an_ordinary_spider_asks_for_is_not_filtered(self, updated):
        """The filters against traps are for links of pages; a spider gets whole answers, slow ones
        too.

        `web` has its own limits.
        """
        ordinary, web = updated(), updated({"JOBDIR": "web"}, WebSpider)

        assert (ordinary["TRAP_RULES"], ordinary["URL_EXCLUDE_EXTENSIONS"]) == (False, [])
        assert ordinary["URL_MAX_DEPTH"] > 10**6
        assert ordinary["DOWNLOAD_TRUNCATE"] > 10**9
        assert ordinary["DOWNLOAD_MIN_RATE"] == 0
        assert {name: web[name] for name in addon.EXACTLY_AS_REQUESTED} == {
            name: getattr(settings, name) for name in addon.EXACTLY_AS_REQUESTED
        }
        assert web["COOKIES_ENABLED"] is False

    def test_the_jobdir(self, updated):
        """It is named after the spider, for a job of scrapyd after the job too, unless the project
        names one.
        """
        assert updated()["JOBDIR"] == "crawls/shop"
        assert updated(_job="42")["JOBDIR"] == "crawls/shop-42"
        assert updated({"JOBDIR": "mine"})["JOBDIR"] == "mine"


class TestRefused:
    @pytest.mark.parametrize(
        ("project", "line"),
        [
            (
                {"SCHEDULER": "scrapy.core.scheduler.Scheduler"},
                "^SCHEDULER = .*: webcrawl needs its own; remove this setting, or the add-on",
            ),
            (
                {"DOWNLOADER": "scrapy.core.downloader.Downloader"},
                "^DOWNLOADER = .*: webcrawl needs its own",
            ),
            ({"TWISTED_REACTOR_ENABLED": False}, "^TWISTED_REACTOR_ENABLED = False: "),
            (
                {"TWISTED_REACTOR": None},
                "^TWISTED_REACTOR = None: webcrawl needs Scrapy's default reactor, ",
            ),
            (
                {
                    "DOWNLOAD_HANDLERS": {
                        "https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
                    }
                },
                r"^DOWNLOAD_HANDLERS: .*HTTP11DownloadHandler \(https\) connects without the address guard",
            ),
            ({"FRONTIER_LEVELS": "eight"}, "^FRONTIER_LEVELS = 'eight': must be"),
        ],
    )
    def test_what_cannot_be_had_together(self, updated, project, line):
        """Each is refused in one line that names the setting."""
        with pytest.raises(CannotStart, match=line):
            updated(project)


class TestCommands:
    """Only a spider that crawls gets the crawl."""

    def test_a_crawler_without_a_spider(self):
        """`shell` has none: the add-on switches itself off."""
        with pytest.raises(NotConfigured):
            WebcrawlAddon.from_crawler(Crawler(Shop))

    @pytest.mark.parametrize("command", ["fetch", "parse", "check", "bench"])
    def test_a_spider_of_a_command(self, command):
        """The commands that replace a spider's `start` are left alone."""

        async def start(self):
            yield

        start.__module__ = f"scrapy.commands.{command}"
        crawler = Crawler(type("Replaced", (Shop,), {"start": start}))
        crawler.spider = crawler.spidercls.from_crawler(crawler)

        with pytest.raises(NotConfigured):
            WebcrawlAddon.from_crawler(crawler)


class TestEventLoop:
    @pytest.mark.parametrize(("installed", "loop"), [(False, "uvloop.Loop"), (True, None)])
    def test_it_is_chosen_before_there_is_one(self, monkeypatch, installed, loop):
        """It is uvloop, but a program that runs in a loop of its own keeps that."""
        monkeypatch.setattr(addon, "is_reactor_installed", lambda: installed)
        found = Crawler(Shop).settings
        WebcrawlAddon.update_pre_crawler_settings(found)

        assert found["ASYNCIO_EVENT_LOOP"] == loop
