"""Settings: which values are accepted, what they become, and which are rejected."""

import os
import re
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.commands import command
from webcrawl import settings as defaults
from webcrawl.base.settings import DEFAULTS, SECTIONS, SETTINGS
from webcrawl.base.settings.scrapy_settings import PLUMBING
from webcrawl.content.html.link_kinds import ALL as LINKS
from webcrawl.crawl.checks import SettingError, check
from webcrawl.crawl.checks.check import KINDS, NAMED, SCRAPYS
from webcrawl.net.http_request import host_port

REVISIT = "webcrawl.crawl.revisit"
FILTER = "webcrawl.urls.filters.url_parts.LengthFilter"
NAMES = [name for name in vars(defaults) if name.isupper()]

ACCEPTED = [
    ("FRONTIER_LEVELS", "8", 8),
    ("FRONTIER_LEVELS", " +8 ", 8),
    ("FRONTIER_LEVELS", 8.0, 8),
    ("SEEN_MEMORY", "1e3", 1000),
    ("POLITENESS_FACTOR", "0", 0.0),
    ("POLITENESS_MIN_DELAY", ".5", 0.5),
    ("CHECKPOINT_INTERVAL", 1, 1.0),
    ("TRAP_RULES", "off", False),
    ("TRAP_RULES", "Yes", True),
    ("TRAP_RULES", 0, False),
    ("TRAP_RULES", True, True),
    ("CONTENT_SEEN", " Process ", "process"),
    ("LINK_SOURCES", "a,img  a", ("a", "img")),
    *[("SITEMAPS", value, None) for value in (None, "none", "None ")],
    *[("REVISIT_POLICY", value, "none") for value in (None, "none", "None")],
    *[("REVISIT_POLICY", value, f"{REVISIT}.policies.Fixed") for value in ("fixed", " Fixed")],
    ("REVISIT_POLICY", f"{REVISIT}.policies.Uniform", f"{REVISIT}.policies.Uniform"),
    *[("REVISIT_SHARE", value, 0.25) for value in (0.25, "0.25", ".25")],
    ("REVISIT_RATE", "0", 0.0),
    *[("FEED_LINKS", value, True) for value in (True, "on", 1)],
    ("FEED_LINKS", "off", False),
    ("LINK_SOURCES", ["a", "img"], ("a", "img")),
    ("LINK_SOURCES", "all", LINKS),
    ("FOCUS_LANGUAGES", "SL, hr", ("hr", "sl")),
    ("FOCUS_LANGUAGES", "none", ()),
    ("METRICS_PORT", "9180", ("127.0.0.1", 9180)),
    ("METRICS_PORT", "10.0.0.1:9180", ("10.0.0.1", 9180)),
    ("METRICS_PORT", "0.0.0.0:0", ("0.0.0.0", 0)),  # noqa: S104 - in a container
    ("METRICS_PORT", "[::1]:9180", ("::1", 9180)),
    ("METRICS_PORT", None, None),
    ("URL_SCHEMES", "HTTP, https", ("http", "https")),
    ("ERROR_BREAKER", "5/10", (5, 10)),
    ("URL_EXCLUDE_FILE", "", None),
    ("URL_EXCLUDE_FILE", "none", None),
    ("URL_EXCLUDE_FILE", __file__, __file__),
    ("HOSTS_FILE", Path(__file__), __file__),
    ("DNS_NAMESERVERS", "127.0.0.1:5353,[::1]:54", (("127.0.0.1", 5353), ("::1", 54))),
    (
        "DNS_NAMESERVERS",
        "127.0.0.1 ::1 dns.example",
        (("127.0.0.1", 53), ("::1", 53), ("dns.example", 53)),
    ),
    ("DNS_NAMESERVERS", "", ()),
    (
        "PRIVATE_NETWORKS_ALLOWED",
        "127.0.0.0/8,fd00::/8",
        (ip_network("127.0.0.0/8"), ip_network("fd00::/8")),
    ),
    ("PRIVATE_NETWORKS_ALLOWED", ["10.1.2.3"], (ip_network("10.1.2.3/32"),)),
    ("PRIVATE_NETWORKS_ALLOWED", "none", ()),
    ("PORTS_ALLOWED", "7071, 8000-8099", (range(7071, 7072), range(8000, 8100))),
    ("PORTS_ALLOWED", ["1-65535", 25], (range(1, 65536), range(25, 26))),
    ("PORTS_ALLOWED", "none", ()),
    (
        "URL_FILTERS",
        {"os.path.split": 5, FILTER: None},
        {**defaults.URL_FILTERS, "os.path.split": 5, FILTER: None},
    ),
    (
        "URL_FILTERS",
        f'{{"{FILTER}": 5, "no.such.Filter": null}}',
        {FILTER: 5, "no.such.Filter": None},
    ),
    ("URL_FILTERS", {}, {}),
    ("HOST_CONNECTIONS", {}, {}),
    ("HOST_CONNECTIONS", "none", {}),
    ("HOST_CONNECTIONS", "", {}),
    ("HOST_CONNECTIONS", '{"Example.ORG": 4, "[::1]": "2"}', {"example.org": 4, "[::1]": 2}),
    (
        "HOST_CONNECTIONS",
        "bücher.example=64, [::1]=2 10.1=1",
        {"xn--bcher-kva.example": 64, "[::1]": 2, "10.0.0.1": 1},
    ),
    ("HOST_CONNECTIONS", {"a.org": 4, "A.org": 4}, {"a.org": 4}),
    ("HOST_CONNECTIONS", "a.org.=4, a.org=4", {"a.org": 4}),
    ("FOREIGN_HANDLERS_ALLOWED", FILTER, (FILTER,)),
    ("FOREIGN_HANDLERS_ALLOWED", "none", ()),
    ("URL_FOLDINGS", f"{FILTER},{FILTER}", (FILTER, FILTER)),
    ("URL_INCLUDE", r"/a{1,2} b", (r"/a{1,2} b",)),
    ("URL_INCLUDE", r'["/a,b", "\\d+"]', ("/a,b", r"\d+")),
    ("URL_INCLUDE", "[0-9]", ("[0-9]",)),
    ("URL_INCLUDE", "[\"']", ("[\"']",)),
    ("URL_EXCLUDE", "", ()),
    ("URL_EXCLUDE_EXTENSIONS", ".ZIP, tar.gz", ("zip", "tar.gz")),
    ("JOBDIR", "crawls/of mine", "crawls/of mine"),
    ("JOBDIR", None, None),
    ("USER_AGENT", " me/1.0 (+https://x.test/) ", "me/1.0 (+https://x.test/)"),
    ("LOG_LEVEL", "DEBUG", "DEBUG"),
    ("CLOSESPIDER_TIMEOUT", "0.5", 0.5),
    (
        "SCHEDULER",
        "webcrawl.adapter.scheduler.FrontierScheduler",
        "webcrawl.adapter.scheduler.FrontierScheduler",
    ),
    (
        "ITEM_PIPELINES",
        '{"webcrawl.items.Page": 1.5, "no.such": null}',
        {"webcrawl.items.Page": 1.5, "no.such": None},
    ),
    ("ITEM_PIPELINES", {Path: -1}, {Path: -1}),
]

