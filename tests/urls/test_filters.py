"""The contract of every URL filter, and the rules of the filters without state."""

import copy
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.url_settings import url_settings
from tests.support.url_strategies import links
from webcrawl.base.model import Link
from webcrawl.base.url_text import BAD, Ports
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.filters.expressions import ExpressionFilter, search_set
from webcrawl.urls.filters.filter_protocol import Lines, Origin, Remembers, Suspects
from webcrawl.urls.filters.scope import ScopeFilter, SeedDomains
from webcrawl.urls.filters.url_parts import ExtensionFilter, PortFilter, SchemeFilter
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import build_filters

NOW = 1_700_000_000  # November 2023
ENDINGS = url_settings()["URL_EXCLUDE_EXTENSIONS"]
PAGE = Origin("http://www.home.example/page", 1)
TAILS = (
    "x.zip", "a/a/a/a/", "?C=N;O=D", "wp-login.php?x=1", "2031/05/", "?date=2031-05-06", "?a=1&a=1&a=1", "b/" * 31,
    "?PHPSESSID=1", "b/" * 12, "?a=1&b=2&c=3&d=4&e=5", "private/x", "%25252525", "plain.html", "x" * 200,
)  # fmt: skip
HOSTS = (
    "http://www.home.example/",
    "https://other.home.example/",
    "http://seed.example/",
    "ftp://left.alone.example/",
    "http://seed.example:25/",
)


def _url(link):
    try:
        return canonical(link)
    except InvalidUrl:
        return "http://odd.example/"


urls = st.builds(str.__add__, st.sampled_from(HOSTS), st.sampled_from(TAILS)) | links.map(_url)


@pytest.fixture(name="filters", scope="module")
def _filters(tmp_path_factory):
    """Every filter, each with something to do, and the scope filter with three scopes."""
    path = tmp_path_factory.mktemp("lists") / "exclude.txt"
    path.write_text("alone.example\nhome.example/private/\n")
    found = []
    for scope in ("seeds", "domain", "host"):
        chain = build_filters(
            url_settings(
                URL_SCOPE=scope,
                URL_SCHEMES=["http", "https"],
                URL_MAX_LENGTH=100,
                URL_EXCLUDE=["/x"],
                URL_INCLUDE=["a"],
                URL_EXCLUDE_FILE=str(path),
                TRAP_MAX_PAGES=2,
            ),
            clock=lambda: NOW,
        )
        found += [one for one in chain.filters if one.name == "scope" or scope == "seeds"]
    return found


class TestEveryFilter:
    def test_there_is_one_of_each_kind(self, filters):
        """The contract is tested on every filter in settings.py."""
        names = {f"{type(one).__module__}.{type(one).__name__}" for one in filters}

        assert names == set(url_settings()["URL_FILTERS"])
        assert all(re.fullmatch("[a-z_]+", one.name) for one in filters)

    @given(
        batch=st.lists(urls, max_size=12, unique=True),
        depth=st.integers(0, 60),
        home=urls | st.just(""),
    )
    def test_the_urls_that_pass_keep_their_order(self, filters, batch, depth, home):
        """A filter does not change the batch, returns a part of it in order, and does so again if
        called again.
        """
        before = list(batch)

        for one in filters:
            kept = one.keep(batch, Origin(home, depth))

            assert batch == before
            assert kept == [url for url in batch if url in set(kept)]
            assert one.keep(batch, Origin(home, depth)) == kept
            assert one.keep(kept, Origin(home, depth)) == kept

    @given(batch=st.lists(urls, max_size=12, unique=True))
    def test_a_url_is_judged_by_itself(self, filters, batch):
        """The other URLs of the batch make no difference, except to filters that count."""
        for one in filters:
            if not isinstance(one, Remembers):
                assert one.keep(batch, PAGE) == [url for url in batch if one.keep([url], PAGE)]

    @given(url=urls)
    def test_a_url_that_is_not_suspected_passes(self, filters, url):
        """A filter with a `suspects` expression drops only URLs that match it."""
        for one in filters:
            if isinstance(one, Suspects) and not Lines(one.suspects).among([url]):
                assert one.keep([url], PAGE) == [url]

    @given(batch=st.lists(urls, max_size=12, unique=True))
    def test_what_a_filter_has_learnt_survives(self, filters, batch):
        """A filter restored from its state decides like the original."""
        for one in filters:
            if isinstance(one, Remembers):
                one.keep(batch, PAGE)
                twin = copy.deepcopy(one)
                twin.restore(one.state())

                assert twin.state() == one.state()
                assert twin.keep(batch, PAGE) == one.keep(batch, PAGE)

    @pytest.mark.parametrize("kept", [1, 7, 11, 13])
    def test_a_damaged_state_is_an_error(self, filters, kept):
        """Bytes that `state` cannot have returned raise ValueError and change nothing."""
        for one in filters:
            if isinstance(one, Remembers):
                one.keep(["http://seed.example/2022/05/"], Origin())
                before = one.state()

                with pytest.raises(ValueError, match=r"bytes|truncated"):
                    one.restore((before + bytes(16))[: len(before) + kept])

                assert one.state() == before


