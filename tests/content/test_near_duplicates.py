"""Fingerprints of texts, the count of near-duplicates among many, and groups of them, found while
texts come.
"""

import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.near_duplicates import (
    DISTANCE,
    MAX_COMPARED,
    PAIRS,
    Clusters,
    fingerprint,
    near_duplicates,
    read_log,
    reported,
)

WORDS = [f"word{number}" for number in range(3000)]


def text(seed, size=600):
    return random.Random(seed).choices(WORDS, k=size)


def distance(one, other):
    return (fingerprint(" ".join(one)) ^ fingerprint(" ".join(other))).bit_count()


class TestFingerprint:
    def test_it_is_the_same_everywhere(self):
        """No process and no crawl has a key of its own: fingerprints of several crawls can be
        compared.
        """
        assert f"{fingerprint(' '.join(text(1))):016x}" == "42e0f53bdea4da51"

    def test_case_and_space_do_not_matter(self):
        """Texts that differ in nothing else are equal."""
        words = text(1)

        assert fingerprint("  ".join(words).upper()) == fingerprint("\n".join(words))

    @pytest.mark.parametrize("seed", range(20))
    def test_little_change_is_near(self, seed):
        """With two in a hundred words changed the average text is within the distance, and none is
        far off.
        """
        words = text(seed)
        changed = words[:300] + ["new"] * 6 + words[306:]

        assert distance(words, changed) <= DISTANCE

    @pytest.mark.parametrize("seed", range(20))
    def test_other_texts_are_far(self, seed):
        """Texts of the same words in another order have half of the bits in common."""
        assert 12 < distance(text(seed), text(seed + 1000)) < 52

    @pytest.mark.parametrize("said", ["", "word", "a " * 1000, " ".join(WORDS[:PAIRS])])
    def test_a_short_text_has_none(self, said):
        """Fewer distinct pairs of words than PAIRS are too few to tell."""
        assert fingerprint(said) is None

    def test_a_language_without_blanks(self):
        """Characters count as words: Chinese and Thai texts have fingerprints, and little change is
        near.
        """
        for first in (0x4E00, 0x0E01):
            signs = [chr(first + random.Random(at).randrange(50)) for at in range(400)]
            other = [*signs[:200], chr(first), *signs[200:]]
            assert (
                fingerprint("".join(signs)) ^ fingerprint("".join(other))
            ).bit_count() <= DISTANCE

    @given(st.text(max_size=300) | st.text("ab \ud800\n", max_size=300))
    def test_any_text_has_a_fingerprint_of_64_bits(self, said):
        """None raises, and a fingerprint has 64 bits."""
        found = fingerprint(said)

        assert found is None or 0 <= found < 1 << 64


class TestCurve:
    @pytest.mark.parametrize("changed", [1, 3, 5, 10])
    def test_it_is_what_pairs_of_texts_have(self, changed):
        """Of texts of 200 words, some of them changed, as many are within the distance as the curve
        says.

        That is within four standard deviations, for each distance.
        """
        random_ = random.Random(changed)
        distances, shares = [], []
        for _ in range(400):
            one = random_.choices(WORDS, k=200)
            other = [*one]
            for at in random_.sample(range(200), changed):
                other[at] = "another"
            pairs = {*pairwise(one)}, {*pairwise(other)}
            shares.append(len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1]))
            distances.append(distance(one, other))

        for bits in (2, DISTANCE, 6):
            chances = [reported(share, bits) for share in shares]
            found = sum(one <= bits for one in distances)
            assert (
                abs(found - sum(chances))
                <= 4 * sum(chance * (1 - chance) for chance in chances) ** 0.5 + 1
            )

    @given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 63))
    def test_more_in_common_is_found_more_often(self, one, other, bits):
        """With a larger share, and with a longer distance, a pair is reported with a larger
        probability, up to one.
        """
        less, more = sorted((one, other))

        assert reported(less, bits) <= reported(more, bits) + 1e-12
        assert reported(less, bits) <= reported(less, bits + 1) + 1e-12
        assert reported(1.0, bits) == 1.0


class TestSearch:
    @given(st.lists(st.integers(0, 63), max_size=12), st.integers(0, 2**64 - 1), st.integers(0, 8))
    def test_no_pair_is_missed(self, bits, one, distance):
        """Wherever two fingerprints differ, they are found if and only if that is in at most so
        many bits.
        """
        other = one
        for bit in bits:
            other ^= 1 << bit
        found = near_duplicates(np.array([one, other], np.uint64), distance)

        assert found == (
            2,
            2 if (one ^ other).bit_count() <= distance else 0,
            2 if one == other else 0,
        )

    def test_as_comparing_each_with_each(self):
        """Among some thousand, in groups, the counts are those of the plain way."""
        chance = random.Random(7)
        centres = [
            centre
            for centre in (chance.getrandbits(64) for _ in range(150))
            for _ in range(chance.choice((1, 2, 6)))
        ]
        found = [
            one ^ sum({1 << chance.randrange(64) for _ in range(chance.randrange(6))})
            for one in centres
        ]
        pairs = combinations(range(len(found)), 2)
        near = {
            at
            for one, other in pairs
            for at in (one, other)
            if (found[one] ^ found[other]).bit_count() <= DISTANCE
        }

        assert near_duplicates(np.array(found, np.uint64))[:2] == (len(found), len(near))

    def test_many_alike_are_bounded(self):
        """Thousands that share two blocks without being near cost a bounded number of comparisons,
        and are not near.
        """
        chance = np.random.default_rng(1)
        found = chance.integers(0, 2**40, 5000, dtype=np.uint64)

        assert near_duplicates(found).pages == 5000

    @pytest.mark.parametrize("lines", [[], [b"-\thttp://a.test/\n"]])
    def test_without_fingerprints_there_are_no_pairs(self, lines):
        """An empty log, or pages without a fingerprint, have none."""
        assert near_duplicates(read_log(lines)) == (0, 0, 0)

    def test_a_log_is_read(self):
        """Pages without a fingerprint are left out."""
        lines = [
            b"ffffffffffffffff\thttp://a.test/\n",
            b"-\thttp://a.test/b\n",
            b"fffffffffffffffe\thttp://a.test/c\n",
        ]

        assert near_duplicates(read_log(lines)) == (2, 2, 0)


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
    names = [
        chance << 20 | 7 for chance in random.Random(1).sample(range(1 << 44), 2 * MAX_COMPARED)
    ]
    for name in names:
        clusters.of(name)

    in_other_blocks = 1 << 13 | 1 << 26 | 1 << 39 | 1 << 52
    assert clusters.of(names[-MAX_COMPARED] ^ in_other_blocks) == names[-MAX_COMPARED]
    too_old = names[0] ^ in_other_blocks
    assert clusters.of(too_old) == too_old
