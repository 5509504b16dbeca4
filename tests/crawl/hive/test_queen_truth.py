"""The queen never ends a crawl too early, and always ends it, whatever the order of what happens."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.crawl.hive.small_hive import SmallHive

seeds = st.integers(0, 1 << 32).map(Random)  # drawing thousands of choices one by one takes minutes
hives = st.builds(SmallHive, seeds, st.integers(1, 4), st.integers(1, 12))
ROUNDS = 200  # a round hands over one letter of each drone; the longest chain is 12 letters, each resent a few times


class TestOver:
    @given(hives, st.integers(0, 1500))
    def test_never_while_anything_is_left(self, hive, steps):
        """Whatever is killed, slow, or restarted empty: it is over only when checkpoints have all URLs as crawled."""
        for _ in range(steps):
            hive.step()
            if hive.over:
                assert (hive.left(), hive.unread()) == (set(), [])
                break

    @given(hives, st.integers(0, 400))
    def test_always_when_nothing_is_left(self, hive, steps):
        """Once all drones live and beat, it is over after all is crawled."""
        for _ in range(steps):
            hive.step()

        for _ in range(ROUNDS):
            if hive.over:
                break
            hive.calm_round()

        assert hive.over
        assert hive.left() == set()
