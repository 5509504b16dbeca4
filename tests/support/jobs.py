"""JOBDIRs made without a network: every part of a crawl has worked a little, some with small
limits.
"""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from tests.support.crawling import wait_until
from tests.support.saving import prepared, settled
from tests.support.seens import STORES, disk
from tests.support.warc_crawl import NOW, exchange
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.saved_state import SavedCounters
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.booking import Limits
from webcrawl.frontier.core import Rules, Shape
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.frontier.politeness.mercator import Mercator
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.seen.protocol import Layout
from webcrawl.frontier.state import open_frontier
from webcrawl.net.robots_book import RobotsBook
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.log_lines import link_lines
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.store.outputs import Outputs
from webcrawl.store.write_ahead_log import LIMIT

HOSTS = 30
SIZES = Layout(chunk=300, budget=100, largest=900, row=64, fresh=100, at_once=50)


class Job:
    """A crawl's parts with one database.

    `work` does a little of everything, and `checkpoint` saves it.
    """

    def __init__(
        self, root: Path, store: str = "disk", hosts: str = "h", *, log_limit: int = LIMIT
    ) -> None:
        """Open the parts; `hosts` is the beginning of the hosts' names, and of the archive's
        files.
        """
        self.root, self._hosts = root, hosts
        self.db = CrawlDB(root / "state", log_limit=log_limit)
        self.outputs = Outputs(self.db, root, at_once=4096)
        self.log = CrawlLog(self.outputs.open("logs/crawl.log"))
        self.links = self.outputs.open("logs/links.log")
        self.seen = disk(self.db, sizes=SIZES) if store == "disk" else STORES[store](self.db)
        self.content = ContentSeen(self.db, memory=4096)
        self.frontier = open_frontier(
            self.db,
            Shape(3, 2.0, 1 << 16),
            Rules(
                ByDepth(3),
                Mercator(10, 1, 300),
                Limits(queues=4, max_queues=10),
                lambda name: name[-6:],
                ByReputation(6),  # some domains have had their pages
            ),
            random=Random(1),
        )
        self.portions = Portions(self.db, str)
        self.robots = RobotsBook(RobotsRows(self.db), "test")
        SavedCounters(self.db, {})
        if self.db.get("key") is None:
            self.db.set("key", bytes(16))
            self.db.set(CLEAN, b"")
        self.archive = WarcWriter(
            self.db,
            self.outputs,
            WarcFiles(f"test{hosts.strip('h')}", 20_000, {"software": "webcrawl/0"}),
            random=Random(2),
            clock=lambda: NOW,
        )
        self._number, self._now = 0, NOW

    def work(self, pages: int = 40) -> None:
        """Crawl this many pages, each with links to new ones."""
        for _ in range(pages):
            numbers = range(self._number, self._number + 20)
            self._number += 20
            urls = [f"http://{self._hosts}{n % HOSTS}.test/some/where/{n}.html" for n in numbers]
            # of a page's links, or of ordinary requests
            words = ["", "", "", "e30=", "2.e30=", "-1.e30="]
            links = [
                Link(
                    url,
                    "L" * (len(url) % 4),
                    seed=f"http://{self._hosts}0.test/",
                    request=words[number % len(words)],
                )
                for url, number in zip(urls, numbers, strict=True)
            ]
            keys = [
                int.from_bytes(hashlib.sha256(link.url.encode()).digest()[:8]) for link in links
            ]
            self.seen.submit(keys, [link.pack() for link in links])
            self.frontier.add(self.seen.pop_new(30))
            self._page(links)
            self.portions.put(links[0], "", [link.url for link in links], "L", 0)
            if len(links[0].url) % 3:
                self.portions.pop_due(self._now)

    def _page(self, links) -> None:
        """Fetch the next page, if one is due; or else let time pass."""
        link = self.frontier.take(self._now)
        if link is None:
            self._now = max(self._now, self.frontier.next_ready() or 0.0)
            self.seen.merge()
            return
        origin = link.url[: link.url.index("/", 8)]
        self.robots.record_answer(
            origin, 200 if "1" in origin else 503, b"User-agent: *\nDisallow: /no\n", self._now
        )
        self.frontier.domains.heard(link.url, [one.url for one in links])
        answer = exchange(link.url, b"<p>" + link.url.encode() * 9)
        self.content.seen(hashlib.md5(answer.body, usedforsecurity=False).digest())
        self.archive.write(link, answer, duplicate=False, metadata={})
        outcome = Outcome(200, 0.1, at=self._now)
        self.frontier.done(link, outcome, self._now)
        self.log.finished(link, outcome, answer, [])
        self.links.write(link_lines(link.url, [("a", one.url, one.url, "a link") for one in links]))

    def checkpoint(self) -> None:
        prepared(self.db)
        self.db.checkpoint()

    def killed(self, target: Path) -> Path:
        """Return a copy of what `kill -9` would leave now."""
        settled(self.db)  # otherwise the copy may mix pages of different moments
        # otherwise a scratch file may be gone before it is copied
        wait_until(lambda: not self.seen.busy)
        shutil.copytree(self.root, target)
        return target

    def close(self) -> None:
        self.seen.close()
        self.content.close()
        self.outputs.close()
        self.db.close()


def stopped(root: Path, store: str = "disk", hosts: str = "h") -> Path:
    """Return the JOBDIR of a crawl that was stopped cleanly."""
    job = Job(root, store, hosts)
    for _ in range(3):
        job.work()
        job.checkpoint()
    job.archive.close()
    job.checkpoint()
    job.close()
    (root / "stats.json").write_text('{"reason": "shutdown"}\n')
    return root


def killed(root: Path, target: Path, store: str = "disk") -> Path:
    """Return the JOBDIR of a crawl killed between two checkpoints.

    Its write-ahead log is not entirely copied back.
    """
    job = Job(root, store)
    # while it reads, the log cannot begin anew
    with closing(sqlite3.connect(job.db.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchone()
        for _ in range(3):
            job.work()
            job.checkpoint()
        job.work()
        job.killed(target)
    job.close()
    return target


def tree(root: Path) -> dict[str, tuple[int, int, str]]:
    """Return modification time, size and digest of every file below: what verify must not
    change.
    """
    return {
        path.relative_to(root).as_posix(): (
            path.stat().st_mtime_ns,
            path.stat().st_size,
            hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest(),
        )
        for path in sorted((root, *root.rglob("*")))
    }