class TestLines:
    @given(st.lists(urls, max_size=12, unique=True))
    def test_one_search_finds_what_matching_each_url_finds(self, batch):
        """Searching the batch as one text finds the same URLs as matching each alone; line ends are
        ends of URLs.
        """
        lines, alone = (
            Lines(r"^http:|zip$|\?[a-c]=1&|e[^a-y]*$|-[^&]*"),
            re.compile(r"^http:|zip$|\?[a-c]=1&|e[^a-y]*$|-[^&]*", re.IGNORECASE),
        )

        assert lines.among(batch) == [url for url in batch if alone.search(url)]
        assert lines.without(batch) == [url for url in batch if not alone.search(url)]

    def test_an_expression_that_matches_the_empty_string_matches_every_url(self):
        """An empty match at the end of a line counts once, for that line."""
        assert Lines("x*$").among(["http://a/", "http://b/x", "http://c/"]) == [
            "http://a/",
            "http://b/x",
            "http://c/",
        ]


class TestSimpleFilters:
    def test_only_wanted_schemes_pass(self):
        """Only URLs of the schemes in URL_SCHEMES pass."""
        batch = [
            "http://a.example/",
            "https://a.example/",
            "ftp://a.example/",
            "gopher://a.example/",
        ]

        assert SchemeFilter(["http", "gopher"]).keep(batch, PAGE) == [batch[0], batch[3]]

    def test_length_and_depth_are_limited(self):
        """The limit itself passes, one more does not."""
        length, depth = build_filters(url_settings(URL_MAX_LENGTH=64, URL_MAX_DEPTH=3)).filters[:2]
        fits, long = "http://a.example/".ljust(64, "x"), "http://a.example/".ljust(65, "x")

        assert length.keep([fits, long], PAGE) == [fits]
        assert depth.keep([fits], Origin("", 3)) == [fits]
        assert depth.keep([fits], Origin("", 4)) == []

    @pytest.mark.parametrize(
        ("path", "kept"),
        [
            ("LLL", "here there"),
            ("LLLL", "there"),
            ("LLLlLLL", "here there"),
            ("LLLlLLLL", "there"),
            ("lLLlLLL", "here there"),
            ("lLlLlLLL", "here"),
            ("lLlLlLLLL", ""),
            ("LLrLlLRLLR", "here there"),
            ("lLlLlR", "here there"),
            ("lLlLlLR", "here"),
        ],
    )
    def test_depth_counts_within_the_site(self, path, kept):
        """Links count within their site, and those into other sites as one site more, each up to
        the limit.
        """
        depth = build_filters(url_settings(URL_MAX_DEPTH=3)).filters[1]
        batch = {"here": "http://www.home.example/x", "there": "http://seed.example/"}
        many = Link("", path).depth

        assert depth.keep(list(batch.values()), Origin(PAGE.url, many, path)) == [
            batch[one] for one in kept.split()
        ]

    def test_scrapys_limit_counts_from_the_start(self):
        """DEPTH_LIMIT, where it stands for URL_MAX_DEPTH, counts links from the start, whatever the
        site.
        """
        depth = build_filters(url_settings(URL_MAX_DEPTH=3, DEPTH_LIMIT=3)).filters[1]
        other = build_filters(url_settings(URL_MAX_DEPTH=3, DEPTH_LIMIT=2)).filters[1]

        assert depth.keep(["http://seed.example/"], Origin(PAGE.url, 4, "LLLL")) == []
        assert depth.keep(["http://seed.example/"], Origin(PAGE.url, 3, "LLL")) == [
            "http://seed.example/"
        ]
        assert other.keep(["http://seed.example/"], Origin(PAGE.url, 4, "LLLL")) == [
            "http://seed.example/"
        ]

    def test_a_link_without_a_path_counts_from_the_start(self):
        """What a spider requests is as deep as its request says."""
        depth = build_filters(url_settings(URL_MAX_DEPTH=3)).filters[1]

        assert depth.keep(["http://seed.example/"], Origin(PAGE.url, 4)) == []

    @given(
        st.lists(
            st.builds(
                "{}://{}host.example:{}/{}".format,
                st.sampled_from(["http", "https", "ftp", "gopher"]),
                st.sampled_from(["", "user@"]),
                st.sampled_from(sorted(BAD)) | st.integers(1, 65535),
                st.sampled_from(["", "a:25/", "?u=//x:25/"]),
            )
        )
    )
    def test_the_batch_and_the_queue_agree_on_ports(self, some):
        """A batch loses the URLs whose port is not allowed, and only those."""
        ports = Ports([range(25, 26)])
        assert PortFilter(ports).keep(some, PAGE) == [url for url in some if ports.allow_url(url)]

    def test_bad_ports_are_dropped(self):
        """A URL with a bad port for its scheme is dropped, and refused if it is queued, unless the
        port is allowed.
        """
        good = [
            "http://a.example/",
            "http://a.example:8080/",
            "gopher://a.example:7070/",
            "http://a.example/x:25/",
        ]
        bad = [
            "http://a.example:25/",
            "gopher://a.example:8080/",
            "ftp://a.example:6667/",
            "http://a.example:0/",
        ]
        ports = PortFilter(Ports())

        assert ports.keep([*bad, *good], PAGE) == good
        assert [url for url in (*good, *bad) if ports.reject(url)] == bad
        assert PortFilter(Ports([range(25, 26)])).keep(bad, PAGE) == bad[:1]

    @pytest.mark.parametrize("tail", ["a.zip", "a.ZIP?x", "b/a.tar.gz", "a.b.mp3", "a.woff2"])
    def test_the_end_of_the_path_is_checked(self, tail):
        """A file without text is dropped by its ending, in upper or lower case, with or without a
        query.
        """
        assert ExtensionFilter(ENDINGS).keep([f"http://a.example/{tail}"], PAGE) == []

    @pytest.mark.parametrize(
        "tail",
        ["zip", "a.zip/", "a.zip.html", "?f=a.zip", "a?f=/b.zip", "a.xml.gz", "a.pdf", "azip"],
    )
    def test_other_places_are_not(self, tail):
        """A file name in the query, a folder, documents and sitemaps pass."""
        assert ExtensionFilter(ENDINGS).keep([f"http://a.zip/{tail}"], PAGE) == [
            f"http://a.zip/{tail}"
        ]

    def test_included_and_excluded_expressions(self):
        """A URL must match one of URL_INCLUDE and none of URL_EXCLUDE; a match may be anywhere in
        the URL.
        """
        batch = ["http://a.example/x", "http://a.example/y", "http://b.example/x"]

        assert ExpressionFilter(include=["/x$", "zzz"]).keep(batch, PAGE) == [batch[0], batch[2]]
        assert ExpressionFilter(exclude=[r"^http://b\.", "/y"]).keep(batch, PAGE) == [batch[0]]
        assert ExpressionFilter(include=["/x$"], exclude=["//b"]).keep(batch, PAGE) == [batch[0]]

    @pytest.mark.parametrize("expression", ["(", "(?!x)", r"(a)\1"])
    def test_an_invalid_expression_is_named(self, expression):
        """An expression that RE2 does not support raises one clear error with the setting and the
        expression.
        """
        with pytest.raises(ValueError, match=rf"URL_EXCLUDE: {re.escape(repr(expression))}"):
            search_set(["ok", expression], "URL_EXCLUDE")

    def test_expressions_that_need_too_much_memory_are_an_error(self):
        """A set whose automaton needs more than 64 MiB raises at the start, not during the crawl."""
        with pytest.raises(
            ValueError, match=r"URL_INCLUDE: the expressions together need more than 64 MiB"
        ):
            search_set([f"a{number}.{{900}}b" for number in range(2000)], "URL_INCLUDE")


