"""When a crawl ends although hosts that are set aside have URLs left."""

from webcrawl.crawl.ending import CrawlEnd


def test_it_waits_for_so_long():
    """From the moment when only such hosts are left, the crawl waits, and says until when."""
    ending = CrawlEnd(900)
    assert ending.after(100) is None
    assert not ending.reached(100, resting=True, busy=False)
    assert ending.after(100) == 1000
    assert not ending.reached(999, resting=True, busy=False)
    assert ending.reached(1000, resting=True, busy=False)


def test_a_host_that_is_being_tried_is_waited_for():
    """The crawl does not end in the middle of a download, and nothing is due at a time that is
    over.
    """
    ending = CrawlEnd(900)
    ending.reached(0, resting=True, busy=False)
    assert not ending.reached(950, resting=True, busy=True)
    assert ending.after(950) is None
    assert ending.reached(951, resting=True, busy=False)


def test_without_a_wait_it_ends_at_once():
    """With OUTAGE_END_WAIT 0 nobody is waited for."""
    assert CrawlEnd(0).reached(5, resting=True, busy=False)


def test_time_in_which_nothing_was_tried():
    """After a pause the time to wait begins again."""
    ending = CrawlEnd(900)
    ending.reached(0, resting=True, busy=False)
    ending.begin_again()

    assert not ending.reached(1000, resting=True, busy=False)
    assert ending.after(1000) == 1900
