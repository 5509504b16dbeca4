"""What the user has set, and the warnings at the start."""

import pytest
from scrapy import Request, Spider, signals
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tests.support.crawling import Crawl
from tests.support.plain_site import serving
from webcrawl import settings as defaults
from webcrawl.adapter.request_meta import NO_EFFECT, MetaWarnings
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import is_given, setting_warnings
from webcrawl.adapter.values import plain_values


class Own(Spider):
    name = "own"


# a spider whose package has nothing to do with tests
PLAIN = type("Plain", (Own,), {"__module__": "elsewhere"})


class Reads:
    """A component of the user's."""

    def __init__(self, settings):
        self.server = settings["MY_SERVER"], settings["MY_COMPONENTS"]


def settings(project=(), **cmdline):
    """Ours as the project's module, then these."""
    made = Settings()
    made.setmodule(defaults, priority="project")
    made.setdict(dict(project), priority="project")
    made.setdict(cmdline, priority="cmdline")
    return made


class TestGiven:
    def test_this_packages_own_module_gives_nothing(self):
        """Neither Scrapy's defaults nor this package's settings.py count as set by the user."""
        made = settings()

        assert [name for name in made if is_given(made, name)] == []

    @pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
    def test_who_gives(self, priority):
        """The project, the spider and the command line do."""
        made = settings()
        made.set("DEPTH_LIMIT", 0, priority=priority)

        assert is_given(made, "DEPTH_LIMIT")

    @pytest.mark.parametrize("priority", ["default", "command", "addon"])
    def test_who_does_not(self, priority):
        """Commands and add-ons set defaults of their own."""
        made = settings()
        made.set("DEPTH_LIMIT", 5, priority=priority)

        assert not is_given(made, "DEPTH_LIMIT")

    def test_values_follow(self):
        """What the user has set by Scrapy's name reaches the crawl's values."""
        assert plain_values(settings(DOWNLOAD_DELAY="7"), "web")["POLITENESS_MIN_DELAY"] == 7


class TestWarnings:
    def test_nothing_set_nothing_said(self):
        """A crawl as it comes warns of nothing, whichever spider it is."""
        web = settings()
        WebSpider.update_settings(web)

        assert (
            list(setting_warnings(settings(), Own()))
            == list(setting_warnings(web, WebSpider("x")))
            == []
        )

    def test_it_depends_on_the_spider(self):
        """What a middleware reads is warned of for `web`, which has none, and what `web` reads for
        other spiders.
        """
        given = {"HTTPERROR_ALLOW_ALL": True, "LINK_SOURCES": "all"}
        web = settings(**given)
        WebSpider.update_settings(web)

        assert list(setting_warnings(settings(**given), Own())) == [
            "LINK_SOURCES: no effect, this spider makes its requests itself"
        ]
        assert list(setting_warnings(web, WebSpider("x"))) == [
            "HTTPERROR_ALLOW_ALL: no effect, pages of any status are kept"
        ]

    @pytest.mark.parametrize(("given", "told"), [({}, 1), ({"POLITENESS_FACTOR": 0}, 0)])
    def test_what_a_download_delay_means_here(self, given, told):
        """Beside Scrapy's delay the factor counts: who sets only the delay is told."""
        said = list(setting_warnings(settings(DOWNLOAD_DELAY=2, **given), Own()))

        assert (
            len([line for line in said if line.startswith("DOWNLOAD_DELAY is the shortest wait")])
            == told
        )

    def test_a_drone_of_no_hive(self):
        """Without HIVE_DRONES, which each drone needs, the other settings of a hive do nothing."""
        line = (
            "HIVE_DRONE, HIVE_NAME: no effect, without HIVE_DRONES this crawl is no part of a hive"
        )
        given = {"HIVE_DRONE": "1", "HIVE_NAME": "big"}

        assert list(setting_warnings(settings(**given), Own())) == [line]
        assert list(setting_warnings(settings(**given, HIVE_DRONES="2"), Own())) == []

    def test_a_variable_whose_name_is_mistyped(self, monkeypatch):
        """It is named with the variable that is meant; other variables are not the crawl's."""
        monkeypatch.setenv("WEBCRAWL_POLITNESS_FACTOR", "30")
        monkeypatch.setenv("WEBCRAWL_SERVICE_HOST", "10.0.0.1")

        assert list(setting_warnings(settings(), Own())) == [
            "WEBCRAWL_POLITNESS_FACTOR: unknown setting; did you mean WEBCRAWL_POLITENESS_FACTOR?"
        ]

    def test_attributes_that_only_scrapys_handlers_read(self):
        """A spider's attribute without effect is named like a setting."""

        class Old(Own):
            download_maxsize = 5

        assert list(setting_warnings(settings(), Old())) == [
            "own.download_maxsize: no effect; set DOWNLOAD_MAXSIZE in custom_settings instead"
        ]

    @pytest.mark.parametrize("name", ["bytes_received", "headers_received"])
    def test_a_signal_that_is_never_sent(self, name):
        """A listener that would stop downloads is told that it hears nothing, unless Scrapy's
        handlers are in use.
        """
        spider = Own.from_crawler(get_crawler(Own))
        spider.crawler.signals.connect(spider.parse, getattr(signals, name))

        (said,) = setting_warnings(settings(), spider)

        assert said.startswith(f"signal {name}: is never sent here, ")
        assert (
            list(setting_warnings(settings(FOREIGN_HANDLERS_ALLOWED=["a.Handler"]), spider)) == []
        )

    def test_at_the_start_of_a_crawl(self, tmp_path):
        """The log of a crawl has the warnings once."""
        with serving() as address:
            (tmp_path / "seeds.txt").write_text(address)
            given = {
                "LOG_FORMAT": "[%(name)s] %(levelname)s: %(message)s",
                "URL_MAX_DEPHT": 3,
                "COOKIES_ENABLED": True,
                "SPIDERMON_ENABLED": True,
            }
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, given)
            assert crawl.run() == 0

        said = [
            line
            for line in crawl.output.read_text().splitlines()
            if "adapter.scheduler] WARNING" in line
        ]
        assert [line.partition("WARNING: ")[2] for line in said] == [
            "COOKIES_ENABLED: no effect, CookiesMiddleware is not enabled",
            "URL_MAX_DEPHT: unknown setting; did you mean URL_MAX_DEPTH?",
            "SPIDERMON_ENABLED: no effect, because no code here reads a setting of this name",
        ]