REFUSED = [
    *[("USER_AGENT", value) for value in ("", " ", "two\nlines", "a\0b", None, 5)],
    *[("LOG_LEVEL", value) for value in ("debug", "ALL", "", 10, None)],
    *[("CLOSESPIDER_PAGECOUNT", value) for value in ("-1", "many", 1.5)],
    *[
        ("SCHEDULER", value)
        for value in ("", "Scheduler", "no.such.Scheduler", "webcrawl.no.Scheduler")
    ],
    *[
        ("ITEM_PIPELINES", value)
        for value in ("{", "[]", 5, {"json.x": "1"}, {"json.x": True}, {"no.such.x": 1}, {5: 1})
    ],
    *[
        ("FRONTIER_LEVELS", value)
        for value in ("eight", "", " ", None, True, "8.5", 8.5, 0, -1, "-1", 1001, "0x8", "1_0")
    ],
    *[
        ("FRONTIER_LEVELS", value)
        for value in ("nan", "inf", "1e999", float("nan"), float("inf"), "٨", [8], "9" * 5000, 8j)
    ],
    *[
        ("HOST_CONNECTIONS", value)
        for value in (
            "a.org",
            "a.org=0",
            "a.org=65",
            "a.org=4=5",
            "=3",
            "{",
            "[1]",
            5,
            None,
            {"a.org": True},
            {5: 5},
        )
    ],
    *[
        ("HOST_CONNECTIONS", value)
        for value in (
            "http://a.org=4",
            "a.org:80=4",
            "*.a.org=4",
            {"a b": 2},
            {"a.org": 4, "A.org": 5},
            "a.org.=4,a.org=5",
            {"a.org": None},
        )
    ],
    *[
        ("POLITENESS_FACTOR", value)
        for value in ("ten", "", None, False, -0.1, "nan", "-inf", float("nan"), "1,5", {})
    ],
    *[("CHECKPOINT_INTERVAL", value) for value in (0, "0", -60, "1m", 1e9)],
    *[("SEEN_MEMORY", value) for value in (0, 15, "256M", "2 GB", 1 << 40)],
    ("BANDWIDTH_MAX", f"{'9' * 400} kB"),
    ("ITEM_PIPELINES", "[" * 200_000),
    ("URL_INCLUDE", "[" * 200_000),
    *[("FRONTIER_MEMORY", value) for value in (0, 7, "-128")],
    *[("DOWNLOAD_TRUNCATE", value) for value in (0, 2, "2 MiB", -1)],
    *[("TRAP_RULES", value) for value in ("", "maybe", 2, None, 1.0, [])],
    *[("CONTENT_SEEN", value) for value in ("", "skipp", None, True, ["skip"])],
    *[("FOCUS_LANGUAGES", value) for value in ("english", "sl-SI", 5)],
    *[
        ("METRICS_PORT", value)
        for value in ("-1", "65536", "host:80", "::1:80", "127.0.0.1:", True, "1.5")
    ],
    *[
        ("LINK_SOURCES", value)
        for value in ("", "a b c", "none", None, ["a", 1], "all a", 5, {"a": 1})
    ],
    *[("SITEMAPS", value) for value in ("maybe", 2, [])],
    *[
        ("REVISIT_POLICY", value)
        for value in ("", "sometimes", 1, "os.path.join", f"{REVISIT}.policies.None")
    ],
    *[("REVISIT_SHARE", value) for value in (0, 1, "nan", None, True)],
    *[("REVISIT_RATE", value) for value in (-1, "much", None)],
    *[("REVISIT_AGE", value) for value in (0, -1, "a day")],
    *[("URL_SCHEMES", value) for value in ("http://", "mailto", "")],
    *[
        ("ERROR_BREAKER", value)
        for value in ("20", "20/0", "0/60", "20/60/1", "-1/60", "a/b", "", 20, None, "20 / 60")
    ],
    *[("URL_EXCLUDE_FILE", value) for value in ("/no/such/file", "/", "a\0b", 5, b"x")],
    *[
        ("DNS_NAMESERVERS", value)
        for value in ("1.2.3", "1.2.3.4:0", "1.2.3.4:99999", "1.2.3.4:dns", "::1:x", "[1.2.3.4]:5")
    ],
    *[
        ("DNS_NAMESERVERS", value)
        for value in (
            ":53",
            "a b:53:54",
            "http://1.2.3.4",
            53,
            None,
            [53],
            "x" * 64,
            "[::1",
            "1.2.3.256",
        )
    ],
    *[
        ("PRIVATE_NETWORKS_ALLOWED", value)
        for value in ("10.0.0.1/8", "10.0.0.0/33", "localhost", "10.*", "yes", True, 10)
    ],
    *[
        ("PORTS_ALLOWED", value)
        for value in ("0", "65536", "9-8", "80-", "-80", "http", "+80", 80, None, True, [True])
    ],
    *[
        ("URL_FILTERS", value)
        for value in (
            "",
            "x",
            "[]",
            None,
            [FILTER],
            {FILTER: "x"},
            {FILTER: True},
            {FILTER: -1},
            {5: 1},
        )
    ],
    *[
        ("URL_FILTERS", value)
        for value in (
            {"no.such.Filter": 1},
            {f"{FILTER}s": None},
            {"nodots": 1},
            {"webcrawl.urls.filters.url_parts.Nope": 1},
        )
    ],
    *[("URL_FOLDINGS", value) for value in ("os.sep", "webcrawl..x", 5)],
    *[
        ("POLITENESS_POLICY", value)
        for value in ("", None, "Mercator", "webcrawl.settings.BOT_NAME", 5, "webcrawl.frontier.")
    ],
    *[
        ("URL_INCLUDE", value)
        for value in ("(", r"(?=x)", r"(.)\1", ["a", "["], None, 5, " ", [5], '["a", ""]')
    ],
    *[
        ("URL_EXCLUDE_EXTENSIONS", value)
        for value in ("*.zip", "a/b", ["zip", 7], 5, None, "tar..gz")
    ],
    *[
        (name, "x" * 5000)
        for name in ("JOBDIR", "HOSTS_FILE", "POLITENESS_POLICY", "ERROR_BREAKER")
    ],
    *[("JOBDIR", value) for value in ("", " ", 5, __file__, f"{__file__}/x", "a\0b")],
]


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.lists(st.text() | st.integers(), max_size=3)
    | st.dictionaries(st.text() | st.integers(), st.none() | st.integers(), max_size=2)
    | st.from_regex(r"[0-9a-f:.,\[\]/]{1,20}", fullmatch=True)
)


