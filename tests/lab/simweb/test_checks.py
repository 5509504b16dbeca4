"""The checks of a request log find what is impolite, and nothing else."""

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from webcrawl.lab.simweb import (
    Hit,
    Log,
    World,
    by_address,
    gaps,
    mercator,
    overlaps,
    read,
    robots_first,
    trap_hits,
)


def hit(started, ended, url="http://site0.test/", **more):
    return Hit(
        started, 0.0, url, more.pop("address", "127.0.0.1"), 1, ended=ended, status=200, **more
    )


SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10), st.integers(0, 2)), max_size=12)


class TestOverlaps:
    @given(SPANS)
    def test_a_host_is_blamed_if_two_of_its_requests_overlap(self, spans):
        """A host has overlaps if and only if two of its requests were in progress at the same time."""
        log = [
            hit(start, start + length, f"http://site{host}.test/{n}")
            for n, (start, length, host) in enumerate(spans)
        ]

        blamed = {pair[0].host for pair in overlaps(log)}

        assert blamed == {
            one.host
            for one, two in combinations(sorted(log, key=lambda hit: hit.started), 2)
            if one.host == two.host and two.started < one.ended
        }

    def test_the_pair_is_named(self):
        """An overlap names the request in progress and the one that came too early."""
        long, short, inside = hit(0, 10), hit(1, 2), hit(5, 6)
        assert overlaps([inside, short, long]) == [(long, short), (long, inside)]

    def test_hosts_with_several_connections(self):
        """A host that may have two requests at once is blamed for the third, and all others for the
        second.
        """
        log = [
            hit(0, 10),
            hit(1, 4),
            hit(2, 3),
            hit(5, 6),
            hit(0, 2, other := "http://site1.test/"),
            hit(1, 3, other),
        ]

        found = overlaps(log, connections={"site0.test": 2})

        assert found == [(log[1], log[2]), (log[4], log[5])]

    def test_hosts_of_one_address(self):
        """Grouped by address, requests to different hosts count as requests to one."""
        log = [hit(0, 2, "http://site0.test/"), hit(1, 3, "http://site1.test/")]
        assert not overlaps(log)
        assert len(overlaps(log, by_address)) == 1


class TestGaps:
    def test_a_wait_too_short(self):
        """Two requests closer together than the rule allows are reported with both times."""
        log = [hit(0, 1), hit(3, 4), hit(5.9, 6)]

        (found,) = gaps(log, lambda _: 2.0)

        assert (found.first, found.second) == (log[1], log[2])
        assert (round(found.seconds, 6), found.wanted) == (1.9, 2.0)

    def test_the_wait_counts_from_the_end(self):
        """The wait starts at the end of the answer, so a slow answer's time does not count."""
        assert gaps([hit(0, 10), hit(11, 12)], lambda _: 2.0)
        assert not gaps([hit(0, 10), hit(12, 13)], lambda _: 2.0)

    def test_several_connections(self):
        """Of two requests at once each has its wait: a third one has to come after one of these."""
        two = {"site0.test": 2}
        assert not gaps(
            [hit(0, 1), hit(0, 2), hit(3, 4), hit(4, 5)], lambda _: 2.0, connections=two
        )
        (found,) = gaps(
            [hit(0, 1), hit(0, 2), hit(3, 4), hit(3.9, 5)], lambda _: 2.0, connections=two
        )
        assert (found.first.ended, found.second.started, found.wanted) == (2, 3.9, 2.0)

    def test_mercators_rule(self):
        """The rule asks for ten times the download, within bounds, or for what the host asked for
        if that is more.
        """
        wanted = mercator(World(1, 1, slow=7.0), factor=10, minimum=1, maximum=30)
        delaying = mercator(World(1, 1, slow=7.0, mix={"robots_delay": 1.0}), minimum=1)

        assert wanted(hit(0, 2)) == 20
        assert wanted(hit(0, 0.001)) == 1
        assert wanted(hit(0, 9)) == 30
        assert wanted(hit(0, 0.001, retry_after=12)) == 12
        assert delaying(hit(0, 0.001)) == 7


class TestRobotsFirst:
    def test_a_page_before_robots(self):
        """If a host's first request is not for robots.txt, that request is reported."""
        log = [
            hit(0, 1, "http://site0.test/robots.txt"),
            hit(2, 3, "http://site0.test/"),
            hit(4, 5, "http://site1.test/a"),
            hit(6, 7, "http://site1.test/robots.txt"),
        ]
        assert robots_first(log) == [log[2]]

    def test_each_port_is_an_origin(self):
        """The robots.txt of one port does not cover another one."""
        log = [hit(0, 1, "http://site0.test:80/robots.txt"), hit(2, 3, "https://site0.test:81/a")]
        assert robots_first(log) == [log[1]]

    def test_a_redirected_robots_txt(self):
        """The target of another host's redirected robots.txt may be requested before the host's
        own.
        """
        log = [hit(0, 1, "http://site1.test/x/robots/0"), hit(2, 3, "http://site1.test/robots.txt")]
        assert not robots_first(log)


def test_trap_hits_are_counted_by_host_and_kind():
    """Requests for trap pages are counted, entrances included; other special answers are not."""
    urls = [
        "/x/trap_calendar/1",
        "/x/trap_calendar/1?month=2024-01",
        "/x/trap_numbers/2?page=1",
        "/x/png/1",
        "/",
    ]

    counts = trap_hits(hit(0, 1, f"http://site0.test{url}") for url in urls)

    assert counts == Counter(
        {("site0.test", "trap_calendar"): 2, ("site0.test", "trap_numbers"): 1}
    )


def test_a_log_file_gives_its_hits_back(tmp_path):
    """Any hit is one line of the log file, and is read back unchanged."""
    hits = [
        hit(0.25, 1.5, "http://site0.test/\u2028\t\n\x00\xff", outcome="left"),
        hit(2, 3, retry_after=2),
    ]
    log = Log(tmp_path / "log.jsonl")
    for one in hits:
        log.add(one)
    log.close()

    assert [*read(tmp_path / "log.jsonl")] == hits == log.hits
