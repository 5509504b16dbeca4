"""When a crawl ends although deferred hosts have URLs left."""

from webcrawl.crawl.crawl_end import CrawlEnd


def test_it_waits_for_so_long():
    """From the moment when only such hosts are left, the crawl waits, and says until when."""
    end = CrawlEnd(900)
    assert end.next_time(100) is None
    assert not end.is_reached(100, resting=True, busy=False)
    assert end.next_time(100) == 1000
    assert not end.is_reached(999, resting=True, busy=False)
    assert end.is_reached(1000, resting=True, busy=False)


def test_a_host_that_is_being_tried_is_waited_for():
    """The crawl does not end in the middle of a download, and nothing is due at a time that is
    over.
    """
    end = CrawlEnd(900)
    end.is_reached(0, resting=True, busy=False)
    assert not end.is_reached(950, resting=True, busy=True)
    assert end.next_time(950) is None
    assert end.is_reached(951, resting=True, busy=False)


def test_without_a_wait_it_ends_at_once():
    """With OUTAGE_END_WAIT 0 nobody is waited for."""
    assert CrawlEnd(0).is_reached(5, resting=True, busy=False)


def test_time_in_which_nothing_was_tried():
    """After a pause the time to wait begins again."""
    end = CrawlEnd(900)
    end.is_reached(0, resting=True, busy=False)
    end.begin_again()

    assert not end.is_reached(1000, resting=True, busy=False)
    assert end.next_time(1000) == 1900
