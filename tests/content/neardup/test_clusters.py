"""Groups of near-duplicates, found while texts come."""

import random

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.neardup.near_duplicates import LOOKED_AT, Clusters

BITS = st.integers(0, 2**64 - 1)


@given(first=BITS, flipped=st.sets(st.integers(0, 63), max_size=8), distance=st.integers(0, 6))
def test_a_text_is_near_if_few_bits_differ(first, flipped, distance):
    """At most as many as are allowed, wherever they are."""
    clusters, other = Clusters(distance), first
    for bit in flipped:
        other ^= 1 << bit

    assert clusters.of(first) == first
    assert clusters.of(other) == (first if len(flipped) <= distance else other)


@given(st.lists(BITS.map(lambda bits: bits & 0xF0F), min_size=1, max_size=60))
def test_every_text_is_near_the_first_of_its_group(found):
    """And a text that begins a group is far from all that began one before."""
    clusters, names = Clusters(2), []
    for one in found:
        name = clusters.of(one)
        assert (one ^ name).bit_count() <= 2
        if name == one and one not in names:
            assert all((one ^ other).bit_count() > 2 for other in names)
            names.append(one)


def test_memory_is_bounded():
    """Of the groups, those that came last are remembered, at least half of the limit."""
    chance, clusters = random.Random(1), Clusters(4, limit=100)
    names = [chance.getrandbits(64) for _ in range(1000)]
    for name in names:
        clusters.of(name)

    assert all(clusters.of(name ^ 1) == name for name in names[-50:])
    assert clusters.of(names[0] ^ 1) == names[0] ^ 1


def test_texts_that_share_a_block_on_purpose_cost_no_more():
    """Only the latest of them are compared."""
    clusters = Clusters(4)
    names = [chance << 20 | 7 for chance in random.Random(1).sample(range(1 << 44), 2 * LOOKED_AT)]
    for name in names:
        clusters.of(name)

    key = (0, names[0] & (1 << 12) - 1)
    assert len(list(clusters._sharing(key))) == LOOKED_AT
