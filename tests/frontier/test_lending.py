"""Hosts lent to inline downloads, between the frontier's own requests to them."""

import pytest

from tests.support.frontiers import OK, add, drain, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.url_text import host_of
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.back_end import DOUBTFUL
from webcrawl.frontier.booking import Limits
from webcrawl.store.crawldb import CrawlDB

NEVER = float("inf")
IMAGE = Link("http://a/image", "E")


@pytest.fixture
def db(tmp_path):
    db = CrawlDB(tmp_path)
    yield db
    db.close()


def nothing(record):
    """The request in flight has not reached the network."""
    return Outcome(Status.UNTRIED), 0.0


def downloading(record):
    return None


def lend(frontier, now, in_flight=nothing, link=IMAGE):
    return frontier.lending.lend(link, now, in_flight)


class TestLending:
    def test_looks_at_a_page_in_the_works(self, db):
        """However often somebody asks for the host meanwhile, the page's download counts once for
        its strain.
        """
        frontier = make(db, Limits(2, 10, slow_down=8.0))
        add(frontier, *(f"http://a/{number}" for number in range(30)))
        assert len(drain(frontier, 0.0, most=29)) == 29
        link = frontier.take(1000)
        for _ in range(50):
            assert lend(frontier, 1001, lambda _: (Outcome(200, 5.0), 1005)) == 1055
        frontier.done(link, Outcome(200, 5.0), 1005)

        assert frontier.lending.ready_at("a") == 1055

    def test_the_later_of_two_waits_holds(self, db):
        """A page that is booked after its inline downloads does not shorten the wait that they
        cause.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        assert lend(frontier, 10, lambda _: (OK, 0.2)) is None
        frontier.lending.give_back("a", Outcome(200, 1.0), 11)
        frontier.done(link, OK, 0.2)
        frontier.lending.release("a", 11)
        assert frontier.next_ready() == 21

    def test_an_image_proves_nothing(self, db):
        """A request in flight is counted as it was handed out, whatever the host answers to others
        meanwhile.
        """
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        assert lend(frontier, 10, lambda _: (OK, 0.2)) is None
        frontier.lending.give_back("a", OK, 10)
        assert frontier.core.back.slots.in_flight == [0, 0, 1, 0]
        frontier.done(link, OK, 0.2)
        assert (frontier.core.back.slots.in_flight, frontier.core.back.slots.hosts) == (
            [0, 0, 0, 0],
            [1, 0, 0, 0],
        )

    def test_a_request_that_has_not_begun_lets_others_go_first(self, db):
        """A host whose request is still in a middleware can be lent."""
        frontier = make(db)
        add(frontier, "http://a/1")
        frontier.take(0)
        assert lend(frontier, 0) is None

    def test_nobody_waits_for_hours(self, db):
        """A host whose turn is far away is not lent, and who asks for it is told at once; when it
        is due, it is.
        """
        frontier = make(db, Limits(2, 10, host_failures=9))
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(429, wait=3600), 0)
        assert lend(frontier, 1) == Status.HOST_RETIRED
        assert lend(frontier, 3600) is None

    def test_images_are_no_pages(self, db):
        """They neither use up HOST_MAX_PAGES nor are they kept back when it is reached."""
        frontier = make(db, Limits(2, 10, host_pages=1))
        add(frontier, "http://a/1")
        for now in (0, 10):
            assert lend(frontier, now) is None
            frontier.lending.give_back("a", OK, now)
        frontier.lending.release("a", 10)
        frontier.done(frontier.take(20), OK, 20)
        assert lend(frontier, 30) is None

    def test_a_lack_of_ours_changes_nothing(self, db):
        """A host that could not be requested may be requested at once."""
        frontier = make(db)
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(Status.UNTRIED), 3)
        assert lend(frontier, 3) is None

    def test_an_inline_download_counts_for_the_hosts_standing(self, db):
        """A host that has failed an inline download is doubtful when the frontier has it back."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://b/1")
        link = frontier.take(0)
        frontier.done(link, OK, 0)
        add(frontier, link.url + "1")
        assert frontier.take(0) is not None  # the other host
        assert lend(frontier, 10, link=link) is None
        name = host_of(link.url)
        frontier.lending.give_back(name, Outcome(Status.TIMEOUT, 30), 40)
        frontier.lending.release(name, 40)
        assert frontier.core.back.active[name].standing == DOUBTFUL
        assert sum(frontier.core.back.slots.hosts) == 2


class TestAddresses:
    @pytest.fixture(name="frontier")
    def _frontier(self, db):
        """The hosts a, b and c have answered from one address."""
        frontier = make(db, addresses=Addresses())
        for now, host in enumerate("abc"):
            add(frontier, f"http://{host}/")
            frontier.done(frontier.take(100 * now), Outcome(200, 0.1, ip="127.0.0.1"), 100 * now)
        return frontier

    def test_an_address_is_lent_with_its_host(self, frontier):
        """While one host of an address is lent, the others wait, whoever asks them; then one of
        them is woken.
        """
        add(frontier, "http://b/1")
        assert lend(frontier, 300) is None
        assert lend(frontier, 300, link=Link("http://c/")) == NEVER
        assert frontier.take(300) is None
        frontier.lending.give_back("a", Outcome(200, 0.1, ip="127.0.0.1"), 300)
        assert frontier.next_ready() == 301
        assert frontier.take(301).url == "http://b/1"

    def test_a_page_in_the_works_lends_its_address(self, frontier):
        """Another host of a page's address can be lent when the page has been downloaded, but not
        before.
        """
        add(frontier, "http://b/1")
        link = frontier.take(300)
        assert lend(frontier, 400, downloading) == NEVER
        assert lend(frontier, 300.2, lambda _: (Outcome(200, 0.1), 300.1)) == 301.1
        assert lend(frontier, 301.1, lambda _: (Outcome(200, 0.1), 300.1)) is None
        frontier.done(link, Outcome(200, 0.1, ip="127.0.0.1"), 300.1)
        add(frontier, "http://c/1")
        assert frontier.take(500) is None

    def test_a_host_that_waits_for_its_address_is_released(self, frontier):
        """A host that awaited downloads have let go waits once for its address, and so all of its
        hosts have turns.
        """
        add(frontier, "http://b/1", "http://b/2", "http://c/1")
        first = frontier.take(300)
        for now in (300, 300.1):
            assert frontier.take(now) is None  # c waits for that
            frontier.lending.release("c", now)
        frontier.done(first, OK, 300.2)
        second = frontier.take(310)
        assert frontier.take(310) is None  # and b for this
        frontier.done(second, OK, 310.2)

        assert [link.url for _, link in drain(frontier, 320)] == ["http://b/2"]
