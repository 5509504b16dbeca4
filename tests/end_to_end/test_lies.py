"""Crawls whose name servers lie for a time: names do not exist, or lead inside.

Nothing is lost, nobody goes inside.
"""

import time

import pytest

from tests.support.crawling import wait_until
from tests.support.forgetful import FORGETFUL
from tests.support.outages import crawl_of, crawl_through, pages
from tests.support.quick_uplink import QUICK_UPLINK
from webcrawl.lab.simweb.name_server import OUTSIDE

SIZE = (2000, 3000)
LIES = ["dns_nxdomain", "dns_outside"]
# A name that was never reached is given up after 2 s.
TERMS = {
    "HOST_RETRY_WAIT": 0.2,
    "HOST_PATIENCE": 600,
    "OUTAGE_END_WAIT": 60,
    "POLITENESS_MIN_DELAY": 0.05,
    **FORGETFUL,
}


def web(simweb, hosts, pages):
    return simweb(hosts, pages, size=SIZE, addresses=hosts, mix={"dns_short": 1.0})


def lines(crawl):
    """The fields of all lines of the crawl log."""
    return [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]


def ended_with(crawl, *statuses):
    return [line[3] for line in lines(crawl) if line[1] in statuses]


def lies_for(server, kind, seconds, *targets):
    """Once the crawl is well under way, the name servers lie about these names for so long."""

    def happenings():
        wait_until(lambda: len(pages(server.log.hits)) > 20)
        with server.outages.during(kind, *targets):
            time.sleep(seconds)

    return happenings


@pytest.mark.campaign
@pytest.mark.parametrize("kind", LIES)
def test_some_hosts(simweb, tmp_path, kind):
    """Hosts that have answered wait while their names lead nowhere, and give all their pages
    afterwards.
    """
    server = web(simweb, 8, 160)
    crawl = crawl_of(server, tmp_path, **TERMS)
    names = [f"site{number}.test" for number in range(5)]

    after = crawl_through(server, crawl, lies_for(server, kind, 4, *names))

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
    assert ended_with(crawl, "-1", "-5001") == []
    assert not [hit for hit in after.hits if hit.address == OUTSIDE]


@pytest.mark.campaign
@pytest.mark.parametrize("kind", LIES)
def test_all_hosts(simweb, tmp_path, kind):
    """If all names lead nowhere the crawl says that there is no network, pauses, and fetches the
    rest afterwards.
    """
    server = web(simweb, 24, 480)
    # Slow enough for the last answers under way to come before most hosts have failed: each speaks
    # against an outage.
    terms = {**TERMS, **QUICK_UPLINK, "POLITENESS_MIN_DELAY": 0.3, "HOST_MAX_FAILURES": 2}
    crawl = crawl_of(server, tmp_path, **terms)

    def happenings():
        wait_until(lambda: len(pages(server.log.hits)) > 20)
        with server.outages.during(kind):
            wait_until(lambda: "no network since" in crawl.output.read_text())
            time.sleep(1.5)

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
    assert ended_with(crawl, "-1", "-5001") == []
    assert crawl.stats["outage/count"] >= 1


@pytest.mark.campaign
@pytest.mark.parametrize("kind", LIES)
def test_lies_without_end(simweb, tmp_path, kind):
    """The crawl says how many URLs of how many hosts are left, through a kill as well; the next run
    fetches them.
    """
    server = web(simweb, 5, 150)
    # Slow enough for every host to have pages left when the lie begins, however late stats.json is
    # written.
    short = {
        "HOST_MAX_FAILURES": 2,
        "OUTAGE_END_WAIT": 3,
        "CHECKPOINT_INTERVAL": 1,
        "POLITENESS_MIN_DELAY": 0.15,
    }
    crawl = crawl_of(server, tmp_path, **{**TERMS, **short})
    running = crawl.start()
    wait_until(
        lambda: (crawl.jobdir / "stats.json").exists() and crawl.stats["pages"] > 10, pause=0.05
    )
    lie = server.outages.begin(kind)
    time.sleep(2.5)
    running.kill()

    assert crawl.run() == 0
    queued, said = crawl.stats["queued"], crawl.output.read_text()
    assert queued > 0
    assert f"{queued} URLs queued" in said
    assert f"{queued} URLs of 5 deferred hosts" in said
    assert ended_with(crawl, "-1", "-5001") == []

    server.outages.end(lie)
    crawl.settings["OUTAGE_END_WAIT"] = 60
    after = crawl_through(server, crawl)
    assert (after.status, after.lost) == (0, set())


@pytest.mark.campaign
def test_a_host_that_was_never_reached(simweb, tmp_path):
    """A name that does not exist is not given up while the name servers deny names that they knew."""
    server = web(simweb, 6, 120)
    # it is requested again after 10 s
    crawl = crawl_of(server, tmp_path, **{**TERMS, "HOST_RETRY_WAIT": 1})
    server.outages.begin("dns_nxdomain", "site5.test")

    def happenings():
        lies_for(server, "dns_nxdomain", 12)()
        server.outages.end()

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost) == (0, set())
    assert (
        "name servers no longer resolve 4 names that they resolved before"
        in crawl.output.read_text()
    )


@pytest.mark.parametrize(("kind", "status"), [("dns_nxdomain", "-1"), ("dns_outside", "-5001")])
def test_a_name_that_leads_nowhere(simweb, tmp_path, kind, status):
    """A host that was never reached is given up after one repeat, while the name servers know
    others.
    """
    server = web(simweb, 4, 60)
    crawl = crawl_of(server, tmp_path, **TERMS)
    server.outages.begin(kind, "site3.test")

    assert crawl_through(server, crawl).status == 0

    (seed,) = [url for url in server.world.seeds() if "site3." in url]
    assert seed in ended_with(crawl, status)
    assert crawl.stats["queued"] == 0
