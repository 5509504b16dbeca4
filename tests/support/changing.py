"""Whole crawls that revisit a synthetic web whose pages change, a day of theirs in a second or
less.
"""

import tempfile
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

from scrapy.settings import Settings

from tests.support.crawling import POLITE, SETTINGS, Crawl, copy_of, wait_until
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import unpack
from webcrawl.crawl.assembly import open_parts
from webcrawl.crawl.crawl import Crawl as Whole
from webcrawl.crawl.revisit.record import is_ahead, record_of
from webcrawl.lab.simweb import Hit, gaps, mercator, overlaps, robots_first, wait_until_idle
from webcrawl.lab.simweb.host_kinds import is_robots
from webcrawl.lab.simweb.site_listings import is_listing
from webcrawl.store.crawldb import CrawlDB

DAY = 86_400.0
LOOK = 0.1  # seconds between two looks at the server's log


def crawl_of(server, folder, **settings):
    """A crawl of the server's whole world that does not end by itself."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seeds.txt").write_text("".join(f"{url}\n" for url in server.world.seeds()))
    settings = {
        "DNS_NAMESERVERS": server.nameserver,
        "REVISIT_POLICY": "fixed",
        "REVISIT_AGE": 1,
        "REVISIT_RATE": 1000,
        "SITEMAPS": False,
        "FEED_LINKS": False,
        "CHECKPOINT_INTERVAL": 0.5,
        "DOWNLOAD_TIMEOUT": 20,  # what is retried comes twice, without being a revisit
        "DOMAIN_BUDGET": "webcrawl.frontier.allowances.unlimited.Unlimited",
        **settings,
    }
    return Crawl(folder / "job", {"seeds": folder / "seeds.txt"}, settings)


@dataclass
class Seen:
    """What the server saw of a crawl."""

    world: object
    hits: list[Hit]

    @property
    def pages(self):
        """The requests for each page that may change, in order, by URL."""
        found = defaultdict(list)
        for hit in sorted(self.hits, key=lambda hit: hit.started):
            if hit.outcome == "sent" and not is_robots(hit.path) and not is_listing(hit.path):
                found[hit.url].append(hit)
        return dict(found)

    def place(self, url):
        host, target = self.world.locate(url)
        return host, self.world.changing_pages.page_at(host, target)

    def kind(self, url):
        return self.world.changing_pages.kind(*self.place(url))

    @property
    def rude(self):
        """Every impoliteness within a run."""
        return [*overlaps(self.hits), *gaps(self.hits, mercator(self.world, **POLITE))]

    @property
    def without_robots(self):
        """Every first request to a host that was not for its robots.txt."""
        return robots_first(self.hits)

    def waits(self, url):
        """Seconds between the requests for a URL."""
        return [second.started - first.ended for first, second in pairwise(self.pages[url])]


def seen(server, since=0):
    return Seen(server.world, server.log.hits[since:])


def run_until(crawl, server, happened, since=0):
    """Crawls until something has happened, and then stops as by Ctrl-C: the exit status, and what
    the server saw.
    """
    running = crawl.start()
    try:
        wait_until(
            lambda: not running.process.is_alive() or happened(seen(server, since)), pause=LOOK
        )
        running.interrupt()
        status = running.wait()
    finally:
        if running.process.is_alive():
            running.kill()
    wait_until_idle(server)
    return status, seen(server, since)


def records_of(crawl):
    """How many records each URL has in the last checkpoint, waiting or in the frontier; and what
    was fetched.

    A link that fetches a page ahead of its turn has none. One to where a page has moved takes along
    what was known of that page, but there is no record of its own before its first fetch.
    """
    with tempfile.TemporaryDirectory(prefix="records-") as folder:
        copy = Path(folder) / "job"
        copy_of(crawl.jobdir, copy)
        values = Settings()
        values.setmodule("webcrawl.settings")
        values.setdict({**SETTINGS, **crawl.settings, "JOBDIR": str(copy)}, "cmdline")
        db = CrawlDB(copy / "state")
        parts = open_parts(plain_values(values, "web"), db)
        with closing(Whole(parts)):
            count = len(parts.revisiting)
            revisits = parts.revisiting.revisits
            released = revisits.release(len(revisits))  # resting and held ones, too
            found = Counter(record.url for record in released if record.signal is None)
            links = [*map(unpack, _queued(parts))]
            queued = [link for link in links if not is_ahead(link)]
            found.update(
                link.url for link in queued if (record := record_of(link)) and record.fetched
            )
            signals = (
                len(released)
                + len(links)
                - len(queued)
                - sum(record.signal is None for record in released)
            )
            assert found.total() + signals == count
            lines = [line.split() for line in (copy / "logs/crawl.log").read_text().splitlines()]
            return found, {url for _, _, _, url, path, *_ in lines if not path.endswith("P")}


def _all(queue):
    while (entry := queue.pop()) is not None:
        yield entry


def _queued(parts):
    """Every packed link in the frontier."""
    frontier = parts.frontier
    hosts = [frontier.core.hosts.get(name) for (name,) in parts.db.query("SELECT name FROM host")]
    queues = [
        *frontier.core.queues.front.queues,
        frontier.core.queues.front.old,
        *frontier.core.queues.lines.queues.values(),
    ]
    for queue in (*queues, *chain(*(host.queues() for host in hosts))):
        yield from (record for record in _all(queue) if b" " in record)
    yield from (record for host in hosts for _, record in host.later)
