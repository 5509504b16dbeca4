"""How long `why` says that a host is left alone: what the crawl's own booking says, and a crawl that runs."""

import pytest

from webcrawl.tools.why.host_facts import booking_of, delay_of, new_host
from webcrawl.tools.why.saved_settings import SavedSheets, values_of


@pytest.fixture(name="values")
def _values():
    return values_of({"POLITENESS_MIN_DELAY": "1", "POLITENESS_FACTOR": "10"}, {}, (), [])


def test_a_host_that_is_slowed_down(values):
    """A crawl that runs knows how many times longer it leaves alone a host under strain."""
    book, host = booking_of(values, SavedSheets({})), new_host("a.test")._replace(times=[0.3])

    assert delay_of(book, host, "a.test", values).seconds == pytest.approx(3)
    slowed = delay_of(book, host, "a.test", values, {"wait": 12.0, "rule": "politeness"})
    assert (slowed.seconds, slowed.because) == (12.0, "slowed down: it answers later than it did")


@pytest.mark.parametrize("live", [None, {}, {"wait": 3.0, "rule": "politeness"}, {"wait": 60.0, "rule": "failure"}])
def test_a_host_that_is_not(values, live):
    """Without strain it is the wait of politeness, whatever the host is left alone for besides."""
    book, host = booking_of(values, SavedSheets({})), new_host("a.test")._replace(times=[0.3])

    assert delay_of(book, host, "a.test", values, live).seconds == pytest.approx(3)


def test_a_host_of_its_own(values):
    """A sheet's settings are those of its host alone."""
    book = booking_of(values, SavedSheets({"a.test": {"POLITENESS_MIN_DELAY": 7.0}}))

    waits = [delay_of(book, None, name, values).seconds for name in ("a.test", "b.test")]
    assert waits == [7.0, 1.0]
