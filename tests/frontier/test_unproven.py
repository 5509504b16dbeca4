"""Hosts that may not answer get a share of the slots, and those that no other host can use."""

from itertools import islice

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.frontier.booking import Limits
from webcrawl.model import Outcome, Status
from webcrawl.store.crawldb import CrawlDB

SILENT = Outcome(Status.TIMEOUT, 30.0)


@pytest.fixture(name="db")
def _db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


def fetchers(count, **limits):
    return Limits(**{"queues": 100, "max_queues": 1000, "fetchers": count, **limits})


def answered(frontier, *hosts, outcome=OK):
    """Fetches one URL of each of these hosts, before others are added."""
    add(frontier, *(f"http://{host}/" for host in hosts))
    for link in [frontier.take(0) for _ in hosts]:
        frontier.done(link, outcome, 0)


def hosts_taken(frontier, now, most=1000):
    """The hosts handed out now, without finishing any."""
    links = islice(iter(lambda: frontier.take(now), None), most)
    return [link.url.split("/")[2] for link in links]


class TestOrder:
    def test_beyond_their_share_unproven_hosts_go_last(self, db):
        """When unproven hosts have used up their share, all hosts that answered go first."""
        frontier = make(db, fetchers(32))
        answered(frontier, "old1", "old2", "old3")
        add(frontier, *(f"http://new{i}/" for i in range(5)), *(f"http://old{i}/1" for i in (1, 2, 3)))

        taken = hosts_taken(frontier, 10)

        assert sorted(taken[:5]) == ["new0", "new1", "old1", "old2", "old3"]
        assert taken[5:] == ["new2", "new3", "new4"]

    def test_no_slot_is_idle_while_anybody_may_be_asked(self, db):
        """If no other host is due, unproven hosts get every slot: a crawl of new hosts runs at full speed."""
        frontier = make(db, fetchers(16, queues=2))
        add(frontier, *(f"http://new{i}/" for i in range(300)))

        assert len(hosts_taken(frontier, 0, 16)) == 16
        assert len(hosts_taken(frontier, 0)) == 284

    def test_a_fetcher_looks_for_hosts_that_answer_before_it_asks_one_more_that_may_not(self, db):
        """Beyond the share, more hosts are let in as if none were due, and those that answered go first."""
        frontier = make(db, fetchers(16, queues=3))
        answered(frontier, "old")
        add(frontier, *(f"http://new{i}/" for i in range(5)), "http://old/1")
        assert hosts_taken(frontier, 1, 1) == ["new0"]

        assert hosts_taken(frontier, 10, 1) == ["old"]
        assert frontier.width > 3

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

    def test_a_failing_host_has_its_turn_before_new_ones_that_come_later(self, db):
        """Among unproven hosts, those that waited longer go first."""
        frontier = make(db, fetchers(16, queues=1))
        answered(frontier, "bad", outcome=SILENT)
        add(frontier, "http://busy/", *(f"http://new{i}/" for i in range(50)))
        assert hosts_taken(frontier, 200, 1) == ["busy"]

        assert "bad" in hosts_taken(frontier, 1000, 2)

    def test_without_a_limit_of_fetchers_nobody_is_held_back(self, db):
        """With CONCURRENT_REQUESTS = 0 there is no share: hosts that waited longer go first."""
        frontier = make(db, fetchers(0))
        add(frontier, "http://new1/", "http://new2/", "http://new3/")
        answered_first = frontier.take(0)
        frontier.done(answered_first, OK, 0)
        add(frontier, answered_first.url + "1")

        assert hosts_taken(frontier, 50) == ["new2", "new3", "new1"]


class TestProof:
    def first(self, db, outcome, **options):
        """With the share used up, which host goes first: one with this outcome, or a proven one that is due later."""
        frontier = make(db, fetchers(16, retry_wait=1), **options)
        add(frontier, "http://it/", "http://proven/", "http://busy/")
        it, proven, _ = (frontier.take(0) for _ in range(3))
        frontier.done(proven, Outcome(200, 10.0), 0)
        frontier.done(it, outcome, 0)
        add(frontier, "http://it/1", "http://proven/1")
        return hosts_taken(frontier, 200, 1)

    @pytest.mark.parametrize("status", [200, 301, 404, 500])
    def test_an_answer_is_a_proof(self, db, status):
        """A host that answers is proven, whatever the status."""
        assert self.first(db, Outcome(status, 0.1)) == ["it"]

    @pytest.mark.parametrize("status", [Status.TIMEOUT, Status.CONNECT_FAILED, Status.DNS_FAILED, 503])
    def test_a_failure_is_none(self, db, status):
        """A host that did not answer, or refused, is unproven."""
        assert self.first(db, Outcome(status, 0.1)) == ["proven"]

    def test_an_answer_is_no_proof_for_ever(self, db):
        """A host that answered and then fails is unproven again."""
        frontier = make(db, fetchers(16))
        answered(frontier, "it", "proven")
        add(frontier, "http://it/1")
        frontier.done(frontier.take(10), SILENT, 40)  # due again at 340
        add(frontier, "http://busy/", "http://proven/1")
        proven = next(link for link in (frontier.take(300), frontier.take(300)) if link.url == "http://proven/1")
        frontier.done(proven, Outcome(200, 4.5), 300)
        add(frontier, "http://proven/2")

        assert hosts_taken(frontier, 350) == ["proven", "it"]

    def test_it_is_remembered(self, tmp_path):
        """Whether a host is proven is in its record, so it is known when the crawl is resumed."""
        db = CrawlDB(tmp_path)
        frontier = make(db, fetchers(16))
        answered(frontier, "bad", outcome=SILENT)
        answered(frontier, "proven", outcome=Outcome(200, 40.0))
        db.checkpoint()
        db.close()
        db = CrawlDB(tmp_path)
        frontier = make(db, fetchers(16))
        add(frontier, "http://busy/", "http://proven/1")
        assert hosts_taken(frontier, 100, 1) == ["busy"]

        assert hosts_taken(frontier, 1000) == ["proven", "bad"]
        db.close()

    def test_the_urls_of_a_retired_host_end_though_the_share_is_used_up(self, db):
        """A retired host takes no slot: its URLs are dropped at once."""
        frontier = make(db, fetchers(16, host_failures=1))
        answered(frontier, "old")
        add(frontier, *(f"http://dead/{i}" for i in range(50)))
        dead = frontier.take(0)
        add(frontier, "http://new/", "http://old/1", "http://old/2")
        assert hosts_taken(frontier, 0, 1) == ["new"]
        frontier.done(dead, SILENT, 30)

        assert hosts_taken(frontier, 31, 1) == ["old"]
        assert hosts_taken(frontier, 31, 1) == []
        assert frontier.counters[f"dropped/{Status.HOST_RETIRED}"] == 49
