"""Scrapy's settings: what they are taken as, which have no effect, and names that are nearly known."""

import pytest

from webcrawl.crawl.checks import SettingError, check
from webcrawl.crawl.checks.scrapys import (
    PAGES,
    REQUESTS,
    TAKEN,
    UNHEARD,
    mistyped,
    overruled,
    unheard,
)

KNOWN = {"URL_MAX_DEPTH", "POLITENESS_FACTOR", "DOWNLOAD_DELAY", "MAIL_HOST", "USER_AGENT"}


def checked(settings):
    """The values with these settings given by the user."""
    return check(settings, settings.__contains__)


class TestTaken:
    @pytest.mark.parametrize(
        ("settings", "values"),
        [
            ({"DOWNLOAD_DELAY": 2.5}, {"POLITENESS_MIN_DELAY": 2.5, "POLITENESS_MAX_DELAY": 300.0}),
            (
                {"DOWNLOAD_DELAY": "600"},
                {"POLITENESS_MIN_DELAY": 600.0, "POLITENESS_MAX_DELAY": 600.0},
            ),
            ({"DOWNLOAD_DELAY": 0}, {"POLITENESS_MIN_DELAY": 0.0}),
            ({"CONCURRENT_REQUESTS_PER_IP": 1}, {"POLITENESS_PER_IP": True}),
            ({"CONCURRENT_REQUESTS_PER_IP": 0}, {"POLITENESS_PER_IP": False}),
            ({"DEPTH_LIMIT": 3}, {"URL_MAX_DEPTH": 3}),
            ({"DEPTH_LIMIT": 0}, {"URL_MAX_DEPTH": 50}),
            ({"URLLENGTH_LIMIT": 500}, {"URL_MAX_LENGTH": 500}),
            ({"URLLENGTH_LIMIT": 0}, {"URL_MAX_LENGTH": 65_536}),
            ({"DOWNLOAD_MAXSIZE": 10**7}, {"DOWNLOAD_TRUNCATE": 10**7}),
            ({"DOWNLOAD_MAXSIZE": 0}, {"DOWNLOAD_TRUNCATE": 2 * 1024 * 1024}),
            ({"REDIRECT_MAX_TIMES": 7}, {"REDIRECT_MAX_HOPS": 7}),
            ({"REDIRECT_ENABLED": "False"}, {"REDIRECT_MAX_HOPS": 0}),
            ({"REDIRECT_ENABLED": True}, {"REDIRECT_MAX_HOPS": 5}),
            ({"DEPTH_LIMIT": None}, {"URL_MAX_DEPTH": 50}),
            ({"RETRY_HTTP_CODES": "500, 403"}, {"RETRY_HTTP_CODES": (403, 500)}),
        ],
    )
    def test_what_stands_for_what(self, settings, values):
        """A setting of Scrapy's that the user has set counts as ours of the same meaning."""
        found = checked(settings)

        assert {name: found[name] for name in values} == values

    @pytest.mark.parametrize("one", TAKEN, ids=lambda one: one.theirs)
    def test_ours_comes_first(self, one):
        """A setting of ours that was set too decides, and a line says so."""
        given = {one.theirs, one.ours}.__contains__

        ours = {"DOWNLOAD_TRUNCATE": 2048, "URL_MAX_LENGTH": 2048}.get(one.ours, 1)

        assert check({one.theirs: 0, one.ours: ours}, given)[one.ours] == ours
        assert f"{one.theirs}: no effect, {one.ours} is set" in list(overruled(given))

    def test_scrapys_defaults_say_nothing(self):
        """What the user has not set is not taken, whatever Scrapy's default is."""
        values = check({"DOWNLOAD_DELAY": 0, "REDIRECT_MAX_TIMES": 20, "RETRY_HTTP_CODES": [500]})

        assert (
            values["POLITENESS_MIN_DELAY"],
            values["REDIRECT_MAX_HOPS"],
            values["RETRY_HTTP_CODES"],
        ) == (
            1.0,
            5,
            None,
        )

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("DOWNLOAD_DELAY", -1),
            ("DEPTH_LIMIT", "deep"),
            ("ADDONS", {"nowhere.Addon": 1}),
            ("DNS_RESOLVER", "nowhere.Resolver"),
            ("LOG_STDOUT", "perhaps"),
            ("REACTOR_THREADPOOL_MAXSIZE", "many"),
            ("DOWNLOAD_BIND_ADDRESS", "192.0.2.1"),
            ("DOWNLOAD_BIND_ADDRESS", "eth0"),
            ("DOWNLOAD_TLS_MIN_VERSION", "SSLv3"),
            ("DOWNLOADER_CLIENT_TLS_CIPHERS", "none-such"),
            ("RETRY_TIMES", -1),
            ("RETRY_HTTP_CODES", [5000]),
            ("SPIDER_MIDDLEWARES", {"scrapy.spidermiddlewares.depth.Nowhere": 900}),
            ("STATS_CLASS", "nowhere.Stats"),
            ("TWISTED_DNS_RESOLVER", "nowhere.Resolver"),
            ("TWISTED_REACTOR", "twisted.internet.pollreactor.PollReactor"),
        ],
    )
    def test_impossible_values(self, name, value):
        """A line names the setting that the user wrote, not ours that it stands for."""
        with pytest.raises(SettingError, match=rf"^{name} = [^\n]*: must be [^\n]*$"):
            checked({name: value})


