"""What a crawl waits for is said in words: for which host, how long, and by which rule."""

from types import SimpleNamespace

import pytest

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.health import origin_of
from webcrawl.frontier.host_origins import text_at


def waits(db, *outcomes, count=3, **options):
    """What is said two seconds after the last of these outcomes of a host's first URLs."""
    frontier, now = make(db, **options), 0.0
    add(frontier, *(f"http://shop.test/{number}" for number in range(count)))
    for outcome in outcomes:
        while (link := frontier.take(now)) is None:
            now = max(now, frontier.next_ready())
        frontier.done(link, outcome, now)
    return frontier.look.waits(now + 2)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "after 503 from http://shop.test"),
        (Status.CONNECT_FAILED, "after no connection from http://shop.test"),
        (Status.TIMEOUT, "after no answer from http://shop.test"),
        (Status.DNS_FAILED, "after no address from shop.test"),
    ],
)
def test_a_host_that_failed(db, status, said):
    """The wait of a host that failed is named after its failure."""
    found = waits(db, *[Outcome(status, 0.1)] * 3)

    assert found.rules == {"failure": 1}
    assert str(found).endswith(said)
    assert found.seconds > 50


@pytest.mark.parametrize(
    ("port", "before", "said"), [("", 10**6, ""), (":81", 3, ":81"), (":81", 10**6, None)]
)
def test_a_glance_reads_a_few_urls(port, before, said):
    """An origin is named, however many URLs of others wait before its own, unless it has an unusual
    port.
    """

    class Queue:
        def first(self, most):
            assert most <= 16
            urls = [f"http://shop.test:82/{number}" for number in range(min(before, most))]
            return [Link(url).pack() for url in [*urls, f"http://shop.test{port}/"][:most]]

    host = SimpleNamespace(name="shop.test", later=[], queue=Queue())
    found = text_at(host, origin_of(f"http://shop.test{port}/"))

    assert found == ("" if said is None else f"http://shop.test{said}")


def test_the_urls_own_failure(db):
    """If only a URL that failed is left of a host, the crawl waits after that failure."""
    found = waits(db, OK, Outcome(500, 0.1), count=2)

    assert str(found) == "waits 58 s after 500 from http://shop.test"


@pytest.mark.parametrize("status", [429, 200])
def test_retry_after(db, status):
    """What the host has asked for has words of its own, whatever it has answered."""
    found = waits(db, OK, Outcome(status, 0.1, wait=100.0))

    assert (found.rules, str(found)) == (
        {"retry-after": 1},
        "waits 98 s as shop.test asks (Retry-After)",
    )


def test_a_lack_of_ours(db):
    """A host that waits because its proxy is away, say, has nothing to do with it; its next answer
    ends that.
    """
    frontier = make(db)
    add(frontier, *(f"http://shop.test/{number}" for number in range(3)))
    frontier.put_back(frontier.take(0), 0.0, 30.0)
    found = frontier.look.waits(2)
    frontier.done(frontier.take(30), OK, 30)

    assert (found.rules, found.seconds) == ({"no-way": 1}, 28)
    assert str(found).startswith("waits 28 s for a way to shop.test: the network")
    assert frontier.look.waits(30).rules == {"politeness": 1}


def test_an_unreachable_robots_txt(db):
    """If it was the robots.txt that failed, it is named: the host's pages may look well in any
    browser.
    """
    frontier = make(db)
    add(frontier, "http://shop.test/0")
    frontier.expedite(Link("http://shop.test/robots.txt", "P", history="http://shop.test").pack())
    frontier.done(frontier.take(0), Outcome(503, 0.1), 0)

    assert "after 503 from http://shop.test/robots.txt" in str(frontier.look.waits(1))


def test_crawl_delay(db):
    """So has what its robots.txt asks for."""
    frontier = make(db)
    add(frontier, "http://shop.test/0", "http://shop.test/1")
    frontier.crawl_delay("shop.test", 30.0)
    frontier.done(frontier.take(0), OK, 0)

    assert str(frontier.look.waits(10)) == "waits 20 s between requests to shop.test (Crawl-delay)"


def test_politeness(db):
    """All other waits are those of politeness, which failures are not counted as."""
    found = waits(db, Outcome(200, 1.0))

    assert found.rules == {"politeness": 1}
    assert str(found) == "waits 8 s between requests to shop.test (politeness)"


def test_a_deferred_host(db):
    """A deferred host is waited for too, if no other is."""
    found = waits(db, *[Outcome(503, 0.1)] * 5, limits=Limits(2, 100, host_failures=2))

    assert "after 503 from http://shop.test" in str(found)
    assert found.rules == {}


def test_a_deferred_host_without_a_failure(db):
    """A host that asked for a long wait with a good answer is deferred; it did nothing wrong, and
    nobody says so.
    """
    found = waits(db, OK, OK, Outcome(200, 0.1, wait=5000.0), count=5)

    assert (found.rule, found.why) == ("deferred", "for shop.test (deferred)")


def test_robots(db):
    """A host whose robots.txt is not there yet waits for that, not for politeness; once it is
    there, that is over.
    """
    frontier = make(db)
    add(frontier, "http://shop.test/0", "http://shop.test/1")
    frontier.core.admission = lambda _link, now: 60.0 if now < 60 else None
    assert frontier.take(0) is None
    found = frontier.look.waits(10)
    frontier.done(frontier.take(60), OK, 60)

    assert str(found) == "waits 50 s for shop.test/robots.txt, which must be read before any page"
    assert (found.rules, frontier.look.waits(60).rules) == ({"robots": 1}, {"politeness": 1})


def test_nothing(db):
    """A crawl whose hosts may be requested at once waits for none."""
    frontier = make(db)
    add(frontier, "http://shop.test/")

    assert (str(frontier.look.waits(0)), frontier.look.waits(0).seconds) == ("", 0.0)


def test_a_download_of_a_page_that_failed(db):
    """A host waits after an inline download that failed, although the page that awaited it is there."""
    frontier = make(db)
    add(frontier, "http://shop.test/0", "http://shop.test/1")
    page = frontier.take(0)
    assert frontier.lending.lend(Link("http://shop.test/image"), 10, lambda _: (OK, 0.2)) is None
    frontier.lending.give_back("shop.test", Outcome(Status.TIMEOUT, 5.0), 15)
    frontier.lending.release("shop.test", 15)
    frontier.done(page, OK, 16)

    assert str(frontier.look.waits(20)) == "waits 55 s after no answer from shop.test"


def test_a_host_that_came_back_before_its_time(db):
    """A host that was paused and is not any more is no deferred host that is waited for."""
    frontier = make(db)
    add(frontier, "http://shop.test/0", "http://shop.test/1")
    frontier.done(frontier.take(0), OK, 0)
    frontier.steering.pause(["shop.test"], 1)
    frontier.steering.resume("shop.test", 2)
    frontier.done(frontier.take(60), OK, 60)

    assert str(frontier.look.waits(120)) == ""
    assert frontier.look.figures()["deferred_due"] == 0


def test_the_first_of_several(db):
    """Of several hosts the one whose turn is next is named, and all are counted."""
    frontier = make(db)
    add(frontier, *(f"http://{name}.test/{number}" for name in "ab" for number in (0, 1)))
    for seconds in (9.0, 3.0):
        link = frontier.take(0)
        frontier.done(link, Outcome(200, seconds), 0)

    found = frontier.look.waits(1)

    assert (found.host, found.seconds, found.rules) == ("b.test", 29.0, {"politeness": 2})
