"""A crawl that is short of sockets loses no page by that."""

# Seen on 2026-11-21, before this was fixed; every crawl ended with status 0 and reason `finished`:
# - 135 descriptors, CONCURRENT_REQUESTS=100: 82 of 300 pages were never fetched (100 times no_socket, 111 times dns);
# - 1024 descriptors, CONCURRENT_REQUESTS=1000: 136 of 1200 (258 times no_socket, 54 times dns);
# - half a second in which no socket could be made: all 40 (robots.txt three times no_socket, then "unreachable");
# - half a second in which c-ares found no descriptor: 18 of 20 hosts were retired for it;
# - half a second in which the list of seeds could not be opened: all 40, after one line in the log.

import json

import pytest

from tests.support.crawling import Crawl
from tests.support.prepared import descriptors, start
from webcrawl.lab.simweb import truth, wait_until_idle

SHORTAGES = "tests.support.shortages"
# A host is given up at its first failure: whatever it is charged with, though it did nothing, costs
# its pages.
SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 50,  # a thousand downloads at once, on a busy machine
    "DNS_TIMEOUT": 50,
    "HOST_MAX_FAILURES": 1,
    "HOST_PATIENCE": 0,
}


def crawl_of(folder, server, **settings):
    (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS, **settings}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


def lost(server, crawl, running):
    """Pages that nobody asked for when the crawl has ended; after an end that is none it is resumed
    with more room.
    """
    if running.wait():
        assert crawl.run() == 0, crawl.output.read_text()[-2000:]
    wait_until_idle(server)
    requested = {hit.url for hit in server.log.hits if hit.outcome == "sent"}
    return truth(server.world, server.world.seeds()).must - requested


@pytest.mark.parametrize(
    ("count", "at_once", "hosts", "latency"),
    [pytest.param(135, 100, 200, 0.2, id="few"), pytest.param(1024, 1000, 1200, 1.5, id="usual")],
)
def test_a_low_limit_of_descriptors_costs_no_page(tmp_path, simweb, count, at_once, hosts, latency):
    """With fewer descriptors than downloads at once a crawl fetches every page, or ends with a
    status that is not 0.
    """
    server = simweb(hosts, hosts, size=(1000, 2000), latency=latency)
    crawl = crawl_of(tmp_path, server, CONCURRENT_REQUESTS=at_once)

    assert lost(server, crawl, start(crawl, descriptors(count))) == set()


@pytest.mark.parametrize(
    "loop",
    ["ShortOfDescriptors", "ShortOfFiles", "ShortOfPorts", "ShortOfBuffers", "ShortOfMemory"],
)
def test_a_moment_without_sockets_costs_no_page(tmp_path, simweb, loop):
    """A system that has no socket for half a second, for whatever reason, is not to be blamed on
    URLs or hosts.
    """
    server = simweb(20, 40, size=(1000, 2000))
    crawl = crawl_of(tmp_path, server)

    assert lost(server, crawl, crawl.start(ASYNCIO_EVENT_LOOP=f"{SHORTAGES}.{loop}")) == set()


@pytest.mark.parametrize("hoarder", ["Hoarder", "EarlyHoarder"])
def test_a_moment_without_descriptors_costs_no_page(tmp_path, simweb, hoarder):
    """A resolver, or a list of seeds, that finds no descriptor says nothing about hosts and seeds."""
    server = simweb(20, 40, size=(1000, 2000))
    hoarding = json.dumps({f"{SHORTAGES}.{hoarder}": 300})
    crawl = crawl_of(tmp_path, server, CONCURRENT_REQUESTS=1, ITEM_PIPELINES=hoarding)

    assert lost(server, crawl, start(crawl, descriptors(100))) == set()
