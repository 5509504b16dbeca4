"""Hosts and domains that leave one frontier and come to another; what is foreign is turned away."""

import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.frontiers import OK, add, drain, make, over_budget
from tests.support.moving_hives import Allowance
from webcrawl.base.model import Link, Outcome, Status, unpack
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.host_row import HostState

LIMITS = Limits(queues=2, max_queues=4, host_failures=3, retry_wait=5)
A, B = "a.test", "b.test"


@pytest.fixture
def db(tmp_path):
    with closing(CrawlDB(tmp_path / "state")) as opened:
        yield opened


def shut(frontier, *names):
    """Makes hosts foreign; returns the list of URLs that are turned away."""
    left = []
    frontier.moves.guard(lambda name: name in names, lambda record: left.append(unpack(record).url))
    frontier.moves.freeze()
    return left


def export(frontier, now, *names):
    """All pieces of these hosts and domains, as they come out of a batch."""
    moves, pieces = frontier.moves, []
    for _ in moves.sweep():
        pass
    for some in moves.hosts(names.__contains__, lambda: now):
        pieces += some
    for some in moves.domains(names.__contains__):
        pieces += some
    return msgpack.unpackb(msgpack.packb(pieces))


def unpacked(frontier, pieces, now):
    moves = frontier.moves
    for kind, name, value in pieces:
        if kind == "urls":
            moves.urls(name, value)
        elif kind == "later":
            moves.later(name, value, now)
        elif kind == "host":
            moves.host(value, now)
        elif kind == "held":
            moves.held(name, value)
        else:
            moves.domain(name, value)
    for kind, name, _ in pieces:
        if kind == "host":
            moves.arrive(name, now)


def urls(taken):
    return [link.url for _, link in taken]


class TestLeave:
    def test_a_lent_host_is_waited_for_and_no_other_is_lent(self, db):
        """An inline download that has a foreign host ends first; the next one is refused."""
        frontier = make(db)
        link = Link(f"http://{A}/inline")
        assert frontier.lending.lend(link, 0.0, lambda _: None) is None
        shut(frontier, A)
        assert frontier.moves.busy()

        frontier.lending.give_back(A, OK, 0.2)

        assert not frontier.moves.busy()
        assert frontier.lending.lend(link, 99.0, lambda _: None) == Status.HOST_RETIRED

    def test_a_host_that_waits_for_its_address_leaves_too(self, db):
        """With politeness per address, the next host of the address is not woken if it is foreign."""
        frontier = make(db, Limits(queues=3, max_queues=4), addresses=Addresses())
        add(frontier, f"http://{A}/1", f"http://{B}/1")
        for _, link in zip(range(2), iter(lambda: frontier.take(0), None), strict=False):
            frontier.done(link, Outcome(200, 0.1, ip="192.0.2.1"), 0.1)
        add(frontier, f"http://{A}/2", f"http://{B}/2")
        first = frontier.take(50.0)
        assert frontier.take(50.0) is None
        second = B if A in first.url else A
        shut(frontier, second)

        frontier.done(first, OK, 51.0)

        assert frontier.take(500.0) is None
        assert frontier.next_ready() is None

    def test_charges_of_foreign_hosts_are_not_taken_back_here(self, db):
        """When failures turn out to be ours, a URL that ended by them goes to whoever has its host
        now.
        """
        frontier = make(db, Limits(queues=2, max_queues=4, attempts=1))
        add(frontier, f"http://{A}/1")
        link = frontier.take(0)
        assert frontier.done(link, Outcome(Status.TIMEOUT, 1.0, doubtful=True), 1.0)
        left = shut(frontier, A)
        export(frontier, 2.0, A)

        assert frontier.outage.pardon(0.0) == 1
        assert left == [f"http://{A}/1"]
        assert len(frontier) == 0


RECORDS = st.lists(st.tuples(st.sampled_from([0, 0, 0, 5, -5]), st.integers(0, 99)), max_size=30)


