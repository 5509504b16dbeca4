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
    def test_an_idle_host_is_lent_at_once(self, db):
        """A host that nothing is known of may be asked, and is not lent twice."""
        frontier = make(db)
        assert lend(frontier, 5) is None
        assert lend(frontier, 5) == NEVER

    def test_a_lent_host_is_not_handed_out(self, db):
        """While a host is lent, and then until its wait is over and it is released, its URLs stay queued."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://b/1")
        assert lend(frontier, 0) is None
        assert frontier.take(0).url == "http://b/1"
        assert frontier.take(0) is None
        frontier.lending.give_back("a", OK, 0.2)
        assert frontier.take(100) is None
        frontier.lending.release("a", 0.2)
        assert frontier.next_ready() == 2.2
        assert frontier.take(2.1) is None
        assert frontier.take(2.2).url == "http://a/1"

    def test_a_host_that_is_being_asked_is_not_lent(self, db):
        """A download of the frontier's is waited for; nobody can say how long."""
        frontier = make(db)
        add(frontier, "http://a/1")
        frontier.take(0)
        assert lend(frontier, 1000, downloading) == NEVER

    def test_a_page_in_the_works_lends_its_host(self, db):
        """When the download has ended the host waits as it will once the page is booked, and can be lent then."""
        frontier = make(db)
        add(frontier, "http://a/1")
        link = frontier.take(0)
        ended = Outcome(429, 0.2, wait=30), 0.2
        assert lend(frontier, 0.2, lambda _: ended) == 60.2  # the wait of a failed host, longer than Retry-After
        assert lend(frontier, 60.2, lambda _: ended) is None
        frontier.lending.give_back("a", OK, 60.4)
        frontier.done(link, *ended)
        assert lend(frontier, 62.3) == 62.4

    def test_looks_at_a_page_in_the_works(self, db):
        """However often somebody asks for the host meanwhile, the page's download counts once for its strain."""
        frontier = make(db, Limits(2, 10, slow_down=8.0))
        add(frontier, *(f"http://a/{number}" for number in range(30)))
        assert len(drain(frontier, 0.0, most=29)) == 29
        link = frontier.take(1000)
        for _ in range(50):
            assert lend(frontier, 1001, lambda _: (Outcome(200, 5.0), 1005)) == 1055
        frontier.done(link, Outcome(200, 5.0), 1005)

        assert frontier.lending.ready_at("a") == 1055

    def test_the_later_of_two_waits_holds(self, db):
        """A page that is booked after its inline downloads does not shorten the wait that they cause."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        assert lend(frontier, 10, lambda _: (OK, 0.2)) is None
        frontier.lending.give_back("a", Outcome(200, 1.0), 11)
        frontier.done(link, OK, 0.2)
        frontier.lending.release("a", 11)
        assert frontier.next_ready() == 21

    def test_an_image_proves_nothing(self, db):
        """A request in flight is counted as it was handed out, whatever the host answers to others meanwhile."""
        frontier = make(db)
        add(frontier, "http://a/1", "http://a/2")
        link = frontier.take(0)
        assert lend(frontier, 10, lambda _: (OK, 0.2)) is None
        frontier.lending.give_back("a", OK, 10)
        assert frontier.core.back.slots.asked == [0, 0, 1, 0]
        frontier.done(link, OK, 0.2)
        assert (frontier.core.back.slots.asked, frontier.core.back.slots.hosts) == ([0, 0, 0, 0], [1, 0, 0, 0])

    def test_a_request_that_has_not_begun_lets_others_go_first(self, db):
        """A host whose request is still in a middleware can be lent."""
        frontier = make(db)
        add(frontier, "http://a/1")
        frontier.take(0)
        assert lend(frontier, 0) is None

    def test_what_the_frontier_ends_is_not_lent(self, db):
        """A Status of the admission check, or of a host given up, comes at once, whoever has the host."""
        frontier = make(db, Limits(2, 10, host_failures=1), admission=lambda link, _: Status.EXCLUDED)
        assert lend(frontier, 0) == Status.EXCLUDED
        frontier = make(db, Limits(2, 10, host_failures=1, patience=0))
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(Status.CONNECT_FAILED), 0)
        assert lend(frontier, 0) == Status.CONNECT_FAILED

    def test_nobody_waits_for_hours(self, db):
        """A host whose turn is far away is not lent, and who asks for it is told at once; when it is due, it is."""
        frontier = make(db, Limits(2, 10, host_failures=9))
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(429, wait=3600), 0)
        assert lend(frontier, 1) == Status.HOST_RETIRED
        assert lend(frontier, 3600) is None

    def test_an_inline_download_may_end_the_failures(self, db):
        """A host that was set aside and answers an inline download comes back with its URLs before its time."""
        frontier = make(db, Limits(2, 10, host_failures=1))
        add(frontier, "http://a/1", "http://a/2")
        frontier.done(frontier.take(0), Outcome(Status.CONNECT_FAILED), 0)
        assert (frontier.core.aside.urls, frontier.core.aside.hosts) == (2, 1)
        assert lend(frontier, 62) is None  # the queue of hosts set aside is a little late
        frontier.lending.give_back("a", OK, 62)
        frontier.lending.release("a", 62)
        assert (frontier.core.aside.urls, frontier.core.aside.hosts) == (0, 0)
        assert frontier.take(64) is not None

    def test_robots_txt_goes_first(self, db):
        """Another Link of the admission check is to be asked for in the turn."""
        robots = Link("http://a/robots.txt", "EP")
        frontier = make(db, admission=lambda link, _: robots)
        assert lend(frontier, 0) is robots

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

    def test_an_unknown_end_causes_a_wait(self, db):
        """A download that its caller gave up has asked the host: it waits, and nothing else is known of it."""
        frontier = make(db)
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", None, 3)
        assert lend(frontier, 3) == 4

    def test_a_lack_of_ours_changes_nothing(self, db):
        """A host that could not be asked may be asked at once."""
        frontier = make(db)
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(Status.UNTRIED), 3)
        assert lend(frontier, 3) is None

    def test_a_resumed_crawl_waits_first(self, db):
        """After a kill a host waits its usual time from the restart on, also for inline downloads."""
        frontier = make(db)
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", OK, 0.2)
        db.checkpoint()
        frontier = make(db, now=50.0)
        assert lend(frontier, 50) == 52

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

    def test_a_retired_hosts_urls_are_dropped(self, db):
        """The frontier has a host back at once when an inline download has retired it."""
        dropped = []
        limits = Limits(2, 10, host_failures=1, patience=0)
        frontier = make(db, limits, dropped=lambda link, status: dropped.append(status))
        add(frontier, "http://a/1")
        assert lend(frontier, 0) is None
        frontier.lending.give_back("a", Outcome(Status.CONNECT_FAILED), 0)
        assert frontier.lending.is_retired("a")
        frontier.lending.release("a", 0)
        assert frontier.take(0) is None
        assert dropped == [Status.CONNECT_FAILED]


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
        """While one host of an address is lent, the others wait, whoever asks them; then one of them is woken."""
        add(frontier, "http://b/1")
        assert lend(frontier, 300) is None
        assert lend(frontier, 300, link=Link("http://c/")) == NEVER
        assert frontier.take(300) is None
        frontier.lending.give_back("a", Outcome(200, 0.1, ip="127.0.0.1"), 300)
        assert frontier.next_ready() == 301
        assert frontier.take(301).url == "http://b/1"

    def test_a_page_in_the_works_lends_its_address(self, frontier):
        """Another host of a page's address can be lent when the page has been downloaded, but not before."""
        add(frontier, "http://b/1")
        link = frontier.take(300)
        assert lend(frontier, 400, downloading) == NEVER
        assert lend(frontier, 300.2, lambda _: (Outcome(200, 0.1), 300.1)) == 301.1
        assert lend(frontier, 301.1, lambda _: (Outcome(200, 0.1), 300.1)) is None
        frontier.done(link, Outcome(200, 0.1, ip="127.0.0.1"), 300.1)
        add(frontier, "http://c/1")
        assert frontier.take(500) is None

    def test_a_host_that_waits_for_its_address_is_released(self, frontier):
        """A host that awaited downloads have let go waits once for its address, and so all of its hosts have turns."""
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
