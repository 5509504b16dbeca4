"""What shells cost a crawl that has no browser: the core's CPU time and instructions with and
without knowing them.

One host in twenty sends shells. Three crawls of the same pages take turns: one does not know
shells, one counts them (RENDER=off), and one learns which hosts need a browser (RENDER=auto), whose
documents are here the pages themselves.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, nullcontext
from pathlib import Path
from random import Random
from statistics import median
from unittest import mock

from benchmarks.bytecodes import Bytecodes
from benchmarks.core import HOSTS, PAGES_PER_HOST, Core
from benchmarks.support.report import report
from webcrawl.base.model import Exchange, Link
from webcrawl.content.recognise import marks
from webcrawl.content.recognise.recogniser import Recogniser
from webcrawl.crawl import assembly

HOSTS_PER_SHELL_HOST = 20  # one host in so many
PAGES_PER_TURN = 20  # pages of one crawl before it is the next one's turn
COUNTED_PAGES = 60  # pages whose instructions are counted
WAYS = ("unknown", "off", "auto")
SHELL = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'


class NoShells(Recogniser):
    """A recogniser that takes no page for a shell, and looks for none."""

    def _needs_parsing(
        self, status: int, body: bytes, hints: AbstractSet[str], *, lean: bool
    ) -> bool:
        return bool(hints or status == 429) and super()._needs_parsing(
            status, body, hints, lean=lean
        )


def _recogniser_without_shells(*_: Path) -> Recogniser:
    with mock.patch.dict(marks.HINTS):
        del marks.HINTS[marks.MOUNT]
        return NoShells(marks.MarkTable.read())


class Clock:
    """Counts CPU time in the way in which Bytecodes counts instructions."""

    seconds = 0.0

    def begin(self) -> None:
        self.seconds -= time.process_time()

    def end(self) -> None:
        self.seconds += time.process_time()


class Crawl(Core):
    """A crawl in one of the three ways."""

    def __init__(self, folder: Path, way: str, hosts: int) -> None:
        with (
            mock.patch.object(assembly, "recogniser", _recogniser_without_shells)
            if way == "unknown"
            else nullcontext()
        ):
            super().__init__(folder, hosts, RENDER="auto" if way == "auto" else "off")
        self.shells = 0

    def exchange(self, url: str) -> Exchange:
        """Return the answer of a host; some hosts send shells."""
        exchange = super().exchange(url)
        name = url.split("/")[2]
        if int(name[4 : name.index(".")]) % HOSTS_PER_SHELL_HOST == 0:
            self.shells += 1
            draw = Random(url)
            links = "".join(
                f'<a href="/page/{draw.randrange(PAGES_PER_HOST)}.html"></a>' for _ in range(8)
            )
            exchange.body = exchange.payload = exchange.wire = (
                f"{SHELL}{links}<!-- {url} -->".encode()
            )
        return exchange

    def _process(self, batch: list[tuple[Link, Exchange]]) -> None:
        deciding = self.crawl.parts.rendering
        for _, exchange in batch if deciding is not None else ():
            wanted = deciding.wanted(exchange)
            if wanted is not None:
                deciding.record_rendering(wanted, exchange.body, exchange, 1)
        super()._process(batch)


def _crawls(stack: ExitStack, hosts: int) -> Iterator[Crawl]:
    """Yield the crawls of all three ways."""
    for way in WAYS:
        crawl = Crawl(Path(stack.enter_context(tempfile.TemporaryDirectory())), way, hosts)
        stack.callback(crawl.crawl.close)
        yield crawl


def shell_cost(pages: int) -> None:
    """Report a line for each way.

    Of the turns, the median of their ratios counts: load comes and goes.
    """
    with ExitStack() as stack:
        crawls = dict(
            zip(WAYS, _crawls(stack, max(HOSTS, pages // PAGES_PER_HOST + HOSTS)), strict=True)
        )
        spent: Counter[str] = Counter()
        ratios: dict[str, list[float]] = {way: [] for way in WAYS}
        order = deque(WAYS)
        for _ in range(pages // PAGES_PER_TURN):
            turn = {}
            order.rotate()  # the first one has the caches to fill
            for way in order:
                clock = Clock()
                crawls[way].fetch(PAGES_PER_TURN, clock)
                turn[way] = clock.seconds
            spent.update(turn)
            for way in WAYS:
                ratios[way].append(turn[way] / turn["unknown"])
        for way, crawl in crawls.items():
            counted = Bytecodes()
            crawl.fetch(COUNTED_PAGES, counted)
            report(
                "rendering/cost",
                way=way,
                pages=pages,
                shells=crawl.shells / (pages + COUNTED_PAGES),
                us_a_page=1e6 * spent[way] / pages,
                ratio=median(ratios[way]),
                instructions_a_page=sum(counted.counted.values()) / COUNTED_PAGES,
            )
