"""No thread is started in the middle of a crawl: it might be refused, or waited for without an end."""

import json
import threading
from contextlib import closing

import pycares
import pytest

from tests.support.crawling import Crawl
from webcrawl.net.thread_start import start_threads
from webcrawl.store import worker

# of the module threading, the second from Python 3.13 on
STARTERS = ("_start_new_thread", "_start_joinable_thread")


@pytest.fixture(name="manager")
def _manager(monkeypatch):
    """Of pycares' channels, as it is before the first one."""
    manager = pycares._ChannelShutdownManager()
    monkeypatch.setattr(pycares, "_shutdown_manager", manager)
    return manager


@pytest.mark.usefixtures("manager")
def test_a_channel_needs_no_further_thread():
    """The thread that pycares starts with its first channel lives when the crawl begins."""
    start_threads()

    before = threading.enumerate()
    with closing(pycares.Channel(sock_state_cb=print)):
        assert threading.enumerate() == before


@pytest.mark.usefixtures("manager")
def test_a_thread_that_dies_at_birth(monkeypatch):
    """Where that thread dies for want of memory before it can say that it runs, the crawl does not
    begin.
    """
    for name in STARTERS:
        monkeypatch.setattr(threading, name, lambda *_, **__: 0, raising=False)
    monkeypatch.setattr(worker, "CHECK_SECONDS", 0.01)

    with pytest.raises(RuntimeError, match="can't start new thread"):
        start_threads()


def test_a_crawl_starts_no_thread(tmp_path, simweb):
    """Once all pipelines are open, through large pages, merges, checkpoints and its end, it needs
    no new thread.
    """
    server = simweb(10, 60, size=(200_000, 300_000))
    (tmp_path / "seeds.txt").write_text("\n".join(server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "POLITENESS_FACTOR": 0,
        "CHECKPOINT_INTERVAL": 0.2,
        "ITEM_PIPELINES": json.dumps({"tests.support.shortages.Threads": 1000}),
    }
    crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)

    assert crawl.run() == 0

    output = crawl.output.read_text()
    told = [line for line in output.splitlines() if line.startswith("threads:")]
    assert [line.partition(" ")[2] for line in told] == ["0 new ones"], output