class TestRequisites:
    def test_what_says_how_far_to_go_does_not_hold(self):
        """Scope, depth, file types and inclusions are for links; traps, lengths and exclusions for
        everything.
        """
        chain = build_filters(
            url_settings(
                URL_SCOPE="host", URL_MAX_DEPTH=0, URL_INCLUDE=["home"], URL_EXCLUDE=["ads"]
            )
        )
        found = [
            "http://far.example/font.woff2",
            "http://far.example/ads.js",
            f"http://far.example/{'a/' * 31}x.png",
        ]

        kept = chain.for_requisites().keep(
            found, Origin("http://www.home.example/", 3, "LLE"), Counter()
        )

        assert kept == found[:1]

    def test_which_pages_are_the_crawls_own(self):
        """A page that is shown in another must be included, as any other page."""
        chain = build_filters(url_settings(URL_INCLUDE=["home"]))

        assert [chain.within(f"http://{host}.example/") for host in ("home", "far")] == [
            True,
            False,
        ]


KEY = bytes(16)
HOME = Origin("http://www.home.example/page", 1)
BATCH = [
    "http://www.home.example/x",
    "https://www.home.example:8080/x",
    "http://home.example/",
    "http://seed.example/",
    "http://www.seed.example/",
    "http://far.example/",
]


