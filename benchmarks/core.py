"""How many instructions of Python's a page takes in the crawl's core, without network, Scrapy and
archive.

The count is the same wherever it is made with one version of Python, but for the few instructions
that depend on when a merge ends. `--write` keeps it as what is expected: a test fails where it has
changed.
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
from webcrawl.crawl import assembly, ground
from webcrawl.crawl.clock import CrawlClock

T = TypeVar("T")
EXPECTED = Path(__file__).with_name("core.json")
START = 1_700_000_000.0
HOSTS = 20
PAGES_PER_HOST = 200
LINKS_PER_PAGE = 40
FAR_LINKS = 6  # of these, links to other hosts
VERSION = "{}.{}".format(*sys.version_info)
PAGES_BEFORE = 50  # not counted, before those that are
COUNTED_PAGES = 100
PAGES_PER_TURN = 4  # of the event loop
SECONDS_PER_PAGE = 0.002
RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: core\r\n\r\n"
HEADERS = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Server", b"core")]
FILLER = (
    b"<p>"
    + b"The quick brown fox jumps over the lazy dog, and goes on to the next page. " * 12
    + b"</p>\n"
)


def body(url: str) -> bytes:
    """Return a page of 40 KB; half of its links are to the first pages of its host."""
    draw = Random(url)
    near = [f"/page/{number}.html" for number in range(LINKS_PER_PAGE // 2)]
    near += [
        f"/page/{draw.randrange(PAGES_PER_HOST)}.html"
        for _ in range(LINKS_PER_PAGE - len(near) - FAR_LINKS)
    ]
    far = [
        f"http://site{draw.randrange(HOSTS)}.test/page/{draw.randrange(PAGES_PER_HOST)}.html"
        for _ in range(FAR_LINKS)
    ]
    links = b"".join(
        b'<a href="%s">a link</a>\n%s' % (link.encode(), FILLER) for link in [*near, *far]
    )
    return b"<html><head><title>%s</title></head><body>%s</body></html>" % (url.encode(), links)


class InstructionCounter(Protocol):
    """Counts the instructions that are executed between `begin` and `end`."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


class Core:
    """A crawl in which answers take no time, and whose clock goes on by itself."""

    def __init__(self, folder: Path, hosts: int = HOSTS, **given: object) -> None:
        """Assemble the crawl in a folder, and submit the roots of its hosts.

        `given` are settings that go before the defaults.
        """
        self._now = START
        settings = Settings()
        settings.setmodule("webcrawl.settings")
        values = {
            "POLITENESS_MIN_DELAY": 0,
            "POLITENESS_FACTOR": 0,
            **given,
            "JOBDIR": str(folder / "job"),
        }
        for name, value in values.items():
            settings.set(name, value)
        clock = partial(CrawlClock, wall=lambda: self._now, steady=lambda: self._now)
        with mock.patch.object(ground, "CrawlClock", clock):
            self.crawl, self.visitor = assembly.assemble(
                plain_values(settings, "web"), spider="web"
            )
        self.crawl.begin()
        for host in range(hosts):
            self.crawl.parts.discovery.submit(Link(f"http://site{host}.test/"))

    def exchange(self, url: str) -> Exchange:
        """Return the request to a URL and the answer of its host."""
        data = body(url)
        request = f"GET {url} HTTP/1.1\r\n\r\n".encode()
        timings = Timings(total=0.01)
        return Exchange(
            url,
            request,
            200,
            RESPONSE_HEAD,
            HEADERS,
            data,
            data,
            data,
            "127.0.0.1",
            self._now,
            timings,
        )

    def fetch(self, pages: int, bytecodes: InstructionCounter | None = None) -> None:
        """Fetch so many pages; `bytecodes` counts what the crawl does with them."""
        done = 0
        while done < pages:
            batch = [(link, self.exchange(link.url)) for link in self._take_batch(bytecodes)]
            done += len(batch)
            self._count(bytecodes, self._process, batch)

    def _take_batch(self, bytecodes: InstructionCounter | None) -> list[Link]:
        """Return the links that are ready in one turn. Raise RuntimeError if none becomes ready."""
        found: list[Link] = []
        for _ in range(10_000):
            self._now += SECONDS_PER_PAGE
            link = self._count(bytecodes, self._take)
            if link is not None:
                found.append(link)
            if len(found) == PAGES_PER_TURN:
                return found
        raise RuntimeError("nothing may be fetched")

    def _take(self) -> Link | None:
        """Return the next link, or None if none is due or a robots.txt was."""
        link = self.crawl.next_link(self._now)
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
        """Do with the answers of one turn what the crawl does with them."""
        pages = [self.visitor.visit(link, exchange) for link, exchange in batch]
        for page in pages:
            self.visitor.follow(page)
        for link, exchange in batch:
            self._finish(link, exchange, 200)

    def _finish(self, link: Link, exchange: Exchange | None, status: int) -> None:
        outcome = Outcome(status, 0.01, at=self._now, ended=self._now)
        self.crawl.finish(link, outcome, exchange)

    @staticmethod
    def _count(bytecodes: InstructionCounter | None, call: Callable[..., T], *arguments: Any) -> T:
        """Call a function, and count its instructions if there is a counter."""
        if bytecodes is None:
            return call(*arguments)
        bytecodes.begin()
        try:
            return call(*arguments)
        finally:
            bytecodes.end()


def counted(folder: Path, **settings: object) -> Counter[CodeType]:
    """Return the instructions by function that COUNTED_PAGES pages take."""
    core, bytecodes = Core(folder, **settings), Bytecodes()
    try:
        core.fetch(PAGES_BEFORE)
        core.fetch(COUNTED_PAGES, bytecodes)
    finally:
        core.crawl.close()
    return bytecodes.counted


def expected() -> dict[str, int] | None:
    """Return the count that was written last; None for another version of Python.

    Instructions differ between versions.
    """
    found: dict[str, dict[str, int]] = json.loads(EXPECTED.read_text())
    return found.get(VERSION)


def by_room(found: Counter[CodeType]) -> dict[str, int]:
    """Return the instructions per page of each folder of the package, the largest number first.

    What no file of the package executes is `others`.
    """
    # By its path: the folder of a clone may have the package's name as well
    package = Path(assembly.__file__).parents[1]
    rooms: Counter[str] = Counter()
    for code, number in found.items():
        path = Path(code.co_filename)
        is_ours = path.is_relative_to(package)
        room = path.relative_to(package).parts[0] if is_ours else "others"
        rooms[room] += number
    return {room: round(number / COUNTED_PAGES) for room, number in rooms.most_common()}


def main() -> None:
    """Count, and report the instructions of a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.core", description=__doc__)
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE of the crawl"
    )
    parser.add_argument(
        "-f", "--functions", type=int, default=0, help="so many functions with the most, too"
    )
    parser.add_argument("--write", action="store_true", help="expect this count from now on")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = counted(Path(folder), **dict(one.split("=", 1) for one in parsed.setting))
    if parsed.write:
        EXPECTED.write_text(json.dumps({VERSION: by_room(found)}, indent=2) + "\n")
    functions = {
        f"{Path(code.co_filename).stem}.{code.co_qualname}": n
        for code, n in found.most_common(parsed.functions)
    }
    report(
        "core",
        a_page=found.total() / COUNTED_PAGES,
        **by_room(found),
        **{name: n / COUNTED_PAGES for name, n in functions.items()},
    )


if __name__ == "__main__":
    main()