class TestValues:
    def test_the_defaults_are_valid(self):
        """Every default passes its own check."""
        assert check({}).items() <= check({name: getattr(defaults, name) for name in NAMES}).items()

    @pytest.mark.parametrize(("name", "written", "value"), ACCEPTED, ids=str)
    def test_what_is_written_becomes_a_plain_value(self, name, written, value):
        """A value may be a Python value or the text of a command line."""
        found = check({name: written})[name]

        assert found == value
        assert type(found) is type(value)

    @pytest.mark.parametrize(("name", "written"), REFUSED, ids=lambda value: repr(value)[:30])
    def test_an_invalid_value_is_an_error_of_one_line(self, name, written):
        """An invalid value raises one line with the setting, the value and what is allowed."""
        with pytest.raises(SettingError) as error:
            check({name: written})

        line = str(error.value)
        assert line.startswith(f"{name} = {' '.join(repr(written).split())[:100]}")
        assert f": must be {(KINDS | SCRAPYS)[name].allowed}" in line
        assert "\n" not in line
        assert len(line) < 500

    @settings(deadline=None)
    @given(st.sampled_from(sorted(KINDS)), ANYTHING)
    def test_nothing_else_comes_of_any_value(self, name, written):
        """Any value is either read, as a value that is accepted again, or raises SettingError."""
        try:
            found = check({name: written})[name]
        except SettingError as error:
            assert name in str(error)  # noqa: PT017 - most values are rejected, some are not
        else:
            assert KINDS[name].read(_written_again(name, found)) == found


