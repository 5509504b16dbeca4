"""What fetching a page again costs beyond the fetch: microseconds of CPU of one revisit, by its parts.

The crawl's own code, from the record that is due to the record that is kept again, with the policy `optimal`; only
network, frontier and bodies are left out. `taken` is the records that are due, `sent` the links made of them, `headers`
what makes requests conditional, `judged` what the answers say, `heard` what is learned from them, `kept` the records on
their way back, and `saved` the checkpoints. The text of a page that has changed is apart. Of each part the fastest look
at what is due counts, so that little of the machine's other load is in it.

The machine's load does not change a count of instructions; two runs that differ in `--rounds` give those of a revisit:
`valgrind --tool=cachegrind --cache-sim=no python -m benchmarks.revisit_cost --pages 20000 --rounds 1`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import starmap
from math import exp
from pathlib import Path
from random import Random
from types import SimpleNamespace

from benchmarks.support.report import report
from webcrawl.base.dates import http_date
from webcrawl.base.model import Exchange, Link, Outcome, Packed, Timings, unpack
from webcrawl.content.page import Page
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.page_states import States
from webcrawl.crawl.revisit.importance import Weighed, by_depth
from webcrawl.crawl.revisit.policies.optimal import Optimal
from webcrawl.crawl.revisit.policy import PolicyOptions
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import Revisits
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.crawl.revisit_budget import Split
from webcrawl.crawl.revisit_counts import RevisitCounts, Watched
from webcrawl.crawl.revisiting import Revisiting
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.url_fingerprint import Fingerprints

START = 1.8e9
RATE, SECONDS = 40.0, 5.0  # revisits per second of a clock that is only counted, and between two looks at what is due
HOST = 100  # pages
SAVED = 10_000  # revisits between two checkpoints
KEY = bytes(16)
Fetch = tuple[Link, Exchange, Page]
BODY = b"<html><title>A page</title><p>" + b"Some words that a reader of this page may like. " * 200


class Frontier:
    """Takes the links of one look."""

    gate = None

    def __init__(self) -> None:
        self.packed: list[Packed] = []

    def __len__(self) -> int:
        return len(self.packed)

    def revisit(self, packed: list[Packed]) -> None:
        self.packed += packed

    def bring(self, now: float) -> None: ...


class Parted(Revisits):
    """Takes the time of its part, and puts records off that come back, so that their part is known."""

    spent = 0.0
    back: list[tuple[PageRecord, float, float | None]]

    def take(self, now: float, most: int) -> list[PageRecord]:
        began = time.process_time()
        found = super().take(now, most)
        self.spent = time.process_time() - began
        return found

    def keep(self, record: PageRecord, now: float, due: float | None = None) -> None:
        self.back.append((record, now, due))

    def put(self) -> None:
        for row in self.back:
            super().keep(*row)
        self.back.clear()


class Cost:
    """A crawl that knows all pages, and nothing but revisits to do."""

    def __init__(self, db: CrawlDB, pages: int) -> None:
        self.now, self._db, self._random, self._pages = START, db, Random(1), pages
        clock = CrawlClock(db, wall=lambda: self.now, steady=lambda: self.now)
        split, self._frontier, counters = Split(clock), Frontier(), Counter[str]()
        split.change(age=86_400.0, rate=RATE, share=0.5)
        policy = Optimal(PolicyOptions(86_400.0, split.rate, split.known, Random(2)))
        signals = Signals(db, Fingerprints(KEY), Random(3), counters)
        self._revisits = Parted(
            db,
            policy,
            rate=split.rate,
            random=Random(4),
            missed=signals.missed,
            key=KEY,
            floor=1.0,
            counters=counters,
        )
        self._revisits.back = []
        self._counts = RevisitCounts(db, Watched(db, KEY), counters, clock)
        given = ("optimal", policy), split, self._frontier, Weighed(by_depth), self._counts, Random(5), lambda _: False
        self._revisiting = Revisiting(db, clock, self._revisits, *given, signals=signals, on=True, new=True)
        split.pages = self._revisiting.__len__
        bodies = SimpleNamespace(seen=bool, holds=lambda _: False, add=bool)
        self._states = States(bodies, lambda data: blake2b(data, digest_size=16).digest(), self._revisiting)
        # Of most pages a change is seen with one visit in a hundred, of some with nearly each.
        self._rates = [exp(self._random.gauss(0, 2)) * RATE / (10 * pages) for _ in range(pages)]
        self._fetched = [0.0] * pages
        self._editions = [0] * pages
        self.parts: dict[str, list[float]] = {}  # seconds of each look, per page
        self.changed = self.total = self._unsaved = 0

    def first(self) -> None:
        """All pages are fetched for the first time."""
        for page in range(self._pages):
            self.now += 1 / RATE
            link = Link(f"https://www.site{page // HOST}.example/section/{page % 31}/page{page}", "LL")
            rows = [self._fetch(link, [], page)]
            self._judge(rows)
            self._hear(rows)
            self._revisits.put()
        self._save()

    def look(self) -> None:
        """What is due by now is fetched again."""
        self.now += SECONDS
        self._frontier.packed.clear()
        fed = _spent(lambda: self._revisiting.feed(self.now))
        links = [unpack(packed) for packed in self._frontier.packed]
        if not links:
            return
        given: list[list[tuple[bytes, bytes]]] = []
        asked = _spent(lambda: given.extend(map(self._revisiting.headers, links)))
        rows = list(starmap(self._fetch, zip(links, given, strict=True)))
        parts = {
            "taken": self._revisits.spent,
            "sent": fed - self._revisits.spent,
            "headers": asked,
            "judged": _spent(lambda: self._judge(rows)),
            "heard": _spent(lambda: self._hear(rows)),
            "kept": _spent(self._revisits.put),
        }
        for name, seconds in parts.items():
            self.parts.setdefault(name, []).append(seconds / len(links))
        self.changed += sum(exchange.status == 200 for _, exchange, _ in rows)
        self.total += len(links)
        self._unsaved += len(links)
        if self._unsaved >= SAVED:
            self.parts.setdefault("saved", []).append(_spent(self._save) / self._unsaved)
            self._unsaved = 0

    def _fetch(self, link: Link, given: list[tuple[bytes, bytes]], page: int = -1) -> Fetch:
        """What the network would bring."""
        number = page if page >= 0 else int(link.url.rpartition("page")[2])
        passed, self._fetched[number] = self.now - self._fetched[number], self.now
        if page >= 0 or self._random.random() > exp(-self._rates[number] * passed):
            self._editions[number] += 1
        etag = b'"%x-%x"' % (number, self._editions[number])
        same = (b"If-None-Match", etag) in given
        headers = [
            (b"Date", http_date(int(self.now))),
            (b"Server", b"nginx"),
            (b"Content-Type", b"text/html; charset=utf-8"),
            (b"Last-Modified", http_date(int(START) + self._editions[number])),
            (b"ETag", etag),
            (b"Cache-Control", b"max-age=1, public"),
            (b"Vary", b"Accept-Encoding"),
        ]
        sent = b"".join(b"%b: %b\r\n" % row for row in given)
        body = b"" if same else b"%x %x" % (number, self._editions[number])
        request, status = b"GET / HTTP/1.1\r\n" + sent + b"\r\n", 304 if same else 200
        exchange = Exchange(link.url, request, status, b"", headers, body, body, body, "192.0.2.1", self.now, Timings())
        found = Page.of(link, exchange)
        found.fingerprint = number  # whose cost is known by itself
        return link, exchange, found

    def _judge(self, rows: Sequence[Fetch]) -> None:
        for link, exchange, page in rows:
            self._states.judge(page, link, exchange)

    def _hear(self, rows: Sequence[Fetch]) -> None:
        for link, exchange, _ in rows:
            outcome = Outcome(exchange.status, ended=self.now)
            self._revisiting.hear(link, outcome, exchange)
            self._counts.hear(link, outcome, exchange)

    def _save(self) -> None:
        for _ in self._db.prepare():
            pass
        self._db.checkpoint()


def _spent(part: Callable[[], object]) -> float:
    """CPU seconds of one part, whatever else the machine does."""
    began = time.process_time()
    part()
    return time.process_time() - began


def _text() -> float:
    """CPU seconds of the fingerprint of a page's text."""
    exchange = Exchange("https://site.example/", b"", 200, b"", [], BODY, BODY, BODY, "192.0.2.1", START, Timings())
    pages = [Page.of(Link(exchange.url), exchange) for _ in range(100)]
    return min(_spent(lambda page=page: page.fingerprint) for page in pages)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisit_cost", description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000, metavar="N")
    parser.add_argument("--rounds", type=float, default=3, help="how often each page is fetched again (%(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, closing(CrawlDB(Path(scratch))) as db:
        cost = Cost(db, args.pages)
        cost.first()
        while cost.total < args.rounds * args.pages:
            cost.look()
        parts = {name: min(seconds) * 1e6 for name, seconds in cost.parts.items()}
        report(
            "revisit_cost",
            pages=args.pages,
            revisits=cost.total,
            changed=cost.changed / max(cost.total, 1),
            us=sum(parts.values()),
            parts={name: round(us, 1) for name, us in parts.items()},
            text_of_a_changed_page=_text() * 1e6,
        )


if __name__ == "__main__":
    main()
