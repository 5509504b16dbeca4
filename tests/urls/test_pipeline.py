"""The pipeline from a page's links to the seen store, and the assembly of the chain."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.url_settings import url_settings
from tests.support.url_strategies import bases, links
from webcrawl.base.errors import RulesError
from webcrawl.urls.canonical import InvalidUrl, canonical, canonical_links
from webcrawl.urls.filters.filter_protocol import Chain, Origin
from webcrawl.urls.link_pipeline import build_filters, build_pipeline
from webcrawl.urls.recent_urls import RecentUrls
from webcrawl.urls.url_fingerprint import Fingerprints

KEY, PAGE = bytes(16), "http://h.example/a/b"


class Word:
    """A minimal filter: drops URLs that contain its name."""

    def __init__(self, name):
        self.name = name

    @classmethod
    def from_setup(cls, setup, /):
        return cls(setup.settings["WORD"]) if setup.settings["WORD"] else None

    def keep(self, urls, origin, /):
        return [url for url in urls if self.name not in url]


class SuspiciousWord(Word):
    """The same filter with a `suspects` expression."""

    def __init__(self, name):
        super().__init__(name)
        self.suspects = name


@pytest.fixture(name="pipeline")
def _pipeline():
    return build_pipeline(url_settings(), KEY, clock=lambda: 1_700_000_000)


class Even:
    name = "odd"

    def keep(self, urls, _origin):
        return [url for url in urls if len(url) % 2]


def without_x(url):
    return "x" not in url


class NoFilter:
    """Has no `keep`."""


class Needy:
    def __init__(self, word):
        raise AssertionError(word)


nothing = 1


class TestChain:
    words = st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab"]), max_size=5, unique=True)
    batches = st.lists(st.text("ab", max_size=6).map("http://x/".__add__), max_size=8, unique=True)

    @given(batches, words, st.data())
    def test_counts_add_up(self, batch, words, data):
        """Every URL of the batch passes or counts once, under the first filter that drops it."""
        kinds = [data.draw(st.sampled_from([Word, SuspiciousWord])) for _ in words]
        chain, filtered = (
            Chain([kind(word) for kind, word in zip(kinds, words, strict=True)]),
            Counter(),
        )

        kept = chain.keep(batch, Origin(), filtered)

        blame = [next((word for word in words if word in url), None) for url in batch]
        assert kept == [url for url, word in zip(batch, blame, strict=True) if word is None]
        assert filtered == Counter(word for word in blame if word)

    def test_two_filters_of_one_name_are_an_error(self):
        """Two filters with one name would share a counter."""
        with pytest.raises(ValueError, match=r"more than one filter is named a$"):
            Chain([Word("a"), Word("a")])

    def test_states_go_by_name(self):
        """Each filter gets its own state back; states of filters that are gone are ignored."""
        first = build_filters(url_settings(URL_SCOPE="seeds", TRAP_MAX_PAGES=1), key=KEY)
        first.keep(["http://h.example/2020/05/"], Origin(), Counter())
        second = build_filters(url_settings(URL_SCOPE="seeds", TRAP_MAX_PAGES=1), key=KEY)
        second.restore(first.state() | {"gone": b"x"})

        assert set(first.state()) == {"scope", "trap_family"}
        assert second.keep(
            ["http://h.example/2020/05/", "http://h.example/2020/06/"], Origin(PAGE), Counter()
        ) == ["http://h.example/2020/05/"]


class TestAssembly:
    def test_filters_are_ordered_by_their_numbers(self):
        """URL_FILTERS is ordered like ITEM_PIPELINES; None leaves a filter out."""
        wanted = url_settings()["URL_FILTERS"] | {
            "webcrawl.urls.filters.url_parts.LengthFilter": 5000,
            "webcrawl.urls.filters.depth.DepthFilter": None,
            f"{__name__}.Word": 1,
        }

        names = [
            one.name for one in build_filters(url_settings(URL_FILTERS=wanted, WORD="w")).filters
        ]

        assert names[0] == "w"
        assert names[-1] == "length"
        assert "depth" not in names

    def test_filters_without_work_are_left_out(self):
        """A filter that the settings leave nothing to do is not in the chain."""
        names = [one.name for one in build_filters(url_settings()).filters]

        assert not {"scheme", "scope", "excluded", "expression"} & set(names)

    @pytest.mark.parametrize(
        ("setting", "value"),
        [
            ("URL_SCOPE", "host"),
            ("URL_EXCLUDE", ["x"]),
            ("URL_INCLUDE", ["x"]),
            ("URL_EXCLUDE_FILE", __file__),
        ],
    )
    def test_a_setting_without_its_filter_is_refused(self, setting, value):
        """A crawl that is to stay within bounds does not start without the filter that keeps it
        there.
        """
        with pytest.raises(
            RulesError, match=f"^{setting} needs a filter that URL_FILTERS lacks: add "
        ):
            build_filters(url_settings(URL_FILTERS={f"{__name__}.Even": 1}, **{setting: value}))

    def test_a_filter_that_is_left_out_on_purpose(self):
        """With None there is no doubt what is meant."""
        filters = {f"{__name__}.Even": 1, "webcrawl.urls.filters.scope.ScopeFilter": None}

        assert len(build_filters(url_settings(URL_FILTERS=filters, URL_SCOPE="host")).filters) == 1

    def test_a_missing_filter_is_named(self):
        """A dotted path that does not exist raises one clear error."""
        with pytest.raises(
            ValueError, match=r"^webcrawl\.nowhere\.Filter: No module named 'webcrawl\.nowhere'$"
        ):
            build_filters(url_settings(URL_FILTERS={"webcrawl.nowhere.Filter": 1}))

    def test_a_class_without_from_setup_is_a_filter(self):
        """A filter class that needs no settings is made without arguments."""
        chain = build_filters(url_settings(URL_FILTERS={f"{__name__}.Even": 1}))

        assert chain.keep(["http://h/1", "http://h/12"], Origin(), Counter()) == ["http://h/12"]

    def test_a_function_is_a_filter(self):
        """A function of one URL keeps those for which it is true; drops are counted under its name."""
        chain, filtered = (
            build_filters(url_settings(URL_FILTERS={f"{__name__}.without_x": 1})),
            Counter(),
        )

        assert chain.keep(["http://h/x", "http://h/y"], Origin(), filtered) == ["http://h/y"]
        assert filtered == {"without_x": 1}

    @pytest.mark.parametrize("what", ["NoFilter", "Needy", "nothing"])
    def test_what_is_no_filter_is_named(self, what):
        """A class that cannot be made, or has no `keep`, is one error that names its path."""
        with pytest.raises(RulesError, match=rf"^URL_FILTERS: {__name__}\.{what}"):
            build_filters(url_settings(URL_FILTERS={f"{__name__}.{what}": 1}))


class TestPipeline:
    def test_the_documents_base_joins_and_the_page_stays_the_origin(self):
        """A base element resolves links, but the scope depends on the page that contains them."""
        pipeline = build_pipeline(url_settings(URL_SCOPE="host"), KEY)

        found = pipeline.process(PAGE, 1, ["x", "http://h.example/y"], base="http://other.example/")

        assert found.urls == ["http://h.example/y"]
        assert pipeline.filtered == {"scope": 1}

    def test_seeds_have_no_page(self, pipeline):
        """Seeds are a batch with an empty page URL."""
        assert pipeline.process("", 0, ["rubbish", "http://a.example"]).urls == [
            "http://a.example/"
        ]

    def test_the_fingerprint_is_of_the_comparison_form(self):
        """URLs that fold to the same form have one fingerprint, and are fetched as they are."""
        pipeline = build_pipeline(
            url_settings(URL_FOLDINGS=["webcrawl.urls.foldings.no_index"]), KEY
        )

        (first, second), urls, _ = pipeline.process(PAGE, 1, ["/index.html", "/"])

        assert first == second
        assert urls == ["http://h.example/index.html", "http://h.example/"]

    @examples(300)
    @given(st.lists(links, max_size=10), bases)
    def test_no_links_make_it_raise_and_all_are_accounted_for(self, batch, base):
        """Each distinct link is a URL or counted, and each distinct URL is a candidate or counted."""
        pipeline = build_pipeline(url_settings(), KEY, clock=lambda: 1_700_000_000)

        found = pipeline.process(base, 1, batch)

        urls = canonical_links(base, batch, Counter())
        different = {url for url in urls.values() if url}
        bad = {link for link, url in urls.items() if url is None}
        assert pipeline.filtered.total() == len(bad) + len(different) - len(found.urls)
        assert found.found == urls
        assert [url for url in dict.fromkeys(urls.values()) if url in found.urls] == found.urls
        assert [*found.keys] == Fingerprints(KEY)(found.urls)

    @given(links, bases)
    def test_without_filters_the_pipeline_is_canonical(self, link, base):
        """Without filters, the pipeline returns what `canonical` returns."""
        pipeline = build_pipeline(url_settings(URL_FILTERS={}), KEY)
        try:
            expected = [canonical(link, base)]
        except InvalidUrl:
            expected = []

        assert pipeline.process(base, 1, [link]).urls == expected


class TestLately:
    batches = st.lists(
        st.lists(st.sampled_from("abcdefghijkl"), max_size=6, unique=True), max_size=40
    )

    @given(batches, st.integers(1, 10))
    def test_it_never_knows_what_was_not_added(self, batches, size):
        """Unknown URLs are returned in their order; known URLs were added before."""
        lately, added = RecentUrls(size), set()
        for batch in batches:
            unknown = lately.unknown(batch)
            assert [url for url in batch if url in unknown] == unknown
            assert set(batch) - set(unknown) <= added
            lately.add(unknown)
            added.update(unknown)

    @given(st.lists(st.text(min_size=1), max_size=80), st.integers(1, 10))
    def test_the_url_added_last_is_known(self, urls, size):
        """Only a URL that is added later can replace a URL."""
        lately = RecentUrls(size)
        for url in urls:
            lately.add([url])
            assert lately.unknown([url]) == []

    def test_a_question_counts_for_nothing(self):
        """Who only asks whether a URL is known changes neither the answer nor the count."""
        lately = RecentUrls(1000)
        lately.add(["a"])

        assert ("a" in lately, "b" in lately, "b" in lately, lately.absorbed) == (
            True,
            False,
            False,
            0,
        )

    def test_it_counts_what_it_leaves_out(self):
        """The URLs that were left out are counted: the hit rate of the crawl's caches includes
        them.
        """
        lately = RecentUrls(1000)
        lately.add(["http://h.example/1"])
        lately.unknown(["http://h.example/1", "http://h.example/2", "http://h.example/1"])

        assert lately.absorbed == 2

    def test_its_repr_has_its_size(self):
        """The repr shows the number of places."""
        assert repr(RecentUrls(5)) == "<RecentUrls of 8>"


class TestRecentLinks:
    @pytest.fixture(name="pipeline")
    def _pipeline(self):
        return build_pipeline(url_settings(), bytes(16), clock=lambda: 1_700_000_000)

    def test_a_known_url_is_not_a_candidate(self, pipeline):
        """Only URLs that are not known are submitted to the seen store."""
        lately = RecentUrls(10)
        lately.add(["http://h.example/known"])
        found = pipeline.process(PAGE, 1, ["/known", "new", "/known#x"], lately=lately)

        assert found.urls == ["http://h.example/a/new"]

    def test_filtered_links_are_filtered_every_time(self, pipeline):
        """A dropped URL is never known: on another page it may be in scope, or nearer to a seed."""
        lately = RecentUrls(10)
        for _ in range(2):
            found = pipeline.process(PAGE, 1, ["/picture.zip", "/x"], lately=lately)
            lately.add(found.urls)

        assert pipeline.filtered == Counter({"extension": 2})


def told_of(page, found, base=""):
    """What a new pipeline tells, and what it counts."""
    pipeline = build_pipeline(url_settings(), KEY, clock=lambda: 1_700_000_000)
    told = []
    pipeline.on_dropped = lambda reason, urls, via: told.extend((reason, url, via) for url in urls)
    pipeline.process(page, 1, found, base)
    return told, pipeline.filtered


def test_reason_url_and_page():
    """A URL that a filter drops in its canonical form, a link that has none as it was written; each
    once.
    """
    found = ["a.zip#x", "mailto:a@b.test", "http://a b/", "good", "a.zip", "mailto:a@b.test"]
    told, _ = told_of("http://h.test/p/", found)

    assert sorted(told) == [
        ("extension", "http://h.test/p/a.zip", "http://h.test/p/"),
        ("scheme", "mailto:a@b.test", "http://h.test/p/"),
        ("syntax", "http://a b/", "http://h.test/p/"),
    ]


@settings(max_examples=50)
@given(st.lists(links, max_size=8), bases)
def test_told_as_counted(found, base):
    """For any links, each reason is told as often as it is counted."""
    told, counted = told_of("http://h.test/", found, base)

    assert Counter(reason for reason, _, _ in told) == +counted
