"""Weeks of a crawl that revisits pages that change, in simulated time."""

from dataclasses import replace

import pytest

from benchmarks.support.revisits import share, weeks
from benchmarks.support.revisits_report import CHECKS
from benchmarks.support.revisits_web import Scale
from tests.support.examples import in_campaign

SMALL = Scale(hosts=20, pages=150, days=21, changes=0.4, kills=3)
SLOW = Scale(hosts=30, pages=600, days=1, policy="uniform", delay=60.0, kills=0)

pytestmark = pytest.mark.xdist_group("weeks")


@pytest.fixture(name="found", scope="module", params=in_campaign("optimal", "fixed"))
def _found(tmp_path_factory, request):
    """One crawl for all tests of a policy."""
    return weeks(
        tmp_path_factory.mktemp("weeks"),
        replace(SMALL, policy=request.param, away=request.param == "fixed"),
    )


@pytest.mark.parametrize("check", CHECKS)
def test_weeks_of_a_crawl_that_revisits(found, check):
    """Pages change, go, come back and move, hosts are away with `fixed`, and the crawl is killed
    now and then.
    """
    assert CHECKS[check](found), found


def test_the_weeks_are_worth_it(found):
    """The crawl was killed, has fetched pages again, and some of them were not modified."""
    assert found.counters["kills"] == SMALL.kills
    assert found.counters["requests"] > 4 * SMALL.pages
    assert found.unmodified > 0.1


@pytest.mark.parametrize("wanted", [0.25, *in_campaign(0.75)])
def test_old_and_new_pages_share_the_fetches(tmp_path, wanted):
    """While there are new pages, known ones have REVISIT_SHARE of all fetches."""
    assert share(tmp_path, SLOW, wanted) == pytest.approx(wanted, abs=0.05)


@pytest.mark.campaign
def test_honest_sitemaps_are_worth_it(tmp_path):
    """The crawl goes on as well, and is as fresh as is possible without them, rates unknown and
    readings paid for.
    """
    found = weeks(
        tmp_path, Scale(hosts=8, pages=160, days=28, kills=3, sitemaps="sitemap_plain", seed=2)
    )
    assert [name for name, check in CHECKS.items() if not check(found)] == []
    assert found.fresh > 0.98 * found.optimum
