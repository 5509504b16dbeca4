"""A signal that comes twice by mistake is one signal, and none cuts the end of a crawl short."""

# Seen on 2026-11-21, before this was fixed: the second signal ended the process at once, with
# status 130.

import json
import os
import pty
import signal
import sys
from contextlib import suppress

import pytest

from tests.support.commands import default_signal
from tests.support.crawling import Crawl, wait_until
from tests.support.places import ROOT
from tests.support.snapshots import snapshot_of
from webcrawl.lab.simweb import wait_until_idle

SETTINGS = {"POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "CONCURRENT_REQUESTS": 8}


def in_terminal(words):
    """The other end of the command's terminal, and its process, which is that terminal's leader."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "scrapy", *words])  # noqa: S606
    os.set_blocking(terminal, False)
    return terminal, child


def read(terminal):
    """Reads what there is, so that the crawl need not wait; always true."""
    with suppress(BlockingIOError):
        os.read(terminal, 1 << 16)
    return True


def test_a_closed_terminal_loses_nothing(tmp_path, simweb):
    """A crawl whose terminal is closed takes its last checkpoint: state, log and archive have what
    was fetched. That nothing can be printed any more is no error.
    """
    server = simweb(8, 80, size=(1000, 2000), latency=0.1)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS, "CHECKPOINT_INTERVAL": 600}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    with default_signal(signal.SIGHUP):
        terminal, child = in_terminal(crawl.words(LOG_FILE=tmp_path / "log")[1:])
    wait_until(lambda: read(terminal) and server.log.count > 30)
    os.close(terminal)  # the kernel sends SIGHUP, and every write to it fails from now on
    _, status = os.waitpid(child, 0)

    wait_until_idle(server)
    assert os.waitstatus_to_exitcode(status) == 0
    assert crawl.stats["reason"] == "shutdown"
    found = snapshot_of(crawl.jobdir)
    assert {hit.url for hit in server.log.hits} == (found.logged + found.robots).keys()
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_closed_terminal_ends_a_hive_well(tmp_path, simweb):
    """A hive whose terminal is closed ends as after SIGTERM, and keeps the sums of its drones."""
    server = simweb(8, 80, size=(1000, 2000), latency=0.1)
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {"DNS_NAMESERVERS": server.nameserver, **SETTINGS}
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    with default_signal(signal.SIGHUP):
        terminal, child = in_terminal(["hive", "web", "-n", "1", *crawl.words()[3:]])
    wait_until(lambda: read(terminal) and server.log.count > 30)
    os.close(terminal)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert crawl.stats["reason"] == "shutdown"


@pytest.mark.parametrize(
    ("reason", "settings"),
    [("finished", {}), ("closespider_pagecount", {"CLOSESPIDER_PAGECOUNT": 2})],
)
def test_a_signal_while_the_crawl_closes_changes_nothing(tmp_path, simweb, reason, settings):
    """A crawl that ends by itself, and is told to end meanwhile, takes its last checkpoint and
    writes its figures.
    """
    server = simweb(2, 8, size=(1000, 2000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    slow = json.dumps({"tests.support.cli_components.SlowToClose": 300})
    given = {
        "DNS_NAMESERVERS": server.nameserver,
        **SETTINGS,
        "CONCURRENT_REQUESTS": 1,
        "ITEM_PIPELINES": slow,
    }
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, given)

    running = crawl.start(**settings)
    wait_until((tmp_path / "job/closing").exists)
    running.interrupt()

    assert running.wait() == 0
    assert crawl.stats["reason"] == reason
    wait_until_idle(server)
    found = snapshot_of(crawl.jobdir)
    assert {hit.url for hit in server.log.hits} <= (found.logged + found.robots).keys()