@pytest.fixture(name="domains", scope="module")
def _domains():
    return RegisteredDomains()


class TestScopes:
    @pytest.mark.parametrize(
        ("scope", "kept"), [("any", BATCH), ("host", BATCH[:2]), ("domain", BATCH[:3])]
    )
    def test_a_page_limits_its_own_links(self, domains, scope, kept):
        """The scope `host` keeps links to the page's host on any port, `domain` those to its
        registered domain.
        """
        assert ScopeFilter(scope, domains, KEY).keep(BATCH, HOME) == kept

    def test_seeds_limit_the_whole_crawl(self, domains):
        """The scope `seeds` keeps links to the registered domain of any seed, and no others."""
        scope = ScopeFilter("seeds", domains, KEY)

        assert scope.keep(BATCH, HOME) == []
        assert scope.keep(["http://blog.seed.example/"], Origin()) == ["http://blog.seed.example/"]
        assert scope.keep(BATCH, HOME) == BATCH[3:5]

    @pytest.mark.parametrize("scope", ["any", "host", "domain", "seeds"])
    def test_seeds_are_always_in_scope(self, domains, scope):
        """A batch without a page consists of seeds, which always pass."""
        assert ScopeFilter(scope, domains, KEY).keep(BATCH, Origin()) == BATCH

    @pytest.mark.parametrize(
        ("scope", "inside"),
        [("any", [True] * 4), ("seeds", [True, True, True, False]), ("domain", [True, True, True, False]),
         ("host", [False, True, False, False])],
    )  # fmt: skip
    def test_a_page_shown_in_another_is_a_seeds_or_not(self, domains, scope, inside):
        """Whatever page shows it, it is within if a seed is of its host, or of its registered
        domain.
        """
        filtered = ScopeFilter(scope, domains, KEY, requisites=True)
        filtered.keep(["http://www.home.example/", "http://seed.example/"], Origin())
        twin = ScopeFilter(scope, domains, KEY, requisites=True)
        twin.restore(filtered.state())

        urls = [
            "http://home.example/y",
            "http://seed.example/y",
            "http://www.seed.example/",
            "http://far.example/",
        ]
        assert [twin.within(url) for url in urls] == inside

    def test_an_unknown_scope_is_an_error(self, domains):
        """The message names the setting, the value and what is allowed."""
        with pytest.raises(
            ValueError, match="URL_SCOPE: 'planet' is not one of any, seeds, domain, host"
        ):
            ScopeFilter("planet", domains, KEY)


class TestSeedDomains:
    def test_it_is_a_set(self):
        """It contains each added name once, across merges and a restore."""
        names, seeds = [f"d{i}.example" for i in range(150_000)], SeedDomains(KEY)
        for name in names + names[:1000]:
            seeds.add(name)
        twin = SeedDomains(KEY)
        twin.restore(seeds.state())

        assert len(seeds) == len(twin) == len(names)
        assert all(name in seeds and name in twin for name in names[::997])
        assert not any(f"e{i}.example" in twin for i in range(1000))
        assert len(twin.state()) == 8 * len(names)

    @pytest.mark.parametrize(
        "state", [bytes(7), (2).to_bytes(8, "little") + (1).to_bytes(8, "little"), bytes(16)]
    )
    def test_an_invalid_state_is_an_error(self, state):
        """Truncated, unordered or repeated fingerprints raise ValueError."""
        with pytest.raises(ValueError, match="seed domains"):
            SeedDomains(KEY).restore(state)
