"""Hosts that may hold a slot for long get a share of the slots, and those that are not kept for
better hosts.
"""

from itertools import islice

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB

SILENT = Outcome(Status.TIMEOUT, 30.0)


def fetchers(count, **limits):
    return Limits(**{"queues": 100, "max_queues": 1000, "fetchers": count, **limits})


def answered(frontier, *hosts, outcome=OK, now=0, path=""):
    """Fetches one URL of each of these hosts, before others are added."""
    for host in hosts:
        add(frontier, f"http://{host}/", path=path)
        frontier.done(frontier.take(now), outcome, now)


def hosts_taken(frontier, now, most=1000):
    """The hosts handed out now, without finishing any."""
    links = islice(iter(lambda: frontier.take(now), None), most)
    return [link.url.split("/")[2] for link in links]


class TestOrder:
    def test_beyond_their_share_unproven_hosts_go_last(self, db):
        """When unproven hosts have used up their share, all hosts that answered go first."""
        frontier = make(db, fetchers(32))
        answered(frontier, "old1", "old2", "old3")
        add(
            frontier,
            *(f"http://new{i}/" for i in range(5)),
            *(f"http://old{i}/1" for i in (1, 2, 3)),
        )

        taken = hosts_taken(frontier, 10)

        assert sorted(taken[:5]) == ["new0", "new1", "old1", "old2", "old3"]
        assert taken[5:] == ["new2", "new3", "new4"]

    def test_no_slot_is_idle_while_anybody_may_be_requested(self, db):
        """Without better hosts, unproven ones get every slot: a crawl of new hosts runs at full
        speed.
        """
        frontier = make(db, fetchers(16, queues=2))
        add(frontier, *(f"http://new{i}/" for i in range(300)))

        assert len(hosts_taken(frontier, 0)) == 16

    def test_a_fetcher_looks_for_hosts_that_answer_before_it_asks_one_more_that_may_not(self, db):
        """Beyond the share, more hosts are let in as if none were due, and those that answered go
        first.
        """
        frontier = make(db, fetchers(16, queues=3))
        answered(frontier, "old")
        add(frontier, *(f"http://new{i}/" for i in range(5)), "http://old/1")
        assert hosts_taken(frontier, 1, 1) == ["new0"]

        assert hosts_taken(frontier, 10, 1) == ["old"]
        assert frontier.core.width > 3

    def test_unproven_hosts_keep_their_share_among_those_that_answer(self, db):
        """Until the share is used up, hosts that waited longer go first: no host starves."""
        frontier = make(db, fetchers(16))
        answered(frontier, *(f"old{i}" for i in range(20)))
        add(frontier, "http://new1/", "http://new2/")
        add(frontier, *(f"http://old{i}/{page}" for page in range(50) for i in range(20)))
        served, now = [], 10.0
        while "new2" not in served:
            link = frontier.take(now)
            served.append(link.url.split("/")[2])
            frontier.done(link, OK, now)
            now += 1.0

        assert len(served) <= 22

    def test_a_failing_host_has_a_share_beside_new_ones(self, db):
        """However many new hosts wait, one slot in sixteen is for hosts that failed, in their turn."""
        frontier = make(db, fetchers(16))
        answered(frontier, "bad", "worse", outcome=SILENT)
        add(frontier, *(f"http://new{i}/" for i in range(50)))

        taken = hosts_taken(frontier, 1000)

        assert len(taken) == 16
        assert "bad" in taken
        assert "worse" not in taken

    def test_without_a_limit_of_fetchers_nobody_is_held_back(self, db):
        """With CONCURRENT_REQUESTS = 0 there is no share: hosts that waited longer go first."""
        frontier = make(db, fetchers(0))
        add(frontier, "http://new1/", "http://new2/", "http://new3/")
        answered_first = frontier.take(0)
        frontier.done(answered_first, OK, 0)
        add(frontier, answered_first.url + "1")

        assert hosts_taken(frontier, 50) == ["new2", "new3", "new1"]