class TestUnread:
    """Names on the command line that no table has."""

    def test_in_one_line(self):
        """Those that nothing reads are in one line, in whatever case, with what does it here if a
        wish is known.
        """
        (said,) = setting_warnings(
            settings(FOOBAR=1, MAX_PAGES=5, http_proxy="http://a.test:1"), PLAIN()
        )

        assert said.startswith(
            "FOOBAR, MAX_PAGES, http_proxy: no effect, because no code here reads a setting of this name; for "
        )
        assert (
            "for MAX_PAGES: CLOSESPIDER_PAGECOUNT ends the crawl, HOST_MAX_PAGES limits each host"
            in said
        )
        assert "for http_proxy: set proxies in the environment: http_proxy=" in said

    def test_of_the_browser(self):
        """RENDER has the library that reads them loaded, and no setting of the user's names it."""
        pytest.importorskip("scrapy_playwright.handler", reason="scrapy-playwright is missing")

        given = settings(RENDER="all", PLAYWRIGHT_MAX_CONTEXTS=2)
        assert list(setting_warnings(given, PLAIN())) == []

    def test_in_the_project(self):
        """What only the project's settings say is not looked at: they are its own."""
        assert list(setting_warnings(settings({"FOOBAR": 1}), PLAIN())) == []

    @pytest.mark.parametrize("by", [f"{__name__}.Reads", Reads, {f"{__name__}.Reads": 300}])
    def test_code_of_ones_own(self, by):
        """A name that stands in the loaded code of a component that the settings name is read
        there.
        """
        given = settings(MY_SERVER="a.test", MY_COMPONENTS=by)

        assert list(setting_warnings(given, PLAIN())) == []

    def test_nobodys_code(self):
        """Without that component the same name is read by nobody."""
        assert len(list(setting_warnings(settings(MY_SERVER="a.test"), PLAIN()))) == 1


class TestMeta:
    @pytest.fixture(name="said")
    def _said(self, caplog):
        def said(meta, **given):
            check = MetaWarnings(get_crawler(settings_dict=given).settings)
            for _ in range(2):
                check.check(
                    Request(
                        "http://a.test/", meta=meta, cookies={"a": "1"} if "jar" in meta else None
                    )
                )
            return [record.getMessage() for record in caplog.records]

        return said

    @pytest.mark.parametrize("key", NO_EFFECT)
    def test_a_key_without_effect_is_named_once(self, said, key):
        """Each key is warned of when a request has it where nothing reads it, once for all
        requests.
        """
        bare = {"DOWNLOADER_MIDDLEWARES_BASE": {}, "SPIDER_MIDDLEWARES_BASE": {}}

        assert said({key: 1}, **bare) == [
            f"meta {key}: no effect, {NO_EFFECT[key][0]} (http://a.test/)"
        ]

    @pytest.mark.parametrize("key", [key for key, (_, reader) in NO_EFFECT.items() if reader])
    def test_a_key_that_is_read(self, said, key):
        """With Scrapy's middlewares, the keys that they read are not warned of."""
        assert said({key: 1}) == []

    @pytest.mark.parametrize(
        ("given", "why"),
        [
            ({"COOKIES_ENABLED": False}, "COOKIES_ENABLED is off"),
            ({"DOWNLOADER_MIDDLEWARES_BASE": {}}, "CookiesMiddleware is not enabled"),
        ],
    )
    def test_cookies_that_are_not_sent(self, said, given, why):
        """A request's cookies and its jar are warned of if no middleware sends them; the reason is
        the one there is.
        """
        assert said({"jar": 1, "cookiejar": 1}, **given) == [
            f"meta cookiejar: no effect, {why} (http://a.test/)",
            f"cookies of a request: no effect, {why} (http://a.test/)",
        ]