def _written_again(name, value):
    """A value from check() as a user may write it; five settings are read into another form."""
    if name == "ERROR_BREAKER":
        return "{}/{}".format(*value)
    if name == "DNS_NAMESERVERS":
        return [host_port(host, port) for host, port in value]
    if name == "PRIVATE_NETWORKS_ALLOWED":
        return [str(network) for network in value]
    if name == "METRICS_PORT":
        return value and host_port(*value)
    if name == "PORTS_ALLOWED":
        return [f"{ports[0]}-{ports[-1]}" for ports in value]
    return value


class TestDetails:
    def test_a_long_value_is_truncated(self):
        """A long value is truncated, so that the line stays readable."""
        with pytest.raises(
            SettingError, match=r"^CONTENT_SEEN = 'x{100,130}\.\.\.: must be one of skip, process$"
        ):
            check({"CONTENT_SEEN": "x" * 10_000})

    @pytest.mark.parametrize(
        ("name", "written", "detail"),
        [
            ("POLITENESS_POLICY", "no.such.Policy", "(no.such.Policy: No module named 'no')"),
            ("PRIVATE_NETWORKS_ALLOWED", "10.0.0.1/8", "(10.0.0.1/8 has host bits set)"),
            ("URL_INCLUDE", "a(", "(missing ): a()"),
            ("URL_EXCLUDE", '["/a/", "/b/",]', "(it looks like a JSON array, but is none)"),
            ("URL_EXCLUDE", "['/a/', '/b/']", "(it looks like a JSON array, but is none)"),
            (
                "JOBDIR",
                "s3://bucket/crawl",
                "(it is a URL: OUTPUT_STORE copies finished files to a bucket)",
            ),
            ("URL_EXCLUDE_FILE", "/no/such", "(there is no such file)"),
            ("HOSTS_FILE", "/dev/null", "(it is not a regular file)"),
            ("PORTS_ALLOWED", "80,9-8", "('9-8' is neither a port nor a range)"),
            ("LINK_SOURCES", "a imgs", "('imgs' is unknown)"),
            ("DNS_NAMESERVERS", "1.2.3.4:0", "('1.2.3.4:0' has a port outside 1 to 65535)"),
        ],
    )
    def test_the_line_says_what_is_wrong_where_it_can(self, name, written, detail):
        """For a list or a path, the line says which part is wrong, or why."""
        with pytest.raises(SettingError, match=f"{re.escape(detail)}$"):
            check({name: written})

    def test_a_module_that_fails_is_an_error(self, tmp_path, monkeypatch):
        """A module that raises while it is imported is reported like one that is missing."""
        (tmp_path / "breaks_down.py").write_text("raise RuntimeError('two\\nlines')")
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(SettingError, match=r"\(breaks_down.Policy: two lines\)$"):
            check({"POLITENESS_POLICY": "breaks_down.Policy"})

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything is readable to root")
    def test_an_unreadable_file_is_an_error(self, tmp_path):
        """A file without read permission is rejected before the crawl needs it."""
        path = tmp_path / "excluded"
        path.touch(0)

        with pytest.raises(SettingError, match=r"\(it cannot be read\)$"):
            check({"URL_EXCLUDE_FILE": str(path)})


