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
from webcrawl.adapter.driver_steps import FetchingSteps
from webcrawl.crawl.page_end import PageEnd

INSIDE = "--inside"
PACKAGE = Path(adapter.__file__).parents[1]
HOSTS = 5
PAGES_BEFORE, PAGES_FOLLOWED = 100, 50  # pages: what happens once has happened in the first ones
COMPREHENSION = "comp>"  # the end of its name; newer versions of Python make no function of it


class Way:
    """The functions that one page meets, in the order in which it meets them first."""

    def __init__(self, ground: int) -> None:
        """Create a way; `ground` is the number of frames below all calls, those that run the event
        loop.
        """
        self.functions: dict[CodeType, None] = {}
        self.depth, self._ground = 0, ground

    def add_call(self, frame: FrameType) -> None:
        self.functions.setdefault(frame.f_code)
        self.depth = max(self.depth, frame_count(frame) - self._ground)

    @property
    def files(self) -> list[str]:
        return [*dict.fromkeys(code.co_filename for code in self.functions)]


class Ways:
    """Follows each page from the call of `take` that returns it until `finish` returns.

    Only one page may be under way at a time.
    """

    def __init__(
        self, folder: Path, take: CodeType, finish: CodeType, *, before: int, followed: int
    ) -> None:
        """Create it for these functions; only functions below `folder` count.

        `before` pages are ignored, and then `followed` pages are followed.
        """
        self._folder = f"{folder}/"
        self._take = take
        self._finish = finish
        self._before = before
        self._followed = followed
        self._way: Way | None = None  # of the page that is under way
        self.ended: list[Way] = []

    def begin(self) -> None:
        sys.setprofile(self._profile)

    def end(self) -> None:
        sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, result: Any) -> None:
        """Note a call, and what `take` and `finish` return; Python calls this at each event."""
        if event == "call":
            self._begin_or_meet(frame)
        if event != "return":
            return
        if frame.f_code is self._take:
            if result is None or result.link.is_own:  # nothing is due, or a robots.txt
                self._way = None
        elif frame.f_code is self._finish:
            self._end_way()

    def _begin_or_meet(self, frame: FrameType) -> None:
        """Begin a way if the call is one of `take`, and add the call to the way."""
        code = frame.f_code
        if code is self._take:
            driver = frame.f_back  # what the event loop has called
            self._way = Way(frame_count(driver) - 1)
        is_below = code.co_filename.startswith(self._folder)
        is_function = not code.co_name.endswith(COMPREHENSION)
        if self._way is not None and is_below and is_function:
            self._way.add_call(frame)

    def _end_way(self) -> None:
        """End the way of a page, and keep it unless it is one of the first pages."""
        way, self._way = self._way, None
        if way is None:
            return
        if self._before:
            self._before -= 1
            return
        self.ended.append(way)
        if len(self.ended) == self._followed:
            self.end()


def frame_count(frame: FrameType | None) -> int:
    """Return how many calls have led to this one, itself included."""
    frames = 0
    while frame is not None:
        frame, frames = frame.f_back, frames + 1
    return frames


def figures(ways: Sequence[Way]) -> dict[str, Any]:
    """Return the medians of a page, and what all pages meet together."""
    return {
        "files": median(len(way.files) for way in ways),
        "functions": median(len(way.functions) for way in ways),
        "depth": median(way.depth for way in ways),
        "files_of_all": len({file for way in ways for file in way.files}),
        "functions_of_all": len({code for way in ways for code in way.functions}),
        "depth_at_most": max(way.depth for way in ways),
    }


def route(ways: Sequence[Way]) -> dict[str, tuple[float, list[str]]]:
    """Return the files that pages meet, in order.

    Each has the share of the pages that meet it, and the names of its functions.
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
    """Run the crawl in this process, and print what its pages meet."""
    take, finish = FetchingSteps.next_trip.__code__, PageEnd.finished.__code__
    ways = Ways(PACKAGE, take, finish, before=PAGES_BEFORE, followed=PAGES_FOLLOWED)
    ways.begin()
    try:
        execute(["scrapy", *command])
    except SystemExit as end:
        if end.code:
            raise
    finally:
        ways.end()
    if len(ways.ended) < PAGES_FOLLOWED:
        raise SystemExit(f"{len(ways.ended)} pages are too few")
    print(json.dumps([figures(ways.ended), route(ways.ended)]))


def main() -> None:
    """Follow pages of a crawl in another process, and report what they meet."""
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
    with (
        served(HOSTS, 2 * (PAGES_BEFORE + PAGES_FOLLOWED)),
        tempfile.TemporaryDirectory() as folder,
    ):
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
