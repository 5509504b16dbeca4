"""Which files and functions of the crawl a page meets on its way, from `take` to `finish`, and how
deep calls nest.

Pages are followed one at a time, in the midst of a crawl of the synthetic web with the default
settings. What other threads do is not among it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

from scrapy.cmdline import execute

from benchmarks.support.crawling import IMPOLITE, measured, served, webcrawl
from benchmarks.support.report import report
from webcrawl import adapter
from webcrawl.adapter.driving import FetchingSteps
from webcrawl.crawl.page_end import PageEnd

INSIDE = "--inside"
PACKAGE = Path(adapter.__file__).parents[1]
HOSTS = 5
BEFORE, FOLLOWED = 100, 50  # pages: what happens once has happened in the first ones
COMPREHENSION = "comp>"  # the end of its name; newer versions of Python make no function of it


class Way:
    """The functions that one page meets, in the order in which it meets them first."""

    def __init__(self, ground: int) -> None:
        """`ground`: the frames of whoever runs the event loop, on which all calls stand."""
        self.functions: dict[CodeType, None] = {}
        self.depth, self._ground = 0, ground

    def meet(self, frame: FrameType) -> None:
        self.functions.setdefault(frame.f_code)
        self.depth = max(self.depth, height(frame) - self._ground)

    @property
    def files(self) -> list[str]:
        return [*dict.fromkeys(code.co_filename for code in self.functions)]


class Ways:
    """Follows each page from the call of `take` that hands it out until `finish` returns; only one
    may be under way.
    """

    def __init__(
        self, folder: Path, take: CodeType, finish: CodeType, *, before: int, followed: int
    ) -> None:
        """Only functions below `folder` count. `before`: pages that are let go by."""
        self._folder, self._take, self._finish = f"{folder}/", take, finish
        self._before, self._followed = before, followed
        self._way: Way | None = None  # of the page that is under way
        self.ended: list[Way] = []

    def begin(self) -> None:
        sys.setprofile(self._hear)

    def end(self) -> None:
        sys.setprofile(None)

    def _hear(self, frame: FrameType, event: str, result: Any) -> None:
        if event == "call":
            self._called(frame)
        elif event == "return" and frame.f_code is self._take:
            if result is None or result.link.is_own:  # nothing is due, or a robots.txt
                self._way = None
        elif event == "return" and frame.f_code is self._finish:
            self._finished()

    def _called(self, frame: FrameType) -> None:
        code = frame.f_code
        if code is self._take:
            driver = frame.f_back  # what the event loop has called
            self._way = Way(height(driver) - 1)
        is_ours = code.co_filename.startswith(self._folder) and not code.co_name.endswith(
            COMPREHENSION
        )
        if self._way is not None and is_ours:
            self._way.meet(frame)

    def _finished(self) -> None:
        way, self._way = self._way, None
        if way is None:
            return
        if self._before:
            self._before -= 1
            return
        self.ended.append(way)
        if len(self.ended) == self._followed:
            self.end()


def height(frame: FrameType | None) -> int:
    """Return how many calls have led to this one, itself included."""
    frames = 0
    while frame is not None:
        frame, frames = frame.f_back, frames + 1
    return frames


def figures(ways: Sequence[Way]) -> dict[str, Any]:
    """The medians of a page, and what all pages together meet."""
    return {
        "files": median(len(way.files) for way in ways),
        "functions": median(len(way.functions) for way in ways),
        "depth": median(way.depth for way in ways),
        "files_of_all": len({file for way in ways for file in way.files}),
        "functions_of_all": len({code for way in ways for code in way.functions}),
        "depth_at_most": max(way.depth for way in ways),
    }


def route(ways: Sequence[Way]) -> dict[str, tuple[float, list[str]]]:
    """The files of all pages in order, each with the share of pages that meet it, and its
    functions.
    """
    met = Counter(file for way in ways for file in way.files)
    functions: dict[str, dict[str, None]] = {file: {} for file in met}
    for code in (code for way in ways for code in way.functions):
        functions[code.co_filename].setdefault(code.co_qualname)
    return {
        str(Path(file).relative_to(PACKAGE)): (number / len(ways), [*functions[file]])
        for file, number in met.items()
    }


def inside(command: list[str]) -> None:
    """Runs the crawl in this process, and prints what its pages meet."""
    take, finish = FetchingSteps.take.__code__, PageEnd.finished.__code__
    ways = Ways(PACKAGE, take, finish, before=BEFORE, followed=FOLLOWED)
    ways.begin()
    try:
        execute(["scrapy", *command])
    except SystemExit as end:
        if end.code:
            raise
    finally:
        ways.end()
    if len(ways.ended) < FOLLOWED:
        raise SystemExit(f"{len(ways.ended)} pages are too few")
    print(json.dumps([figures(ways.ended), route(ways.ended)]))


def main() -> None:
    if sys.argv[1:2] == [INSIDE]:
        return inside(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trip", description=__doc__)
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE of the crawl"
    )
    parser.add_argument(
        "-f", "--functions", action="store_true", help="name the functions of each file, too"
    )
    parsed = parser.parse_args()
    with served(HOSTS, 2 * (BEFORE + FOLLOWED)), tempfile.TemporaryDirectory() as folder:
        command = webcrawl(Path(folder), HOSTS, *IMPOLITE, "CONCURRENT_REQUESTS=1", *parsed.setting)
        command[command.index("scrapy")] = "benchmarks.trip"
        command.insert(command.index("crawl"), INSIDE)
        spent = measured(command)
    found, met = json.loads(spent.said.splitlines()[-1])
    report("trip", **found)
    for file, (share, functions) in met.items():
        print(f"{share:5.0%}  {file}")
        if parsed.functions:
            print(*(f"{'':10}{name}" for name in functions), sep="\n")
    return None


if __name__ == "__main__":
    main()