class TestRules:
    @pytest.mark.parametrize(
        ("settings", "line"),
        [
            (
                {"POLITENESS_MIN_DELAY": "400"},
                "POLITENESS_MIN_DELAY = 400.0: must be no more than POLITENESS_MAX_DELAY = 300",
            ),
            (
                {"FRONTIER_QUEUES": 50, "FRONTIER_MAX_QUEUES": 40},
                "FRONTIER_QUEUES = 50: must be no more than FRONTIER_MAX_QUEUES = 40",
            ),
            (
                {"CONCURRENT_REQUESTS": 0},
                (
                    "FRONTIER_QUEUES = 0: must be at least 1, because there is no default with "
                    "CONCURRENT_REQUESTS = 0"
                ),
            ),
        ],
    )
    def test_settings_that_contradict_each_other(self, settings, line):
        """Two settings that contradict each other raise one line that names both."""
        with pytest.raises(SettingError, match=f"^{re.escape(line)}$"):
            check(settings)

    @pytest.mark.parametrize(
        "settings",
        [
            {"POLITENESS_MIN_DELAY": 70, "POLITENESS_MAX_DELAY": 70},
            {"FRONTIER_QUEUES": 40, "FRONTIER_MAX_QUEUES": 40},
            {"FRONTIER_MAX_QUEUES": 40},
            {"CONCURRENT_REQUESTS": 0, "FRONTIER_QUEUES": 1},
        ],
    )
    def test_bounds_may_be_met(self, settings):
        """A value may equal the bound that another setting puts on it."""
        assert settings.items() <= check(settings).items()

    @pytest.mark.parametrize(
        ("settings", "queues"),
        [
            ({}, 300),
            ({"CONCURRENT_REQUESTS": 16}, 48),
            ({"CONCURRENT_REQUESTS": 16, "FRONTIER_QUEUES": 20}, 20),
            ({"CONCURRENT_REQUESTS": 16, "FRONTIER_MAX_QUEUES": 40}, 40),
        ],
    )
    def test_queues_follow_from_downloads(self, settings, queues):
        """FRONTIER_QUEUES = 0 becomes 3 times CONCURRENT_REQUESTS, at most FRONTIER_MAX_QUEUES."""
        assert check(settings)["FRONTIER_QUEUES"] == queues

    @pytest.mark.parametrize("name", ["SITEMAPS", "FEED_LINKS"])
    def test_sitemaps_and_feeds_follow_from_revisits(self, name):
        """Both are on with revisits and off without, unless they are set."""
        found = [check({"REVISIT_POLICY": policy})[name] for policy in ("none", "fixed")]

        assert found == [None, True]
        assert check({"REVISIT_POLICY": "fixed", name: "off"})[name] is False


