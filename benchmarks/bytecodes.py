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

INSIDE = "--inside"
COUNTED = 400  # pages
MOST = 60  # modules or functions that are printed
MODULES, FUNCTIONS = "modules", "functions"


class Bytecodes:
    """Counts what each function executes, once it is begun; of functions that were entered before,
    nothing.
    """

    def __init__(self) -> None:
        self.counted: Counter[CodeType] = Counter()

    def begin(self) -> None:
        sys.settrace(self._enter)

    def end(self) -> None:
        sys.settrace(None)

    def by_module(self) -> Counter[str]:
        """The sums, by the last three names of a module's path."""
        sums: Counter[str] = Counter()
        for code, number in self.counted.items():
            sums["/".join(Path(code.co_filename).parts[-3:])] += number
        return sums

    def by_function(self) -> Counter[str]:
        """The sums, by a module's name and a function's; all that dataclasses have made is one."""
        sums: Counter[str] = Counter()
        for code, number in self.counted.items():
            sums[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += number
        return sums

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "opcode":
            self.counted[frame.f_code] += 1
        return self._step


def inside(by: str, first: int, command: list[str]) -> None:
    """Runs the crawl in this process until enough pages are counted, and prints what one takes."""
    bytecodes, pages, visit = Bytecodes(), 0, Visitor.visit

    def counting(visitor: Visitor, link: Any, exchange: Any) -> Any:
        nonlocal pages
        pages += not link.path.endswith("P")
        if pages == first:
            bytecodes.begin()
        elif pages == first + COUNTED:
            bytecodes.end()
            signal.raise_signal(signal.SIGINT)  # the crawl ends
        return visit(visitor, link, exchange)

    Visitor.visit = counting  # type: ignore[method-assign]
    try:
        execute(["scrapy", *command])
    except SystemExit as end:
        if end.code and pages < first + COUNTED:
            raise
    if pages < first + COUNTED:
        raise SystemExit(f"{pages} pages are too few")
    sums = bytecodes.by_function() if by == FUNCTIONS else bytecodes.by_module()
    print(json.dumps({name: number / COUNTED for name, number in sums.most_common()}))


def main() -> None:
    if sys.argv[1:2] == [INSIDE]:
        by, first, *command = sys.argv[2:]
        return inside(by, int(first), command)
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
        served(given.hosts, 3 * (given.first + COUNTED) // 2),
        tempfile.TemporaryDirectory() as folder,
    ):
        command = webcrawl(Path(folder), given.hosts, *IMPOLITE, *given.setting)
        command[command.index("scrapy")] = "benchmarks.bytecodes"
        at = command.index("crawl")
        command[at:at] = [INSIDE, given.by, str(given.first)]
        spent = measured(command)
    sums: dict[str, float] = json.loads(spent.said.splitlines()[-1])
    report("bytecodes", a_page=sum(sums.values()), **dict(list(sums.items())[:MOST]))
    return None


if __name__ == "__main__":
    main()
