"""How many instructions of Python's a page takes in the crawl's core, without network, Scrapy and archive.

The count is the same wherever it is made with one version of Python, but for the few instructions that depend on when a
merge ends. `--write` keeps it as what is expected: a test fails where it has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any, Protocol, TypeVar
from unittest import mock

from scrapy.settings import Settings

from benchmarks.bytecodes import Bytecodes
from benchmarks.support.report import report
from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Exchange, Link, Outcome, Timings
from webcrawl.base.native import NATIVE
from webcrawl.crawl import assembly, ground
from webcrawl.crawl.clock import CrawlClock

T = TypeVar("T")
EXPECTED = Path(__file__).with_name("core.json")
START = 1_700_000_000.0
HOSTS, PAGES, LINKS, FAR = 20, 200, 40, 6  # of the web; links per page, and those of them to other hosts
VERSION = "{}.{}".format(*sys.version_info) + (" native" if NATIVE is not None else "")  # two ways to read links
FIRST, COUNTED = 50, 100  # pages before, and those that are counted
BATCH = 4  # pages that are ready in one turn
SECONDS = 0.002  # between two pages
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: core\r\n\r\n"
HEADERS = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Server", b"core")]
FILL = b"<p>" + b"The quick brown fox jumps over the lazy dog, and goes on to the next page. " * 12 + b"</p>\n"


def body(url: str) -> bytes:
    """A page of 40 KB: half of its links are to the first pages of its host."""
    draw = Random(url)
    near = [f"/page/{number}.html" for number in range(LINKS // 2)]
    near += [f"/page/{draw.randrange(PAGES)}.html" for _ in range(LINKS - len(near) - FAR)]
    far = [f"http://site{draw.randrange(HOSTS)}.test/page/{draw.randrange(PAGES)}.html" for _ in range(FAR)]
    links = b"".join(b'<a href="%s">a link</a>\n%s' % (link.encode(), FILL) for link in [*near, *far])
    return b"<html><head><title>%s</title></head><body>%s</body></html>" % (url.encode(), links)


class Counts(Protocol):
    """Counts what is done between the two."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


class Core:
    """A crawl in which answers take no time; the clock goes on by itself."""

    def __init__(self, folder: Path, hosts: int = HOSTS, **given: object) -> None:
        self._now = START
        settings = Settings()
        settings.setmodule("webcrawl.settings")
        values = {"POLITENESS_MIN_DELAY": 0, "POLITENESS_FACTOR": 0, **given, "JOBDIR": str(folder / "job")}
        for name, value in values.items():
            settings.set(name, value)
        clock = partial(CrawlClock, wall=lambda: self._now, steady=lambda: self._now)
        with mock.patch.object(ground, "CrawlClock", clock):
            self.crawl, self.visitor = assembly.assemble(plain_values(settings, "web"), spider="web")
        self.crawl.begin()
        for host in range(hosts):
            self.crawl.parts.discovery.submit(Link(f"http://site{host}.test/"))

    def exchange(self, url: str) -> Exchange:
        """What the host answers."""
        data = body(url)
        request = f"GET {url} HTTP/1.1\r\n\r\n".encode()
        timings = Timings(total=0.01)
        return Exchange(url, request, 200, HEAD, HEADERS, data, data, data, "127.0.0.1", self._now, timings)

    def fetch(self, pages: int, bytecodes: Counts | None = None) -> None:
        """So many pages; `bytecodes` counts what the crawl does of them."""
        done = 0
        while done < pages:
            batch = [(link, self.exchange(link.url)) for link in self._taken(bytecodes)]
            done += len(batch)
            self._count(bytecodes, self._process, batch)

    def _taken(self, bytecodes: Counts | None) -> list[Link]:
        found: list[Link] = []
        for _ in range(10_000):
            self._now += SECONDS
            link = self._count(bytecodes, self._take)
            if link is not None:
                found.append(link)
            if len(found) == BATCH:
                return found
        raise RuntimeError("nothing may be fetched")

    def _take(self) -> Link | None:
        link = self.crawl.take(self._now)
        if link is None:
            self.crawl.next_ready()
            return None
        self.crawl.parts.frontier.look.next_turn(link)
        if link.is_prerequisite:
            self.visitor.robots_said(link, 404)
            self._finish(link, None, 404)
            return None
        return link

    def _process(self, batch: list[tuple[Link, Exchange]]) -> None:
        pages = [self.visitor.visit(link, exchange) for link, exchange in batch]
        for page in pages:
            self.visitor.follow(page)
        for link, exchange in batch:
            self._finish(link, exchange, 200)

    def _finish(self, link: Link, exchange: Exchange | None, status: int) -> None:
        outcome = Outcome(status, 0.01, at=self._now, ended=self._now)
        self.crawl.finish(link, outcome, exchange)

    @staticmethod
    def _count(bytecodes: Counts | None, call: Callable[..., T], *arguments: Any) -> T:
        if bytecodes is None:
            return call(*arguments)
        bytecodes.begin()
        try:
            return call(*arguments)
        finally:
            bytecodes.end()


def counted(folder: Path, **settings: object) -> Counter[CodeType]:
    """Instructions by function, for COUNTED pages."""
    core, bytecodes = Core(folder, **settings), Bytecodes()
    try:
        core.fetch(FIRST)
        core.fetch(COUNTED, bytecodes)
    finally:
        core.crawl.close()
    return bytecodes.counted


def expected() -> dict[str, int] | None:
    """What was written last; None for another version of Python, whose instructions are others."""
    found: dict[str, dict[str, int]] = json.loads(EXPECTED.read_text())
    return found.get(VERSION)


def by_room(found: Counter[CodeType]) -> dict[str, int]:
    """Instructions per page, the rooms with the most first; what no file of ours holds is `others`."""
    package = Path(assembly.__file__).parents[1]  # by its place: the folder of a clone may have this name as well
    rooms: Counter[str] = Counter()
    for code, number in found.items():
        path = Path(code.co_filename)
        rooms[path.relative_to(package).parts[0] if path.is_relative_to(package) else "others"] += number
    return {room: round(number / COUNTED) for room, number in rooms.most_common()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__)
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE of the crawl")
    parser.add_argument("-f", "--functions", type=int, default=0, help="so many functions with the most, too")
    parser.add_argument("--write", action="store_true", help="expect this count from now on")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = counted(Path(folder), **dict(one.split("=", 1) for one in parsed.setting))
    if parsed.write:
        known = json.loads(EXPECTED.read_text())
        kept = {version: rooms for version, rooms in known.items() if version.split()[0] == VERSION.split()[0]}
        EXPECTED.write_text(json.dumps({**kept, VERSION: by_room(found)}, indent=2) + "\n")
    functions = {
        f"{Path(code.co_filename).stem}.{code.co_qualname}": n for code, n in found.most_common(parsed.functions)
    }
    report(
        "core", a_page=found.total() / COUNTED, **by_room(found), **{name: n / COUNTED for name, n in functions.items()}
    )


if __name__ == "__main__":
    main()
