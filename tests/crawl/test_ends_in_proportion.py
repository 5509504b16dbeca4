"""A crawl of which only hosts that do not answer are left ends in a time that is in proportion to
what it took.

A site of six pages linked to a port where nothing listened. Its crawl had all pages after six
seconds, and then waited for half an hour: fifteen minutes until five attempts had failed, and
OUTAGE_END_WAIT after that.
"""

import pytest

from tests.support.steered import Steered
from webcrawl.base.model import Status

OUTAGE_END_WAIT = 900
LEAST = 30
RETRY_WAIT = 60
REFUSED = Status.CONNECT_FAILED


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    """A crawl of a host that answers, and of one that does not."""
    steered = Steered(tmp_path, OUTAGE_END_WAIT=OUTAGE_END_WAIT, HOST_RETRY_WAIT=RETRY_WAIT)
    steered.ends["closed.test"] = REFUSED
    yield steered
    steered.crawl.close()


def seconds_to_its_end(crawl):
    begun = crawl.seconds
    while crawl.crawl.pending:
        crawl.run(1)
        assert crawl.seconds - begun < 10 * OUTAGE_END_WAIT
    return crawl.seconds - begun


def test_a_short_crawl(crawl):
    """A host that has never answered is waited for half a minute; its URLs stay for the next run."""
    crawl.add("open.test", 6)
    crawl.add("closed.test", 2)

    assert seconds_to_its_end(crawl) == pytest.approx(6 + LEAST, abs=4)
    assert crawl.crawl.stats()["queued"] == 2


def test_a_longer_crawl(crawl):
    """The crawl waits for as long as it has run, and tries the host meanwhile."""
    crawl.add("open.test", 200)
    crawl.add("closed.test", 2)

    assert seconds_to_its_end(crawl) == pytest.approx(400, abs=10)
    # after 0, 60 and 180 seconds
    assert len([url for host, _, url in crawl.requested if host == "closed.test"]) == 3


def test_a_crawl_that_took_longer_than_that(crawl):
    """No crawl waits for longer than OUTAGE_END_WAIT."""
    crawl.add("open.test", 950)
    crawl.add("closed.test", 2)

    assert seconds_to_its_end(crawl) == pytest.approx(950 + OUTAGE_END_WAIT, abs=10)


def test_a_host_that_answered_is_requested_once_more(crawl):
    """A server that is restarted while a short crawl runs costs the crawl no page."""
    crawl.add("open.test", 20)
    crawl.run(3)
    crawl.ends["open.test"] = REFUSED
    crawl.run(20)
    assert crawl.crawl.pending
    del crawl.ends["open.test"]

    seconds_to_its_end(crawl)
    assert crawl.crawl.stats()["queued"] == 0


def test_a_host_that_answered_and_stays_away(crawl):
    """The crawl ends once that has failed, too."""
    crawl.add("open.test", 20)
    crawl.run(3)
    crawl.ends["open.test"] = REFUSED

    assert seconds_to_its_end(crawl) == pytest.approx(RETRY_WAIT, abs=4)
    assert len(crawl.log()) + crawl.crawl.stats()["queued"] == 20


def test_an_answer_begins_the_wait_anew(crawl):
    """A host that comes back, and fails again at once, is waited for as at first."""
    crawl.add("closed.test", 200)
    crawl.run(20)
    assert crawl.crawl.pending
    crawl.order("host closed.test retry")
    del crawl.ends["closed.test"]
    crawl.run(5)
    crawl.ends["closed.test"] = REFUSED
    crawl.run(30)

    assert crawl.crawl.pending


def test_the_same_command_asks_before_it_ends(crawl):
    """The next run waits for the host's turn, although that is further away than half a minute."""
    crawl.add("closed.test", 2)
    crawl.run(RETRY_WAIT + 5)  # two attempts: the next one is due two minutes after the second
    seconds_to_its_end(crawl)
    del crawl.ends["closed.test"]
    crawl.again()

    seconds_to_its_end(crawl)
    assert crawl.crawl.stats()["queued"] == 0


def test_errbacks_are_waited_for(tmp_path):
    """A spider's own requests end by HOST_PATIENCE before their crawl does."""
    crawl = Steered(tmp_path, awaits_ends=True, HOST_RETRY_WAIT=5, HOST_PATIENCE=120)
    crawl.ends["closed.test"] = REFUSED
    crawl.add("closed.test", 2)

    assert 120 < seconds_to_its_end(crawl) < 200
    crawl.crawl.checkpoint()
    assert [status for status, _ in crawl.log()] == [REFUSED, REFUSED]
    crawl.crawl.close()