class TestUnheard:
    def test_names_of_one_reason_share_a_line(self):
        """Settings without effect are named with the reason, those of one reason in one line."""
        given = {"SCHEDULER_DISK_QUEUE": "x", "SCHEDULER_MEMORY_QUEUE": "y", "DOWNLOAD_DELAY": 1}

        assert list(unheard(given, set())) == [
            "SCHEDULER_DISK_QUEUE, SCHEDULER_MEMORY_QUEUE: no effect, the frontier keeps its own queues"
        ]

    @pytest.mark.parametrize(
        ("name", "fine", "warned"),
        [
            ("CONCURRENT_REQUESTS_PER_DOMAIN", "1", 8),
            ("AUTOTHROTTLE_ENABLED", False, "True"),
            ("COMPRESSION_ENABLED", "true", False),
            ("RANDOMIZE_DOWNLOAD_DELAY", 0, True),
        ],
    )
    def test_what_happens_anyway_needs_no_line(self, name, fine, warned):
        """A value that asks for what happens anyway is not warned of."""
        assert [len(list(unheard({name: value}, set()))) for value in (fine, warned)] == [0, 1]

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            (
                "CONCURRENT_REQUESTS_PER_DOMAIN",
                "a host gets one request at a time, unless HOST_CONNECTIONS names it",
            ),
            ("AUTOTHROTTLE_ENABLED", "POLITENESS_POLICY decides how long a host is left alone"),
            ("RANDOMIZE_DOWNLOAD_DELAY", "no wait is random: see POLITENESS_POLICY"),
            (
                "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING",
                "the archive records TLS versions and cipher suites, if OUTPUTS has warc",
            ),
        ],
    )
    def test_the_reason_holds_whatever_else_is_set(self, name, why):
        """It says nothing of HOST_CONNECTIONS, POLITENESS_POLICY and OUTPUTS that is true only of
        their defaults.
        """
        others = {"HOST_CONNECTIONS": "a.test=8", "POLITENESS_POLICY": "x.Fixed", "OUTPUTS": "text"}

        assert [*unheard({**others, name: "8"}, set())] == [f"{name}: no effect, {why}"]

    @pytest.mark.parametrize(
        ("name", "reader"),
        [
            ("HTTPCACHE_ENABLED", "HttpCacheMiddleware"),
            ("LINK_SOURCES", PAGES),
            ("DOWNLOAD_WARNSIZE", REQUESTS),
        ],
    )
    def test_a_component_that_reads_it(self, name, reader):
        """A setting of a component is warned of only where that component is not enabled."""
        assert [len(list(unheard({name: "1"}, readers))) for readers in (set(), {reader})] == [1, 0]

    def test_no_name_twice(self):
        """Every setting is in one row only, and none is both taken and without effect."""
        names = [name for row in UNHEARD for name in row.names.split()]

        assert len(names) == len(set(names))
        assert not set(names) & {one.theirs for one in TAKEN}


class TestMistyped:
    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("URL_MAX_DEPHT", "URL_MAX_DEPTH"),
            ("POLITNESS_FACTOR", "POLITENESS_FACTOR"),
            ("DOWNLOAD_DELAYS", "DOWNLOAD_DELAY"),
        ],
    )
    def test_nearly_known(self, name, meant):
        """A name that is nearly known is named, with the one that was probably meant."""
        assert mistyped([name], KNOWN) == {name: meant}

    @pytest.mark.parametrize(
        "name", ["MYSQL_HOST", "SPIDERMON_ENABLED", "SCRAPEOPS_API_KEY", "MY_DELAY", "USER_AGENT"]
    )
    def test_others_are_left_alone(self, name):
        """Known names, and those of other libraries, are not warned of."""
        assert mistyped([name], KNOWN) == {}
