"""Which level a link goes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link, unpack
from webcrawl.frontier.popularity import Popularity
from webcrawl.frontier.prioritizers import Choosing, Learning, goes_by_way
from webcrawl.frontier.prioritizers.arrival import ByArrival
from webcrawl.frontier.prioritizers.chance import ByChance
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.prioritizers.indegree import ByIndegree
from webcrawl.frontier.prioritizers.opic import ByOpic
from webcrawl.frontier.prioritizers.reputation import ByReputation

LINKS = st.builds(
    Link,
    url=st.just("http://a/"),
    path=st.text("LERP", max_size=60),
    via=st.just("http://b/"),
    seed=st.just("a"),
    attempt=st.integers(0, 9),
    history=st.text("cu", max_size=20),
)


@pytest.mark.parametrize("prioritizer", [ByDepth, ByArrival, ByReputation, ByChance, ByIndegree, ByOpic])
class TestContract:
    @given(link=LINKS, levels=st.integers(1, 20))
    def test_the_level_exists(self, prioritizer, link, levels):
        """Every link gets a level between 0 and FRONTIER_LEVELS - 1."""
        assert 0 <= prioritizer(levels).level(link) < levels


def test_the_url_does_not_matter_where_only_the_way_does():
    """A prioritizer may say that it looks at the way to a URL alone; what is derived from it has to say so itself."""

    class Own(ByDepth):
        def level(self, link):
            return len(link.url)

    assert goes_by_way(ByDepth(8))
    assert not any(goes_by_way(one) for one in (Own(8), ByReputation(8), ByOpic(8)))


class TestPrioritizers:
    def test_depth_counts_links_followed(self):
        """Each link followed since the seed lowers the level by one; redirects and prerequisites do not count."""
        assert [ByDepth(8).level(Link("http://a/", path)) for path in ("", "L", "LRL", "LLP")] == [0, 1, 2, 2]

    def test_what_a_page_needs_is_as_deep_as_the_page(self):
        """An embedded file, and what it embeds in turn, comes with the page; a page behind it is a link away."""
        assert [ByDepth(8).level(Link("http://a/", path)) for path in ("E", "LE", "LeEE", "LEL")] == [0, 1, 1, 3]
        assert ByDepth(8).level(Link("http://a/", "EEEEE")) == 2  # too many to be that

    def test_arrival_makes_no_difference(self):
        """All links go to one queue."""
        assert ByArrival(8).level(Link("http://a/", "LLLL")) == 0

    def test_reputation_raises_by_doublings(self):
        """A link goes one level up for each doubling of the domains that link to its own."""
        prioritizer = ByReputation(8)
        prioritizer.inform({"http://none/": 0, "http://one/": 1, "http://two/": 2, "http://most/": 64}.__getitem__)

        levels = [prioritizer.level(Link(f"http://{name}/")) for name in ("none", "one", "two", "most")]

        assert levels == [7, 7, 6, 1]


class TestLearning:
    def test_who_learns_and_who_chooses(self):
        """In-degree and OPIC hear links; these and chance choose among what waits; the others do neither."""
        others = [ByDepth(8), ByArrival(8), ByReputation(8)]
        assert all(isinstance(one, Learning) and isinstance(one, Choosing) for one in (ByIndegree(8), ByOpic(8)))
        assert isinstance(ByChance(8), Choosing)
        assert not isinstance(ByChance(8), Learning)
        assert not any(isinstance(one, Learning | Choosing) for one in others)

    def test_indegree_counts_pages(self):
        """Each page that links to a URL counts, and the URL itself does not; a page that was fetched is forgotten."""
        prioritizer = _taught(ByIndegree(8))
        prioritizer.heard("http://a/", ["http://b/", "http://c/", "http://a/"])
        prioritizer.heard("http://d/", ["http://c/"])
        assert [prioritizer.worth(f"http://{name}/") for name in "abcd"] == [0, 1, 2, 0]
        prioritizer.heard("http://c/", [])
        assert prioritizer.worth("http://c/") == 0

    def test_opic_gives_all(self):
        """A page has 1 and what it was given, and gives that in equal parts; without links it keeps that."""
        prioritizer = _taught(ByOpic(8))
        prioritizer.heard("http://a/", ["http://b/", "http://c/", "http://a/"])
        prioritizer.heard("http://b/", ["http://c/"])
        assert [prioritizer.worth(f"http://{name}/") for name in "abc"] == [0, 0, 2]
        prioritizer.heard("http://c/", ["http://c/"])
        assert prioritizer.worth("http://c/") == 2

    @given(st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(0, 40), unique=True)), max_size=60))
    def test_cash_is_conserved(self, pages):
        """Every page with links brings 1, and all of it is in the table, or is what the table says it has forgotten."""
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