class TestReserve:
    def crowd(self, db, proven, slots=48, awaited=None):
        """A frontier with so many proven hosts that wait their turn, and with more new hosts than
        slots.
        """
        frontier = make(db, fetchers(slots), awaited=awaited)
        old = [f"old{i}" for i in range(proven)]
        answered(frontier, *old)
        add(frontier, *(f"http://{host}/1" for host in old))
        add(frontier, *(f"http://new{i}/" for i in range(200)))
        return frontier

    @pytest.mark.parametrize(("proven", "left"), [(0, 48), (1, 47), (10, 38), (20, 32)])
    def test_slots_are_kept_for_proven_hosts_that_wait_their_turn(self, db, proven, left):
        """Unproven hosts leave a slot to each proven host in the back-end, up to a third of all
        slots.
        """
        frontier = self.crowd(db, proven)

        assert len(hosts_taken(frontier, 0.5)) == left

    def test_whoever_holds_the_slots_of_unproven_hosts_does_not_hold_more(self, db):
        """Hosts of all unproven standings together leave the slots that are kept for the proven."""
        frontier = make(db, fetchers(48))
        answered(
            frontier,
            *(f"bad{i}" for i in range(50)),
            outcome=Outcome(Status.CONNECT_FAILED),
            now=890,
        )
        answered(frontier, *(f"half{i}" for i in range(50)), now=900, path="P")
        answered(frontier, *(f"old{i}" for i in range(20)), outcome=Outcome(200, 4.0), now=940)
        add(frontier, *(f"http://old{i}/1" for i in range(20)))
        add(frontier, *(f"http://{name}{i}/1" for name in ("half", "new") for i in range(50)))

        taken = hosts_taken(frontier, 960)

        assert len(taken) == 32
        assert {host.rstrip("0123456789") for host in taken} == {"bad", "half", "new"}

    def test_the_next_time_is_that_of_a_host_that_may_go(self, db):
        """While new hosts are held back, the next time is that of the first proven host: nothing
        spins.
        """
        frontier = self.crowd(db, 10)
        hosts_taken(frontier, 0.5)

        assert frontier.next_ready() == pytest.approx(2.0)

    def test_a_slot_that_is_given_back_goes_to_a_host_that_was_held_back(self, db):
        """When an unproven host's request ends, the next one gets a slot."""
        frontier = self.crowd(db, 10)
        links = list(iter(lambda: frontier.take(0.5), None))
        frontier.done(links[0], OK, 0.5)

        assert len(hosts_taken(frontier, 0.5)) == 1

    @pytest.mark.parametrize(("awaited", "left"), [(True, 38), (False, 48)])
    def test_slots_are_kept_for_hosts_whose_links_are_on_their_way(self, db, awaited, left):
        """Proven hosts without URLs have slots kept for them while links wait to be merged, and not
        otherwise.
        """
        frontier = make(db, fetchers(48), awaited=lambda: awaited)
        answered(frontier, *(f"old{i}" for i in range(10)))
        add(frontier, *(f"http://new{i}/" for i in range(200)))

        assert len(hosts_taken(frontier, 0.5)) == left

    def test_a_crawl_with_one_slot_goes_on(self, db):
        """With one slot nothing is kept: a new host gets it beside a proven one that waits."""
        frontier = make(db, fetchers(1))
        answered(frontier, "old")
        add(frontier, "http://old/1", "http://new/")

        assert hosts_taken(frontier, 0.5) == ["new"]


