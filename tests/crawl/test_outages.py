"""What real failures cost a whole crawl, in simulated time: each of these once cost nearly all
URLs.
"""

from collections import Counter

import pytest

from benchmarks.support.simulation import DAY, START, Simulation
from benchmarks.support.weather import (
    HOUR,
    MINUTE,
    ROBOTS,
    Site,
    Spell,
    Web,
    dropped,
    inside,
    lost,
    nxdomain,
    says,
    servfail,
    silent,
)
from tests.support.examples import in_campaign

FROM_THE_START = [(START, START + 5 * MINUTE, False)]


@pytest.fixture(name="crawled")
def _crawled(tmp_path):
    """Crawls these sites until nothing is left; returns each status and how often URLs ended with
    it.
    """

    def crawl(sites, urls, *, outages=(), at=START, on_requested=None, days=10):
        feed = [(START, [site.url(0) for site in sites])]
        feed.append((at, [site.url(number) for number in range(1, urls) for site in sites]))
        simulation = Simulation(
            tmp_path, Web(sites, outages), feed, interval=HOUR, on_requested=on_requested
        )
        simulation.run(START + days * DAY)
        simulation.close()
        assert (simulation.judge.early, simulation.judge.overlaps) == ([], [])
        return Counter(status for _, status, _ in simulation.outcomes())

    return crawl


def one(*spells):
    return [Site("site.test", "", spells=list(spells))]


def many():
    return [Site(f"site{number}.test", "", 0.2) for number in range(60)]


@pytest.mark.parametrize(
    "answer", [says(503), says(429), says(500), dropped, servfail, silent, lost]
)
def test_robots_txt_that_is_away_for_the_first_minutes(crawled, answer):
    """No URL of a host is lost whose robots.txt cannot be fetched in the first five minutes."""
    assert crawled(one(Spell(START, START + 5 * MINUTE, answer, robots=True)), 200) == {200: 200}


@pytest.mark.parametrize(
    "answer", [says(503), says(429), says(500), dropped, servfail, silent, lost, nxdomain, inside]
)
def test_robots_txt_that_is_away_a_day_later(crawled, answer):
    """If robots.txt cannot be fetched when its rules have expired, they stay in force, and pages go
    on.
    """
    away = Spell(START + DAY, START + DAY + 8 * HOUR, answer, robots=True)
    times = []

    def note(requested):
        if not requested.link.url.endswith(ROBOTS):
            times.append(requested.begun)

    assert crawled(one(away), 200, at=START + DAY + 1, on_requested=note) == {200: 200}
    assert times[-1] < START + DAY + 2 * HOUR


def test_an_hour_of_429_with_retry_after(crawled):
    """A host that asks to be left alone for an hour is, and loses no URL."""
    assert crawled(one(Spell(START + MINUTE, START + HOUR, says(429, HOUR))), 200) == {200: 200}


@pytest.mark.parametrize("away", [2 * MINUTE, HOUR, DAY, 2.9 * DAY])
@pytest.mark.parametrize(
    "answer",
    [says(503), says(503, 600), says(429), dropped, servfail, silent, lost, nxdomain, inside],
)
def test_a_host_that_is_away(crawled, away, answer):
    """No URL is lost of a host that is back within HOST_PATIENCE."""
    assert crawled(one(Spell(START + MINUTE, START + MINUTE + away, answer)), 100) == {200: 100}


@pytest.mark.parametrize("hosts", [5, *in_campaign(60)])
@pytest.mark.parametrize("answer", [nxdomain, inside])
def test_all_names_lead_nowhere(crawled, answer, hosts):
    """No URL is lost by 20 minutes in which the name servers lie about all hosts, however few these
    are.
    """
    sites = many()[:hosts]
    for site in sites:
        site.spells = [Spell(START + MINUTE, START + 21 * MINUTE, answer)]

    assert crawled(sites, 100) == {200: 100 * hosts}


def test_our_uplink_is_down_at_the_start(crawled):
    """No URL is lost if nothing can be reached for the first five minutes."""
    assert crawled(many(), 20, outages=FROM_THE_START) == {200: 1200}


@pytest.mark.parametrize("only_dns", [False, True])
def test_our_uplink_is_down_later(crawled, only_dns):
    """No URL is lost by 20 minutes without a network, or without name servers."""
    outage = (START + MINUTE, START + 21 * MINUTE, only_dns)

    assert crawled(many(), 100, outages=[outage]) == {200: 6000}
