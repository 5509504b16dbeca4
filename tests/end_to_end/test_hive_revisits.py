"""A hive that fetches its pages again, while drones come and go."""

from collections import Counter

import msgpack

from tests.support.crawling import wait_until
from tests.support.hive_server import stream_server
from tests.support.hives import AGENT, NAME, Hive
from tests.support.named_sites import sites
from tests.support.snapshots import CrawlSnapshot, _read_frontier, opened
from webcrawl.crawl.hive.redis_server.steps import COMMAND, KEPT, Keys
from webcrawl.crawl.hive.registry import RESIZE
from webcrawl.crawl.revisit.check_revisits import places
from webcrawl.store.jobdir.figures import merged
from webcrawl.store.jobdir.queue_row import SavedQueues
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.verify_hive import verify_hive

HOSTS = [f"d{number}.test" for number in range(12)]
PAGES = {(host, path) for host in HOSTS for path in ("/", "/a")}


class Web:
    """Two pages on each host; `requested` has who asked for them, in what order: host, path, drone."""

    def __init__(self):
        self.requested = []

    def __call__(self, host, path, headers):
        if path == "/robots.txt":
            return None
        self.requested.append((host, path, int(AGENT.search(headers["User-Agent"])[1])))
        return b"<a href=/a>a</a> at home" if path == "/" else b"<p>the other one"

    def again(self, times=2):
        """Waits until each page was asked for so often from now on; the drones that did."""
        begun = len(self.requested)

        def counted():
            return Counter((host, path) for host, path, _ in self.requested[begun:])

        wait_until(lambda: min(counted()[page] for page in PAGES) >= times)
        return {drone for *_, drone in self.requested[begun:]}


def resize(server, hive, *members):
    """Who shall share the web from now on; waits until it is so."""
    hive.members = set(members)
    with server.client() as client:
        client.eval(
            COMMAND, 1, Keys(NAME).commands, msgpack.packb((RESIZE, (members, []))), "", KEPT
        )


def records(jobdir, settings):
    """URLs of the pages whose records this drone has, among those that wait or on their way in its
    frontier.
    """
    found = CrawlSnapshot()
    with Snapshot(jobdir / "state") as snapshot:
        entries = [
            entry
            for _, some in places(snapshot, SavedQueues(snapshot, "revisit"))
            for entry in some
        ]
    with opened(jobdir, settings) as (parts, _):
        _read_frontier(parts, found)
    return Counter(entry[entry.rfind(b" ") + 1 :].decode() for entry in entries) + found.queued


def test_drones_come_and_go(tmp_path):
    """Two drones become three, then one of the first leaves: each page has one record, and none is
    lost.
    """
    web = Web()
    (tmp_path / "hosts").write_text("".join(f"127.0.0.1 {host}\n" for host in HOSTS))
    settings = {
        "HOSTS_FILE": tmp_path / "hosts", "POLITENESS_FACTOR": 0, "POLITENESS_MIN_DELAY": 0, "OUTPUTS": "changes",
        "REVISIT_POLICY": "fixed", "REVISIT_AGE": 0.5, "SITEMAPS": False, "FEED_LINKS": False,
    }  # fmt: skip
    with stream_server(tmp_path / "server") as server, sites(web, all_headers=True) as found:
        seeds = [found.url(host) for host in HOSTS]
        hive = Hive(
            tmp_path / "hive", None, server.url, drones=2, settings=settings, seeds=seeds
        ).start_all()
        try:
            web.again()
            new = hive.add()
            resize(server, hive, 0, 1, new)
            hive.start(new)
            wait_until(lambda: any(drone == new for *_, drone in web.requested))
            web.again()
            resize(server, hive, 0, new)
            assert hive.running[1].wait() == 0
            assert web.again() == {0, new}
            for drone in (0, new):
                hive.running[drone].process.terminate()
            assert hive.wait() == [0, 0, 0]
        finally:
            hive.end()

    urls = {found.url(host, path) for host, path in PAGES}
    each = [records(jobdir, settings) for jobdir in hive.jobdirs]
    assert sum(each, Counter()) == dict.fromkeys(urls, 1)
    assert each[1] == {}
    assert list(verify_hive(tmp_path / "hive", Counter())) == []
    assert merged(crawl.stats for crawl in hive.crawls)["revisit/records"] == len(PAGES)