class TestProof:
    def first(self, db, outcome, **options):
        """With the shares used up, which host goes first: one with this outcome, or a proven one
        that is due later.
        """
        frontier = make(db, fetchers(16, retry_wait=1), **options)
        answered(frontier, "busy", outcome=SILENT)
        assert frontier.take(500).url == "http://busy/"
        answered(frontier, "it", outcome=outcome, now=500)
        answered(frontier, "proven", outcome=Outcome(200, 1.2), now=500)
        add(frontier, "http://it/1", "http://proven/1")
        return hosts_taken(frontier, 600, 1)

    @pytest.mark.parametrize("status", [200, 301, 404, 500, 503])
    def test_an_answer_is_a_proof(self, db, status):
        """A host that answers is proven, whatever the status."""
        assert self.first(db, Outcome(status, 0.1)) == ["it"]

    @pytest.mark.parametrize("status", [Status.TIMEOUT, Status.CONNECT_FAILED, Status.DNS_FAILED])
    def test_a_failure_is_none(self, db, status):
        """A host that did not answer, or refused, is unproven."""
        assert self.first(db, Outcome(status, 0.1)) == ["proven"]

    def test_a_slow_answer_is_none(self, db):
        """A host whose answer took far longer than answers usually do is unproven."""
        assert self.first(db, Outcome(200, 20.0)) == ["proven"]

    def test_five_quick_answers_make_up_for_a_slow_one(self, db):
        """A host whose last five answers came in good time is proven, whatever it did before."""
        frontier, now = make(db, fetchers(16)), 0
        for outcome in (Outcome(200, 20.0), OK, OK, OK, OK):
            answered(frontier, "it", outcome=outcome, now=now)
            now += 300
        assert frontier.core.back.slots.hosts == [0, 0, 0, 0]
        add(frontier, "http://it/1", "http://it/2")

        link = frontier.take(now)
        assert frontier.core.back.slots.hosts == [0, 0, 0, 1]
        frontier.done(link, OK, now)
        assert frontier.core.back.slots.hosts == [1, 0, 0, 0]

    def test_robots_txt_is_half_a_proof(self, db):
        """A host that has answered for its robots.txt only goes behind proven hosts and before new
        ones.
        """
        frontier = make(db, fetchers(16))
        answered(frontier, "half", path="P")
        answered(frontier, "proven")
        add(frontier, "http://half/1", "http://half/2", "http://half2/", "http://proven/1")
        frontier.core.back.slots.share = 0

        assert hosts_taken(frontier, 50) == ["proven", "half", "half2"]

    def test_an_answer_is_no_proof_for_ever(self, db):
        """A host that answered and then fails is unproven again."""
        frontier = make(db, fetchers(16))
        answered(frontier, "it", "proven")
        add(frontier, "http://it/1")
        frontier.done(frontier.take(10), SILENT, 40)  # due again at 340
        add(frontier, "http://proven/1")
        frontier.core.back.slots.share = 0

        assert hosts_taken(frontier, 350) == ["proven", "it"]

    def test_it_is_remembered(self, tmp_path):
        """Whether a host is proven is in its record, so it is known when the crawl is resumed."""
        db = CrawlDB(tmp_path)
        frontier = make(db, fetchers(16))
        answered(frontier, "bad", outcome=SILENT)
        answered(frontier, "slow", outcome=Outcome(200, 20.0))
        answered(frontier, "proven")
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db, fetchers(16))
        frontier.core.back.slots.share = 0
        add(frontier, "http://slow/1", "http://proven/1")

        first, *others = hosts_taken(frontier, 1000)
        assert first == "proven"
        assert set(others) == {"bad", "slow"}
        db.close()

    def test_the_urls_of_a_host_given_up_end_though_the_share_is_used_up(self, db):
        """A host that was given up takes no slot: its URLs are dropped at once."""
        frontier = make(db, fetchers(16, host_failures=1, patience=0))
        answered(frontier, "old")
        add(frontier, *(f"http://dead/{i}" for i in range(50)))
        dead = frontier.take(0)
        add(frontier, "http://old/1", "http://old/2")
        frontier.done(dead, SILENT, 30)
        frontier.core.back.slots.share = 0

        assert hosts_taken(frontier, 31, 1) == ["old"]
        assert hosts_taken(frontier, 31, 1) == []
        assert frontier.counters[f"dropped/{Status.TIMEOUT}"] == 49
