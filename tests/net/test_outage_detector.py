"""An outage of our own network is told from dead hosts, with a simulated clock."""

import pytest

from tests.support.uplinks import Web, crawl
from webcrawl.net.errors import Sign
from webcrawl.net.outage_detector import (
    CALM_SECONDS,
    EVIDENCE_WINDOW,
    OUTAGE_POINTS,
    Detector,
    FailedDownload,
    HostPast,
)

MANY = int(OUTAGE_POINTS)


@pytest.fixture(name="detector")
def _detector():
    """A detector of a crawl in which a host has answered just now, at 100 s."""
    detector = Detector(lambda host: ".".join(host.split(".")[-2:]))
    detector.answers, detector.answered_at = 1, 100.0
    return detector


def fails(
    detector, host, record=HostPast.KNOWN, *, now=101.0, address="", sign=Sign.DOUBT, begun=None
):
    return detector.failed(
        FailedDownload(host, address, sign, record), now if begun is None else begun, now
    )


def fail(detector, count, record=HostPast.KNOWN, *, now=101.0, name="site", **more):
    """So many unrelated hosts fail; which of them, counted from 1, was enough."""
    for number in range(count):
        if fails(detector, f"{name}{number}.test", record, now=now, **more):
            return number + 1
    return None


class TestEvidence:
    def test_known_hosts(self, detector):
        """Nine unrelated hosts that answered last time fail, and none answers: our own network is
        out.
        """
        assert fail(detector, 100) == MANY
        assert detector.out
        assert detector.since == 100.0

    def test_one_domain_or_address_counts_once(self, detector):
        """However many hosts of one registered domain or one address fail, they are one."""
        for number in range(50):
            assert not fails(detector, f"www{number}.one.test")
            assert not fails(detector, f"other{number}.test", address="192.0.2.1")

        assert fail(detector, 100) == MANY - 2

    def test_hosts_that_failed_before(self, detector):
        """That a host fails which failed last time says nothing."""
        assert fail(detector, 1000, HostPast.FAILING) is None

    def test_new_hosts(self, detector):
        """A hundred dead hosts in a row, as in a sorted list, are no outage; with a few known ones
        they are.
        """
        assert fail(detector, 1000, HostPast.NEW, name="new") is None

        assert fail(detector, 100) == MANY - 6

    def test_new_hosts_that_were_requested_before_others_answered(self, detector):
        """Dead hosts that were requested all at once and time out all at once say nothing if others
        have answered since.
        """
        assert fail(detector, 1000, HostPast.NEW, name="new", begun=99.0) is None

        assert fail(detector, 100) == MANY

    def test_the_start(self):
        """As long as nobody has answered, nine hosts that were never requested are enough."""
        assert fail(Detector(str), 100, HostPast.NEW) == MANY

    def test_no_route(self, detector):
        """Three unrelated hosts that this machine has no route to are enough, whatever is known of
        them.
        """
        assert fail(detector, 100, HostPast.FAILING, sign=Sign.NO_ROUTE) == 3

    def test_names_that_lead_nowhere(self, detector):
        """Those of known hosts count as failures do; those of others never, not even at the start."""
        for records in (Detector(str), detector):
            assert fail(records, 1000, HostPast.NEW, sign=Sign.NO_NAME, name="new") is None

        assert fail(detector, 100, sign=Sign.NO_NAME) == MANY

    def test_answers(self, detector):
        """An answer weighs as much as three failures, so where a quarter of the hosts answer there
        is a network.
        """
        for number in range(300):
            assert not fails(detector, f"site{number}.test")
            if number % 3 == 2:
                detector.record_answer("good.test", 101.0)

    def test_the_usual_rate(self, detector):
        """Where a third of the requests to known hosts fail all the time, nine failures in a row
        are not enough.
        """
        for number in range(900):
            fails(detector, f"site{number}.test")
            if number % 3:
                detector.record_answer("good.test", 101.0)
        detector.record_answer("good.test", 101.0)

        assert fail(detector, 100) > 2 * MANY

    def test_the_past(self, detector):
        """Failures of ten minutes ago are not added to those of now."""
        detector.answers = 1000
        fail(detector, MANY - 1)

        assert fail(detector, 100, name="later", now=101.0 + EVIDENCE_WINDOW + 1) == MANY


class TestItsEnd:
    def test_three_unrelated_hosts(self, detector):
        """An outage is over when three unrelated hosts have answered."""
        fail(detector, MANY)

        assert [detector.record_answer(f"site{number}.test", 200.0) for number in range(3)] == [
            False,
            False,
            True,
        ]
        assert not detector.out

    def test_few_hosts(self, detector):
        """Further answers of one host count half: the others may be dead by now."""
        fail(detector, MANY)

        assert [detector.record_answer("site1.test", 200.0) for _ in range(5)].index(True) == 4

    def test_failures_among_them(self, detector):
        """A known host that fails meanwhile takes an answer away, if it was requested after the
        outage was recognised.
        """
        fail(detector, MANY)
        detector.record_answer("site1.test", 200.0)
        detector.record_answer("site2.test", 200.0)
        fails(detector, "site3.test", now=200.0, begun=50.0)
        fails(detector, "site4.test", now=200.0, begun=150.0)

        assert [detector.record_answer(f"site{number}.test", 200.0) for number in (5, 6)] == [
            False,
            True,
        ]

    def test_what_failed_in_an_outage_is_not_usual(self, detector):
        """The next outage is recognised as soon as the first."""
        for number in range(5):
            assert fail(detector, 100, now=1000.0 * number) == MANY
            for host in "abc":
                detector.record_answer(f"{host}.test", 1000.0 * number + 500)

    def test_a_false_alarm(self, detector):
        """After an outage that was over at once the next one takes twice the evidence, for an hour."""
        fail(detector, MANY)
        for host in "abc":
            detector.record_answer(f"{host}.test", 102.0)

        assert fail(detector, 100, now=110.0) == 2 * MANY
        for host in "abc":
            detector.record_answer(f"{host}.test", 111.0)
        assert fail(detector, 100, now=120.0 + CALM_SECONDS) == MANY


class TestCrawls:
    """Whole crawls, simulated; `python -m tests.support.uplinks` has more of them."""

    @pytest.mark.parametrize("slots", [4, 100])
    @pytest.mark.parametrize(
        "web",
        [
            Web(hosts=5000, pages=2, dead=0.2),
            Web(hosts=5000, pages=2, dead=0.4),
            Web(hosts=5000, pages=2, dead=0.4, run=10),
            Web(hosts=500, flaky=0.1),
            Web(hosts=12, pages=1000, gone=8, gone_at=100),
            Web(hosts=3, pages=1000, gone=3, gone_at=100),
        ],
    )
    def test_no_alarm(self, web, slots):
        """Dead hosts, hosts that fail now and then, and a provider that goes down with few hosts
        are no outage.
        """
        assert crawl(web, slots=slots, seconds=300).alarms == []

    @pytest.mark.parametrize("slots", [4, 100])
    @pytest.mark.parametrize(
        "web",
        [
            Web(downs=((100, 250),)),
            Web(downs=((100, 250),), refusing=True),
            Web(hosts=20, pages=1000, downs=((100, 250),)),
            Web(hosts=5000, pages=5, dead=0.3, downs=((100, 250),)),
        ],
    )
    def test_alarm(self, web, slots):
        """An outage is noticed within a minute or two time-outs, once, and its end within 20
        seconds.
        """
        heard = crawl(web, slots=slots, seconds=300)

        assert [100 <= at < 190 for at in heard.alarms] == [True]
        assert [250 <= at < 270 for at in heard.ends] == [True]