class Deaf:
    """A revisit policy that cannot be told what visits found."""

    early = True
    due = state = restore = None


def test_a_policy_that_lacks_a_method_is_refused():
    """At the start, and not at the first visit."""
    with pytest.raises(SettingError, match="has no observe"):
        check({"REVISIT_POLICY": f"{__name__}.Deaf"})


class TestModule:
    def test_every_setting_is_stated_once(self):
        """No section of the table repeats a setting of another or of the plumbing, and the module
        has all of them.
        """
        stated = [one.name for section in SECTIONS.values() for one in section]

        assert stated == list(SETTINGS)
        assert sorted((*PLUMBING, *stated)) == sorted(DEFAULTS) == sorted(NAMES)

    def test_every_named_kind_is_a_settings(self):
        """The checks know the kinds that the table names, and no others."""
        assert {one.kind for one in SETTINGS.values() if isinstance(one.kind, str)} == set(NAMED)

    def test_every_setting_has_a_sentence(self):
        """The meaning of a setting is a sentence, for docs/settings.md."""
        assert [one.name for one in SETTINGS.values() if not one.text.endswith(".")] == []

    def test_a_name_that_is_none_of_them(self):
        """The module has no other names: an unknown one is an AttributeError, as of any module."""
        with pytest.raises(AttributeError, match="URL_MAX_DEPHT"):
            _ = defaults.URL_MAX_DEPHT

    def test_every_setting_is_checked(self):
        """Each setting of the table has a kind."""
        assert list(SETTINGS) == list(KINDS)

    def test_scrapy_reads_it(self):
        """Scrapy finds the module through scrapy.cfg, and the command line overrides it."""
        words = ("scrapy", "settings", "--getint", "SEEN_MEMORY")
        root = Path(__file__).parents[2]

        ours = command(*words, cwd=root)
        given = command(*words, "-s", "SEEN_MEMORY=64", cwd=root)

        assert (ours.stdout, given.stdout) == ("256\n", "64\n")
