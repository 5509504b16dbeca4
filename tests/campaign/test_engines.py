"""What `tests.campaign.engines` counts: a count that cannot be wrong would prove nothing."""

from collections import Counter

from tests.campaign.engines.judge import at_two, counts
from webcrawl.lab.simweb import Hit

PAGE = "http://a.test/"


def hit(drone, started, ended, host="a.test"):
    agent = f"webcrawl/1 (drone {drone}, life 1)"
    return Hit(started, started, f"http://{host}/", "127.0.0.1", 1, ended=ended, agent=agent)


def judged(logged, archived):
    return counts(Counter(logged), Counter(archived), {PAGE}, [], changes=0)


class TestHosts:
    def test_one_drone_after_the_other(self):
        """A host that a change of size has given to another drone is at one drone at a time."""
        assert [*at_two([hit(0, 0, 1), hit(0, 2, 3), hit(1, 4, 5)], changes=1)] == []

    def test_two_requests_at_once(self):
        """A host that a drone asks before another one has its answer is at two drones."""
        assert [*at_two([hit(0, 0, 2), hit(1, 1, 3)], changes=1)] == ["a.test"]

    def test_turns(self):
        """So is a host that goes to and fro more often than the size has changed."""
        requests = [hit(0, 0, 1), hit(1, 2, 3), hit(0, 4, 5)]
        assert [*at_two(requests, changes=1)] == ["a.test"]
        assert [*at_two(requests, changes=2)] == []

    def test_other_hosts(self):
        """Two drones ask two hosts at once."""
        assert [*at_two([hit(0, 0, 2), hit(1, 1, 3, "b.test")], changes=0)] == []


class TestUrls:
    def test_once(self):
        """A URL that is logged and archived once is neither lost nor kept twice."""
        found = judged([PAGE], [PAGE])
        assert (found.lost, found.twice) == (set(), set())

    def test_lost(self):
        """A URL that no drone has logged is lost, though an archive may have it."""
        assert judged([], [PAGE]).lost == {PAGE}

    def test_twice(self):
        """A URL is kept twice if the logs or the archives have it twice."""
        assert judged([PAGE, PAGE], [PAGE]).twice == {PAGE}
        assert judged([PAGE], [PAGE, PAGE]).twice == {PAGE}
