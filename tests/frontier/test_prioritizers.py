"""Which level a link goes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, unpack
from webcrawl.base.page_values import PageScores
from webcrawl.frontier.prioritizers import Choosing, Learning, Popularity, goes_by_way
from webcrawl.frontier.prioritizers.depth import ByArrival, ByChance, ByDepth
from webcrawl.frontier.prioritizers.focus import PENDING, ByFocus
from webcrawl.frontier.prioritizers.language import ByLanguage
from webcrawl.frontier.prioritizers.links import ByIndegree, ByOpic, ByReputation

LINKS = st.builds(
    Link,
    url=st.just("http://a/"),
    path=st.text("LERP", max_size=60),
    via=st.just("http://b/"),
    seed=st.just("a"),
    attempt=st.integers(0, 9),
    history=st.text("cu", max_size=20),
)


@pytest.mark.parametrize(
    "prioritizer",
    [ByDepth, ByArrival, ByReputation, ByChance, ByIndegree, ByOpic, ByFocus, ByLanguage],
)
class TestContract:
    @given(link=LINKS, levels=st.integers(1, 20))
    def test_the_level_exists(self, prioritizer, link, levels):
        """Every link gets a level between 0 and FRONTIER_LEVELS - 1."""
        assert 0 <= prioritizer(levels).level(link) < levels


def test_the_url_does_not_matter_where_only_the_way_does():
    """A prioritizer may say that it looks at the way to a URL alone; what is derived from it has to
    say so itself.
    """

    class Own(ByDepth):
        def level(self, link):
            return len(link.url)

    assert goes_by_way(ByDepth(8))
    assert not any(goes_by_way(one) for one in (Own(8), ByReputation(8), ByOpic(8)))


class TestPrioritizers:
    def test_depth_counts_links_followed(self):
        """Each link followed since the seed lowers the level by one; redirects and prerequisites do
        not count.
        """
        assert [ByDepth(8).level(Link("http://a/", path)) for path in ("", "L", "LRL", "LLP")] == [
            0,
            1,
            2,
            2,
        ]

    def test_what_a_page_needs_is_as_deep_as_the_page(self):
        """An embedded file, and what it embeds in turn, comes with the page; a page behind it is a
        link away.
        """
        assert [
            ByDepth(8).level(Link("http://a/", path)) for path in ("E", "LE", "LeEE", "LEL")
        ] == [0, 1, 1, 3]
        assert ByDepth(8).level(Link("http://a/", "EEEEE")) == 2  # too many to be that

    def test_arrival_makes_no_difference(self):
        """All links go to one queue."""
        assert ByArrival(8).level(Link("http://a/", "LLLL")) == 0

    def test_reputation_raises_by_doublings(self):
        """A link goes one level up for each doubling of the domains that link to its own."""
        prioritizer = ByReputation(8)
        prioritizer.inform(
            {"http://none/": 0, "http://one/": 1, "http://two/": 2, "http://most/": 64}.__getitem__
        )

        levels = [
            prioritizer.level(Link(f"http://{name}/")) for name in ("none", "one", "two", "most")
        ]

        assert levels == [7, 7, 6, 1]


class TestLearning:
    def test_who_learns_and_who_chooses(self):
        """In-degree and OPIC hear links; these and chance choose among what waits; the others do
        neither.
        """
        others = [ByDepth(8), ByArrival(8), ByReputation(8)]
        assert all(
            isinstance(one, Learning) and isinstance(one, Choosing)
            for one in (ByIndegree(8), ByOpic(8))
        )
        assert isinstance(ByChance(8), Choosing)
        assert not isinstance(ByChance(8), Learning)
        assert not any(isinstance(one, Learning | Choosing) for one in others)

    def test_indegree_counts_pages(self):
        """Each page that links to a URL counts, and the URL itself does not; a page that was
        fetched is forgotten.
        """
        prioritizer = _taught(ByIndegree(8))
        prioritizer.heard("http://a/", ["http://b/", "http://c/", "http://a/"])
        prioritizer.heard("http://d/", ["http://c/"])
        assert [prioritizer.worth(f"http://{name}/") for name in "abcd"] == [0, 1, 2, 0]
        prioritizer.heard("http://c/", [])
        assert prioritizer.worth("http://c/") == 0

    def test_opic_gives_all(self):
        """A page has 1 and what it was given, and gives that in equal parts; without links it keeps
        that.
        """
        prioritizer = _taught(ByOpic(8))
        prioritizer.heard("http://a/", ["http://b/", "http://c/", "http://a/"])
        prioritizer.heard("http://b/", ["http://c/"])
        assert [prioritizer.worth(f"http://{name}/") for name in "abc"] == [0, 0, 2]
        prioritizer.heard("http://c/", ["http://c/"])
        assert prioritizer.worth("http://c/") == 2

    @given(
        st.lists(
            st.tuples(st.integers(0, 40), st.lists(st.integers(0, 40), unique=True)), max_size=60
        )
    )
    def test_cash_is_conserved(self, pages):
        """Every page with links brings 1, and all of it is in the table, or is what the table says
        it has forgotten.
        """
        prioritizer, table = ByOpic(8), Popularity(bytes(16), 0)
        prioritizer.learn(table)
        brought = 0
        for page, links in pages:
            prioritizer.heard(f"http://{page}/", [f"http://{link}/" for link in links])
            brought += links not in ([], [page])
        assert sum(amount for _, amount in table) + table.forgotten == pytest.approx(brought)

    def test_one_page_is_not_preferred_by_chance(self):
        """Chance has no favourites, and is the same in each run."""
        first, second = ByChance(8), ByChance(8)
        drawn = [first.worth("http://a/") for _ in range(100)]
        assert len(set(drawn)) == 100
        assert drawn == [second.worth("http://b/") for _ in range(100)]


def _taught(prioritizer):
    prioritizer.learn(Popularity(bytes(16), 1 << 16))
    return prioritizer


class TestLink:
    @given(link=LINKS)
    def test_a_packed_link_comes_back(self, link):
        """Packing a link and unpacking it gives the same link."""
        assert unpack(link.pack()) == link


def focused(kind=ByFocus, languages=()):
    prioritizer = _taught(kind(8))
    prioritizer.focus(lambda host: host, languages)
    return prioritizer


def tell(prioritizer, page, scored, *urls):
    prioritizer.scored(page, scored)
    prioritizer.heard(page, urls)


class TestFocus:
    def test_links_of_good_pages_come_first(self):
        """One good page outweighs several middling ones; each of them counts."""
        prioritizer = focused()
        tell(prioritizer, "http://a/", PageScores(0.9), "http://x/good")
        for page in range(5):
            tell(prioritizer, f"http://a/{page}", PageScores(0.4), "http://x/middling")
        tell(prioritizer, "http://a/6", PageScores(0.4), "http://x/one")
        worth = [
            prioritizer.worth(f"http://x/{name}") for name in ("good", "middling", "one", "unknown")
        ]
        assert worth == sorted(worth, reverse=True)

    def test_the_words_of_a_link_count(self):
        """Of the same page the link whose words are better goes first; words that say nothing do no
        harm.
        """
        prioritizer, links = focused(), [f"http://x/{name}" for name in (1, 2, 3)]
        tell(
            prioritizer,
            "http://a/",
            PageScores(0.5, anchors={links[0]: 1.0, links[1]: 0.0}),
            *links,
        )
        best, *others = map(prioritizer.worth, links)
        assert [best > max(others), others[0]] == [True, others[1]]

    def test_the_history_of_a_site(self):
        """Of URLs that nothing links to those of a site of good pages go first; few pages say
        little.
        """
        prioritizer = focused()
        for page in range(30):
            tell(prioritizer, f"http://good/{page}", PageScores(0.9))
            tell(prioritizer, f"http://bad/{page}", PageScores(0.1))
        tell(prioritizer, "http://new/", PageScores(0.1))
        worth = [
            prioritizer.worth(f"http://{name}/x") for name in ("good", "unknown", "new", "bad")
        ]
        assert worth == sorted(worth, reverse=True)
        assert prioritizer.history("http://good/x") == (pytest.approx(0.875, abs=0.02), 30)

    def test_a_page_without_a_score_says_nothing(self):
        """Its links, and its site, are as if it had not been there."""
        prioritizer = focused()
        tell(prioritizer, "http://a/", PageScores(None, flaw="died"), "http://x/")
        prioritizer.heard("http://b/", ["http://x/"])
        assert prioritizer.worth("http://x/") == prioritizer.worth("http://y/") == 0

    def test_memory_is_bounded(self):
        """Pages whose links were never heard are forgotten."""
        prioritizer = focused()
        for page in range(PENDING + 1):
            prioritizer.scored(f"http://a/{page}", PageScores(1.0))
        for page in range(2):
            prioritizer.heard(f"http://a/{page}", [f"http://x/{page}"])

        assert prioritizer.worth("http://x/0") == prioritizer.worth("http://y/")
        assert prioritizer.worth("http://x/1") > prioritizer.worth("http://y/")

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 30), st.floats(0, 1), st.lists(st.integers(0, 30), max_size=5)
            ),
            max_size=40,
        )
    )
    def test_what_is_saved_is_the_same(self, pages):
        """After a restart all URLs are worth what they were."""
        first, second = focused(), focused()
        table = Popularity(bytes(16), 1 << 16)
        first.learn(table)
        for page, score, links in pages:
            tell(
                first,
                f"http://a/{page}",
                PageScores(score),
                *(f"http://b/{link}" for link in links),
            )
        again = Popularity(bytes(16), 1 << 16)
        again.restore(table.save())
        second.learn(again)
        urls = [f"http://{host}/{page}" for host in "ab" for page in range(31)]
        assert [*map(first.worth, urls)] == [*map(second.worth, urls)]
        assert all(0 <= first.history(url)[0] <= 1 for url in urls)


class TestLanguage:
    def test_links_and_seeds(self):
        """Links of pages in a wanted language, hreflang, a mark in the URL, and the top-level
        domain count.
        """
        prioritizer = focused(ByLanguage, ("sl", "hr"))
        links = ("http://a.com/1", "http://a.com/2", "http://a.com/en/1")
        tell(
            prioritizer,
            "http://b.com/",
            PageScores(1.0, "sl", 1.0, tongues={links[1]: 0.0}),
            *links,
        )
        worth = [
            *map(
                prioritizer.worth,
                (links[0], "http://x.hr/", links[1], "http://x.org/", "http://x.de/", links[2]),
            )
        ]
        assert worth[:2] == sorted(worth[:2], reverse=True)
        assert min(worth[:2]) > max(worth[2:])
        assert worth[3] > worth[4]
        assert worth[0] > worth[5]

    def test_a_score_decides_among_pages_of_a_language(self):
        """The language goes first; a page whose language is not known has its score alone."""
        prioritizer = focused(ByLanguage, ("sl",))
        given = (
            PageScores(0.9, "sl", 1.0),
            PageScores(0.1, "sl", 1.0),
            PageScores(0.9, "en", 0.0),
            PageScores(0.1, "en", 0.0),
        )
        values = [*map(prioritizer.value, given)]
        assert values == sorted(values, reverse=True)
        assert prioritizer.value(PageScores(0.3)) == 0.3
        assert prioritizer.value(PageScores(None)) is None
