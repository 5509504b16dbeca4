"""A crawl that runs out of memory ends, and loses nothing by that."""

# Of 40 crawls with 30 to 36 MiB beyond the process's size at its start, 11 once hung, deaf to
# SIGTERM: Thread.start() waits for ever for a thread that died at birth. Others had pages in
# crawl.log that were not in the archive.

import json
import os
import signal

import pytest

from tests.support.crashes import sound
from tests.support.crawling import Crawl
from tests.support.prepared import memory, start
from webcrawl.lab.simweb import truth, wait_until_idle

SHORTAGES = "tests.support.shortages"
LIMITS = 3  # that are tried, a MiB apart, from the first one on with which a crawl can begin
SETTINGS = {
    "POLITENESS_FACTOR": 0,
    "POLITENESS_MIN_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 10,
    "DNS_TIMEOUT": 10,
    "CHECKPOINT_INTERVAL": 0.3,
}


def crawl_of(folder, server, **settings):
    folder.mkdir(exist_ok=True)
    (folder / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS, **settings}
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


def ended(running):
    """Whether the process ends by itself in three seconds, or in twenty on SIGTERM; if not it is
    killed.
    """
    process = running.process
    process.join(3)
    if process.is_alive():
        os.kill(process.pid, signal.SIGTERM)
        process.join(20)
    if not process.is_alive():
        return True
    process.kill()
    process.join()
    return False


def assert_nothing_is_lost(server, crawl):
    """The next run, which is short of nothing, ends with every page fetched, logged and archived."""
    assert crawl.run() == 0
    wait_until_idle(server)
    must = truth(server.world, server.world.seeds()).must
    assert must - {hit.url for hit in server.log.hits if hit.outcome == "sent"} == set()
    assert sound(crawl.jobdir).logged.keys() == must


@pytest.mark.parametrize("shortage", ["NoThread", "StillbornThread", "NoMemory"])
def test_a_crawl_that_gets_no_more_threads_or_memory_ends(tmp_path, simweb, shortage):
    """What a crawl has not kept for want of threads or memory it fetches when resumed; with status
    0 it kept all.
    """
    server = simweb(30, 150, size=(100_000, 200_000), latency=0.02)
    crawl = crawl_of(tmp_path, server)

    running = crawl.start(ITEM_PIPELINES=json.dumps({f"{SHORTAGES}.{shortage}": 300}))

    assert ended(running)
    assert_nothing_is_lost(server, crawl)
    requested = [hit.url for hit in server.log.hits]
    assert running.process.exitcode or len(requested) == len(set(requested))


def test_whatever_the_limit_of_memory_a_crawl_ends(tmp_path, simweb):
    """Under a limit that it can just begin with, or a little more, a crawl ends, and a resumed one
    lacks nothing.
    """
    more, begun = 16, 0
    while begun < LIMITS:
        server = simweb(20, 80, size=(100_000, 200_000), latency=0.01)
        crawl = crawl_of(tmp_path / str(more), server)

        assert ended(start(crawl, memory(more)))
        if server.log.count:
            assert_nothing_is_lost(server, crawl)
            begun += 1
        more += 1 if begun else 5