class TestRoundTrip:
    @examples(50)
    @given(
        records=RECORDS,
        outcomes=st.lists(
            st.sampled_from([200, 200, 503, 500, Status.CONNECT_FAILED, Status.TIMEOUT]), max_size=6
        ),
        delay=st.floats(0, 2000),
        blocks=st.booleans(),
    )
    def test_a_host_is_the_same_elsewhere(self, records, outcomes, delay, blocks):
        """Its record, its URLs and their order are the same in the other frontier, with waits that
        are left.
        """
        with ExitStack() as rest:
            dbs = [
                rest.enter_context(
                    closing(CrawlDB(Path(rest.enter_context(tempfile.TemporaryDirectory()))))
                )
                for _ in "ab"
            ]
            one, other = (make(db, LIMITS, memory=1000 if blocks else 1 << 20) for db in dbs)
            one.crawl_delay(A, 7.0)
            one.add(
                Link(
                    f"http://{A}/{at}-{number}", "L", request=f"{priority}.x" if priority else ""
                ).pack()
                for at, (priority, number) in enumerate(records)
            )
            now = 1000.0
            for status in outcomes:
                link = one.take(now)
                if link is None:
                    break
                one.done(link, Outcome(status, 0.3, ip="192.0.2.1"), now + 0.3)
                now = max(now + 0.3, one.next_ready() or now)
            while one.rotation._from_front():
                pass
            before = host_of(one, A)
            count = len(one)
            shut(one, A)

            pieces = export(one, now, A)
            unpacked(other, pieces, now + delay)

            after = host_of(other, A)
            assert len(one) == one.queued == one.core.deferred.urls == one.core.deferred.hosts == 0
            assert one.core.hosts.names("", 9) == []
            assert len(other) == count
            assert len(export(one, now, A)) == 0
            assert after["ready_at"] >= max(before["ready_at"], now) + delay - 1e-6
            for name in ("times", "crawl_delay", "failures", "pages", "retired", "ip", "urls"):
                assert after[name] == before[name], name
            assert after["later"] == pytest.approx(
                [at if at <= 0.0 else at + delay for at in before["later"]]
            )
            if before["failed"] is not None:
                assert abs(after["failed"].at - delay - before["failed"].at) < 1e-6
                assert after["failed"][1:] == before["failed"][1:]
            if after["state"] is HostState.DEFERRED:
                assert (other.core.deferred.urls, other.core.deferred.hosts) == (count, 1)


class TestDomains:
    def test_budgets_move(self, db, tmp_path):
        """Pages used, what is owed, who links to it, and the URLs that wait come along; the sum
        stays the same.
        """
        with closing(CrawlDB(tmp_path / "other")) as second:
            one = make(db, allowance=Allowance(2))
            other = make(second, allowance=Allowance(3))
            one.domains.heard("http://c.test/", [f"http://{A}/"])
            add(one, *(f"http://{A}/{page}" for page in range(6)), path="L")
            taken = drain(one, 0.0)
            assert (len(taken), over_budget(one)) == (2, (4, 1))
            shut(one, A)

            unpacked(other, export(one, 50.0, A), 50.0)

            assert (len(one), over_budget(one)) == (0, (0, 0))
            assert (len(other), over_budget(other)) == (4, (4, 1))
            assert other.core.queues.budgets.reputation.links_to(A) == 1
            assert one.core.queues.budgets.reputation.links_to(A) == 0
            assert len(drain(other, 60.0)) == 1

    def test_a_url_that_is_turned_away_costs_its_domain_nothing(self, db, monkeypatch):
        """What was let in, and waited in a line, is given back to the budget: elsewhere it is
        charged again.
        """
        monkeypatch.setattr("webcrawl.frontier.place_shares.MIN_PLACES", 1)
        limits = Limits(queues=1, max_queues=9, domain_share=16)
        frontier = make(db, limits, domain=lambda _: "d.test", allowance=Allowance(100))
        add(frontier, *(f"http://{letter}.d.test/" for letter in "abcdef"), path="L")
        for _ in range(3):
            frontier.rotation.refill()
        used = frontier.core.queues.budgets.table.get("d.test").used
        names = [f"{letter}.d.test" for letter in "abcdef"]
        left = shut(frontier, *names)
        for _ in frontier.moves.sweep():
            pass

        assert left
        assert frontier.core.queues.budgets.table.get("d.test").used == used - len(left)


def host_of(frontier, name):
    """All that a host's record says, and its URLs in order, without changing anything."""
    host = frontier.core.back.active.get(name)
    held = host if host is not None else frontier.core.hosts.get(name)
    records = [queue.first(queue.count) for queue in held.queues()]
    ranked = [] if held.ranked is None else [priority for priority, _ in held.ranked.queues]
    said = {
        "ready_at": held.ready_at,
        "times": [*held.times],
        "crawl_delay": held.crawl_delay,
        "failures": held.failures,
        "failed": held.failed,
        "pages": held.pages,
        "retired": held.retired,
        "ip": held.ip,
        "later": [at for at, _ in sorted(held.later)],
        "urls": (ranked, records, [record for _, record in sorted(held.later)]),
        "state": held.state,
    }
    if host is None:
        frontier.core.hosts.put_away(held)
    return said
