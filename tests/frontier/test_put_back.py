"""A link that could not be requested for a lack of this machine's: nothing has happened to it or to its host."""

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.addresses import Addresses
from webcrawl.store.crawldb import CrawlDB


def test_it_comes_first_again(db):
    """A link that is put back precedes the other links of its host, with the same attempt."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")

    first = frontier.take(0)
    frontier.put_back(first, 0)

    assert frontier.take(0) == first
    assert first.attempt == 0


def test_its_host_may_be_asked_as_if_there_had_been_no_request(db):
    """The host has neither failed nor to wait, however often that happens."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    for _ in range(50):
        frontier.put_back(frontier.take(0), 0)

    frontier.done(frontier.take(0), OK, 0)

    assert frontier.next_ready() == 2.0
    assert len(frontier) == 1


def test_a_host_that_may_have_been_asked_has_its_usual_wait(db):
    """With a lack that lasts for some seconds the host is left alone for as long as after an answer, at least."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    frontier.done(frontier.take(0), Outcome(200, 5.0), 0)
    frontier.put_back(frontier.take(50), 60, 2.0)

    assert frontier.next_ready() == 60 + 50


def test_a_wait_of_its_host_is_kept(db):
    """What the host's earlier answers demand remains in force."""
    frontier = make(db)
    add(frontier, "http://a/1", "http://a/2")
    frontier.done(frontier.take(0), Outcome(200, 5.0), 0)
    frontier.put_back(frontier.take(50), 50)

    assert frontier.next_ready() == 50.0
    assert frontier.take(50).url == "http://a/2"


def test_a_retry_remains_the_same_retry(db):
    """A link that had failed before uses up no further attempt."""
    frontier = make(db)
    add(frontier, "http://a/1")
    frontier.done(frontier.take(0), Outcome(Status.TIMEOUT, 1.0), 0)
    again = frontier.take(100)
    frontier.put_back(again, 100)

    assert frontier.take(100).attempt == again.attempt == 1


def test_robots_txt_still_precedes_what_needs_it(db):
    """A prerequisite that is put back is handed out before the link that waits for it."""
    asked = []

    def admission(link, _now):
        if link.path.endswith("P") or asked:
            return None
        return Link("http://a/robots.txt", "P")

    frontier = make(db, admission=admission)
    add(frontier, "http://a/1")
    frontier.put_back(frontier.take(0), 0)

    assert frontier.take(0).url == "http://a/robots.txt"


def test_its_address_is_free(db):
    """With politeness per address the next host of that address need not wait for it."""
    frontier = make(db, addresses=Addresses())
    for name in "ab":
        add(frontier, f"http://{name}/0")
        frontier.done(frontier.take(0), Outcome(200, 0.1, ip="192.0.2.1"), 0)
    add(frontier, "http://a/1", "http://b/1")

    frontier.put_back(frontier.take(100), 100)

    assert frontier.take(100) is not None


def test_after_a_crash_it_is_there(tmp_path):
    """A checkpoint holds a link that was put back."""
    db = CrawlDB(tmp_path)
    frontier = make(db)
    add(frontier, "http://a/1")
    frontier.put_back(frontier.take(0), 0)
    db.checkpoint()
    db.close()
    db = CrawlDB(tmp_path)

    assert make(db).take(0).url == "http://a/1"
    db.close()


def test_it_may_have_to_wait(db):
    """A link put back for a lack that will last is not handed out before, and nothing is booked."""
    frontier = make(db)
    add(frontier, "http://a/1")
    taken = frontier.take(0)

    frontier.put_back(taken, 100, 30.0)

    assert frontier.take(129) is None
    assert frontier.next_ready() == 130
    assert frontier.take(130) == taken
