"""How many instructions of Python's a page takes, by module or function, in the midst of a crawl of
the synthetic web.

Load hardly changes these numbers. What calls of C take is not among them.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from scrapy.cmdline import execute

from benchmarks.support.crawling import IMPOLITE, measured, served, webcrawl
from benchmarks.support.report import report
from webcrawl.crawl.visitor import Visitor

INSIDE_OPTION = "--inside"
COUNTED_PAGES = 400
MAX_PRINTED = 60  # modules or functions
MODULES, FUNCTIONS = "modules", "functions"


class Bytecodes:
    """Counts the instructions that each function executes between `begin` and `end`.

    Functions that were entered before are not counted.
    """

    def __init__(self) -> None:
        self.counted: Counter[CodeType] = Counter()

    def begin(self) -> None:
        sys.settrace(self._enter)

    def end(self) -> None:
        sys.settrace(None)

    def by_module(self) -> Counter[str]:
        """Return the sums by module, each named by the last three parts of its path."""
        sums: Counter[str] = Counter()
        for code, number in self.counted.items():
            sums["/".join(Path(code.co_filename).parts[-3:])] += number
        return sums

    def by_function(self) -> Counter[str]:
        """Return the sums by function; those that dataclasses have made are one."""
        sums: Counter[str] = Counter()
        for code, number in self.counted.items():
            sums[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += number
        return sums

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "opcode":
            self.counted[frame.f_code] += 1
        return self._step


def count_inside(by: str, first: int, command: list[str]) -> None:
    """Run the crawl in this process until enough pages are counted, and print the mean of a page.

    `first` is the number of pages before those that are counted. Raise SystemExit if the crawl has
    too few pages.
    """
    bytecodes = Bytecodes()
    pages = 0
    visit = Visitor.visit

    def counting(visitor: Visitor, link: Any, exchange: Any) -> Any:
        """Visit a page, and begin or end to count if it is the first or the last one."""
        nonlocal pages
        pages += not link.path.endswith("P")
        if pages == first:
            bytecodes.begin()
        elif pages == first + COUNTED_PAGES:
            bytecodes.end()
            signal.raise_signal(signal.SIGINT)  # so that the crawl ends
        return visit(visitor, link, exchange)

    Visitor.visit = counting  # type: ignore[method-assign]
    try:
        execute(["scrapy", *command])
    except SystemExit as end:
        if end.code and pages < first + COUNTED_PAGES:
            raise
    if pages < first + COUNTED_PAGES:
        raise SystemExit(f"{pages} pages are too few")
    sums = bytecodes.by_function() if by == FUNCTIONS else bytecodes.by_module()
    print(json.dumps({name: number / COUNTED_PAGES for name, number in sums.most_common()}))


def main() -> None:
    """Crawl in a process that counts, and report its counts."""
    if sys.argv[1:2] == [INSIDE_OPTION]:
        by, first, *command = sys.argv[2:]
        return count_inside(by, int(first), command)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bytecodes", description=__doc__)
    parser.add_argument(
        "-s", "--setting", action="append", default=[], help="setting NAME=VALUE of the crawl"
    )
    parser.add_argument(
        "--by",
        choices=(MODULES, FUNCTIONS),
        default=MODULES,
        help="what is counted (default: %(default)s)",
    )
    parser.add_argument("--hosts", type=int, default=30, help="of the web (default: %(default)s)")
    parser.add_argument(
        "--first", type=int, default=200, help="pages before those counted (default: %(default)s)"
    )
    given = parser.parse_args()
    with (
        served(given.hosts, 3 * (given.first + COUNTED_PAGES) // 2),
        tempfile.TemporaryDirectory() as folder,
    ):
        command = webcrawl(Path(folder), given.hosts, *IMPOLITE, *given.setting)
        command[command.index("scrapy")] = "benchmarks.bytecodes"
        at = command.index("crawl")
        command[at:at] = [INSIDE_OPTION, given.by, str(given.first)]
        spent = measured(command)
    sums: dict[str, float] = json.loads(spent.said.splitlines()[-1])
    report("bytecodes", a_page=sum(sums.values()), **dict(list(sums.items())[:MAX_PRINTED]))
    return None


if __name__ == "__main__":
    main()
