"""The month of `python -m benchmarks.month`, with fewer hosts and days."""

import pytest

from benchmarks.support.months import CHECKS, Scale, month

SMALL = Scale(hosts=60, days=12, first=15, later=10, kills=3)

pytestmark = pytest.mark.xdist_group("month")  # one month for all tests


@pytest.fixture(name="found", scope="module")
def _found(tmp_path_factory):
    return month(tmp_path_factory.mktemp("month"), SMALL)


@pytest.mark.campaign
@pytest.mark.parametrize("check", CHECKS)
def test_a_month_on_a_web_that_fails(found, check):
    """Hosts fail as real ones do, our own network is out three times, and the crawl is killed now
    and then.
    """
    assert CHECKS[check](found), found


@pytest.mark.campaign
def test_the_month_is_worth_it(found):
    """Hosts that never come back lose URLs, so the others might; and the crawl was killed."""
    assert found.kinds["dead"]["200"] == 0 < found.kinds["dead"].total()
    assert found.counters["kills"] >= SMALL.kills


@pytest.mark.campaign
def test_a_url_alone_is_charged_rarely(found):
    """A URL that times out or is reset three times ends, if nothing else of its host was requested
    in between.
    """
    assert len(found.charged) < found.urls / 1000
