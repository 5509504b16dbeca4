"""Hosts that answer more slowly, or fail more often, than at first."""

import pytest

from webcrawl.base.model import Link, Outcome
from webcrawl.frontier.booking import ANSWERS_UNTIL_USUAL, HOSTS_REMEMBERED, Booking, Limits, Strain
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.politeness.fixed import Fixed, Weak
from webcrawl.frontier.politeness.mercator import Mercator

MOST = 8.0


def after(*answers):
    """How much longer than usual a host is left alone that has answered so: (times, seconds), or
    "fails".
    """
    strain = Strain(MOST)
    for times, seconds in answers:
        for _ in range(times):
            failed = seconds == "fails"
            strain.note_download("a.test", 0.3 if failed else seconds, failed=failed)
    return strain.slowdowns.get("a.test", 1.0)


@pytest.mark.parametrize(
    ("answers", "times"),
    [
        ([], 1.0),
        ([(ANSWERS_UNTIL_USUAL, 0.1), (1, 5.0)], 1.0),
        ([(1000, 0.3)], 1.0),
        ([(1000, 3.0)], 1.0),
        ([(100, 0.001), (100, 0.15)], 1.0),
        ([(100, 0.3), (3, 0.6)], 1.0),
        ([(100, 0.3), (100, 0.55)], 1.0),
        ([(100, 0.3), (100, 1.8)], 3.0),
        ([(100, 0.3), (100, 60.0)], MOST),
        ([(100, 0.3), (100, 60.0), (100, 0.3)], 1.0),
        ([(100, 0.3), (1, "fails"), (8, 0.3)], 1.0),
        ([(100, 0.3), (100, "fails")], 1.0 + 0.8 * MOST),
    ],
)
def test_how_much_longer(answers, times):
    """In proportion to how much slower than twice its usual time, or more often than in a fifth of
    cases it fails.

    A host that was slow from the beginning is not under strain, nor is one that is still quick. A
    single answer says little. It ends when the host is well again.
    """
    assert after(*answers) == pytest.approx(min(times, MOST), rel=0.1)


def test_hosts_are_bounded():
    """The one that was heard longest ago is forgotten with its strain, and heard anew."""
    strain = Strain(MOST)
    for seconds in [0.3] * 100 + [60.0] * 100:
        strain.note_download("0", seconds, failed=False)
    assert strain.slowdowns == {"0": MOST}
    for number in range(1, HOSTS_REMEMBERED + 5):
        strain.note_download(str(number), 1.0, failed=False)

    assert strain.slowdowns == {}


def booked(policy, most, seconds, longest=300.0):
    """The wait after a hundred quick answers and as many that take so many seconds."""
    limits = Limits(1, 1, slow_down=most, max_delay=longest)
    book, host = Booking(policy(10.0, 1.0, longest), limits), Host("a.test", None)
    for at, took in enumerate([0.2] * 100 + [seconds] * 100):
        book.book(host, Link("http://a.test/"), Outcome(200, seconds=took), float(at))
    return book.wait(host)


def test_the_wait_grows_with_it():
    """Beside Mercator's own proportion, and never below it; a most of 1 turns it off."""
    assert booked(Mercator, MOST, 0.2) == 2.0
    assert booked(Mercator, MOST, 1.2) == pytest.approx(12.0 * 3.0, rel=0.1)
    assert booked(Mercator, 1.0, 1.2) == 12.0


@pytest.mark.parametrize(("seconds", "longest"), [(85.0, 300.0), (1.2, 20.0), (85.0, 0.5)])
def test_no_host_is_slowed_down_beyond_the_longest_delay(seconds, longest):
    """POLITENESS_MAX_DELAY bounds the wait of a host under strain too.

    A host whose bodies took 85 seconds was requested every 344 to 438, though the longest wait was
    300.
    """
    assert booked(Mercator, MOST, seconds, longest) == longest


class Patient:
    """A policy of the user's own, which waits for longer than POLITENESS_MAX_DELAY."""

    def __init__(self, factor, minimum, maximum):
        del factor, minimum
        self.seconds = 2 * maximum

    def wait(self, times):
        del times
        return self.seconds


def test_a_policy_may_wait_for_longer():
    """The wait of a policy of the user's own is never shortened."""
    assert booked(Patient, MOST, 85.0) == 600.0


@pytest.mark.parametrize(("policy", "seconds"), [(Fixed, 70.0), (Weak, 1.0)])
def test_policies_that_forbid_it(policy, seconds):
    """A fixed wait stays what it is."""
    assert booked(policy, MOST, 1.2) == seconds


def test_a_failure_counts_once():
    """Whether the link comes again is asked before the outcome is booked: to ask is not to hear of
    another failure.
    """
    waits = []
    for looks in (0, 1):
        book, host = (
            Booking(Mercator(10.0, 1.0, 300.0), Limits(1, 1, slow_down=MOST)),
            Host("a.test", None),
        )
        for at in range(40):
            outcome = Outcome(501 if at % 4 == 3 else 200, seconds=0.2)
            for _ in range(looks):
                book.will_retry(host, Link("http://a.test/"), outcome, float(at))
            book.book(host, Link("http://a.test/"), outcome, float(at))
        waits.append(book.wait(host))

    assert waits[0] == waits[1]


def test_other_settings_do_not_forget_it():
    """Who changes a setting of politeness while the crawl runs gets the new wait, as many times
    longer as before.
    """
    policy, host = Mercator(10.0, 1.0, 300.0), Host("a.test", None)
    book = Booking(policy, Limits(1, 1, slow_down=MOST))
    for at, took in enumerate([0.2] * 100 + [1.2] * 100):
        book.book(host, Link("http://a.test/"), Outcome(200, seconds=took), float(at))
    before = book.wait(host)
    book.change(Mercator(5.0, 1.0, 300.0), Limits(1, 1, slow_down=MOST))

    assert book.wait(host) == pytest.approx(before / 2)


def load(most, *, others):
    """Requests an hour, and the mean time of an answer, at a server whose other visitors come and
    go in two hours.

    An answer takes 0.2 s of its only processor; while it is busy for a share `u` of the time, 0.2 /
    (1 - u).
    """
    book, host, now, count, total = (
        Booking(Mercator(10.0, 1.0, 300.0), Limits(1, 1, slow_down=most)),
        None,
        0.0,
        0,
        0.0,
    )
    host = Host("a.test", None)
    while now < 2 * 3600:
        busy = others if now > 3600 else 0.1
        took = 0.2 / (1.0 - busy)
        now += took
        book.book(host, Link("http://a.test/"), Outcome(200, seconds=took), now)
        if now > 3600:
            count, total = count + 1, total + took
        now = max(now, host.ready_at)
    return count


def test_a_server_that_others_keep_busy():
    """Of a server that takes ten times as long for an answer as before, we take a fifth of the time
    that we took.
    """
    assert load(1.0, others=0.92) > 3.5 * load(MOST, others=0.92)
    assert load(1.0, others=0.3) == load(MOST, others=0.3)
