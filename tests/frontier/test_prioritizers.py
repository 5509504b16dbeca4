"""Which level a link goes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.prioritizers.arrival import ByArrival
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.prioritizers.reputation import ByReputation
from webcrawl.model import Link, unpack

LINKS = st.builds(
    Link,
    url=st.just("http://a/"),
    path=st.text("LERP", max_size=60),
    via=st.just("http://b/"),
    seed=st.just("a"),
    attempt=st.integers(0, 9),
    history=st.text("cu", max_size=20),
)


@pytest.mark.parametrize("prioritizer", [ByDepth, ByArrival, ByReputation])
class TestContract:
    @given(link=LINKS, levels=st.integers(1, 20))
    def test_the_level_exists(self, prioritizer, link, levels):
        """Every link gets a level between 0 and FRONTIER_LEVELS - 1."""
        assert 0 <= prioritizer(levels).level(link) < levels


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


class TestLink:
    @given(link=LINKS)
    def test_a_packed_link_comes_back(self, link):
        """Packing a link and unpacking it gives the same link."""
        assert unpack(link.pack()) == link
