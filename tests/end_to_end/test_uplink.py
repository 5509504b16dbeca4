"""Crawls whose own network is out for a time: they stop, wait, lose nothing, and charge nobody."""

import time

import pytest

from tests.support.crawling import wait_until
from tests.support.outages import back_after, crawl_of, crawl_through, pages
from tests.support.quick_uplink import QUICK_UPLINK

SIZE = (2000, 3000)
HOSTS = {"hosts": 24, "pages": 240, "size": SIZE, "addresses": 24}
# a host that was charged ends no test; on a busy machine a server may need seconds to answer
FREE = {
    "HOST_RETRY_WAIT": 600,
    "RETRY_TIMES": 0,
    "HOST_MAX_FAILURES": 2,
    "DOWNLOAD_TIMEOUT": 6,
    "DNS_TIMEOUT": 3,
}


def web(simweb, **options):
    chosen = {**HOSTS, **options}
    return simweb(chosen.pop("hosts"), chosen.pop("pages"), **chosen)


def said(crawl):
    return crawl.output.read_text() if crawl.output.exists() else ""


@pytest.mark.parametrize(
    "kind",
    [
        "uplink_refused",
        *(
            pytest.param(kind, marks=pytest.mark.campaign)
            for kind in ("uplink_lost", "uplink_hang")
        ),
    ],
)
def test_an_outage_under_way_costs_nothing(simweb, tmp_path, kind):
    """The crawl says that there is no network, pauses, and fetches all pages once it is back; no
    attempt is used up.
    """
    server = web(simweb)
    crawl = crawl_of(server, tmp_path, **FREE, **QUICK_UPLINK)

    def happenings():
        wait_until(lambda: len(pages(server.log.hits)) > 60)
        with server.outages.during(kind):
            wait_until(lambda: "no network since" in said(crawl))
            time.sleep(1.5)

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
    assert back_after(after.hits, server.outages.all[0]) < 20
    assert "the network is back after" in said(crawl)
    assert crawl.stats["outage/count"] == 1
    assert crawl.stats["outage/seconds"] >= 1
    assert crawl.stats["outage/put_back"] > 0


@pytest.mark.campaign
def test_pages_that_await_downloads(simweb, tmp_path):
    """They wait for the network as well, find it again if nobody else can, and all of them are
    done.
    """
    server = web(simweb)
    awaits = {
        "ITEM_PIPELINES": '{"tests.support.inline_spiders.Again": 300}',
        "NOTES": tmp_path / "notes",
    }
    crawl = crawl_of(server, tmp_path, HOST_RETRY_WAIT=1, RETRY_TIMES=0, **awaits, **QUICK_UPLINK)

    def happenings():
        wait_until(lambda: len(pages(server.log.hits)) > 60)
        with server.outages.during("uplink_refused"):
            wait_until(lambda: "no network since" in said(crawl))
            time.sleep(1.5)

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost) == (0, set())
    assert crawl.stats["outage/count"] == 1
    assert len((tmp_path / "notes").read_text().splitlines()) >= len(pages(after.hits)) / 2


def test_no_network_from_the_first_second(simweb, tmp_path):
    """A crawl that never had a network does not end, and fetches everything once there is one.

    (If not even a name server answers, it does not start.)
    """
    server = web(simweb)
    crawl = crawl_of(server, tmp_path, **FREE, **QUICK_UPLINK)

    def happenings():
        wait_until(lambda: "no network since" in said(crawl))
        time.sleep(1.5)
        server.outages.end()

    server.outages.begin("address_refused")
    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost, after.complaints) == (0, set(), [])


@pytest.mark.campaign
def test_stopping_during_an_outage(simweb, tmp_path):
    """Ctrl-C ends a crawl without a network in seconds; no run starts without one; a later one
    fetches the rest.
    """
    server = web(simweb, pages=360)
    slow = {"POLITENESS_MIN_DELAY": 0.1}  # most is still to be done when the outage begins
    settings = {**FREE, "CHECKPOINT_INTERVAL": 1, **slow, **QUICK_UPLINK}
    crawl = crawl_of(server, tmp_path, **settings)
    running = crawl.start()
    wait_until(lambda: len(pages(server.log.hits)) > 60)
    outage = server.outages.begin("uplink_lost")
    wait_until(lambda: "no network since" in said(crawl))
    running.interrupt()
    assert (running.wait(), crawl.stats["reason"]) == (0, "shutdown")

    assert crawl.run() == 1
    assert said(crawl).startswith("no name server answers")
    server.outages.end(outage)
    after = crawl_through(server, crawl)

    assert (after.status, after.lost) == (0, set())


def test_a_crawl_of_few_dead_hosts_ends(simweb, tmp_path):
    """Fewer hosts than an outage needs are taken for dead, and the crawl ends: with status 1, for
    it got nothing.
    """
    server = web(simweb, hosts=8, pages=40, addresses=8)
    server.outages.begin("address_refused")
    crawl = crawl_of(server, tmp_path, HOST_MAX_FAILURES=2)

    after = crawl_through(server, crawl)

    assert (after.status, crawl.stats["reason"]) == (1, "finished")
    assert "no network" not in said(crawl)


@pytest.mark.campaign
def test_no_name_server_answers(simweb, tmp_path):
    """Hosts whose addresses are known are fetched meanwhile; names that cannot be resolved wait,
    and cost nothing.
    """
    server = web(simweb, hosts=60, pages=300, addresses=60)
    # On a busy machine seconds pass until names enough have failed: none may be asked for twice.
    crawl = crawl_of(
        server,
        tmp_path,
        **{**FREE, "HOST_RETRY_WAIT": 20},
        CONCURRENT_REQUESTS=4,
        FRONTIER_QUEUES=4,
    )

    def happenings():
        wait_until(lambda: len(pages(server.log.hits)) > 20)
        with server.outages.during("nameserver_servfail"):
            wait_until(lambda: "no name server has answered for" in said(crawl))

    after = crawl_through(server, crawl, happenings)

    assert (after.status, after.lost, after.complaints) == (0, set(), [])
    assert "name servers answer again" in said(crawl)
    assert crawl.stats["outage/names"] == 1
