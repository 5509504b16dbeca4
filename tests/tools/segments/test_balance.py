"""How many URLs of each host a segment has."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.politeness.fixed import Fixed
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.tools.segments.segment import hosts_needed, most_per_host


@pytest.mark.parametrize(
    ("policy", "needed"),
    [
        pytest.param(Mercator(10, 1.0, 300), 1100, id="ten times as long as a download"),
        pytest.param(Mercator(0, 1.0, 300), 200, id="at least a second"),
        pytest.param(Fixed(10, 70.0, 300), 7100, id="seventy seconds"),
    ],
)
def test_hosts_that_keep_a_crawl_busy(policy, needed):
    """Each of 100 slots needs a host that is asked, and as many more as downloads fit into a host's wait."""
    assert hosts_needed(100, policy.wait) == needed


@pytest.mark.parametrize(
    ("hosts", "most", "needed", "cap"),
    [
        pytest.param([5] * 10, 1000, 10, 5, id="all have equally much"),
        pytest.param([2] * 10 + [1000], 1000, 10, 2, id="one has very much: most of it stays"),
        pytest.param([2] * 10 + [7] * 10, 1000, 10, 7, id="enough hosts have more"),
        pytest.param([2] * 10 + [7] * 10, 45, 10, 2, id="a segment of less: all give equally much"),
        pytest.param([3] * 10, 10, 5, 1, id="one of each"),
        pytest.param([3] * 10, 9, 5, 0, id="more hosts than the segment has URLs"),
        pytest.param([1000], 300, 50, 300, id="a single host"),
        pytest.param([10, 1000], 300, 50, 150, id="too few hosts: what each would give if all had enough"),
        pytest.param([], 300, 50, 0, id="nothing"),
    ],
)
def test_how_many_of_each_host(hosts, most, needed, cap):
    """As many as `needed` hosts have, so that the crawl is busy until the end; what is beyond that stays."""
    assert most_per_host(Counter(hosts), most, needed) == cap


@given(st.lists(st.integers(1, 60), min_size=1, max_size=60), st.integers(1, 400), st.integers(1, 30))
def test_never_more_than_asked_for_and_busy_to_the_end(hosts, most, needed):
    """The segment is not too large; hosts that have more than it takes are cut only when too few would be left."""
    cap = most_per_host(Counter(hosts), most, needed)
    taken = sum(min(cap, count) for count in hosts)

    assert taken <= most
    assert (cap == 0) == (len(hosts) > most)
    if len(hosts) >= needed and cap:
        assert sum(count >= cap for count in hosts) >= needed
        more = sum(min(cap + 1, count) for count in hosts)
        assert sum(count > cap for count in hosts) < needed or more > most
