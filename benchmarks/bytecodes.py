"""How many instructions of Python's a page takes, by module, in the midst of a crawl of the synthetic web.

Load hardly changes these numbers. What calls of C take is not among them.
"""

from __future__ import annotations

import argparse
import json
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
FIRST, LAST = 200, 600  # pages between which they are counted
MOST = 60  # modules that are printed


class Bytecodes:
    """Counts what each function executes, once it is begun; of functions that were entered before, nothing."""

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

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "opcode":
            self.counted[frame.f_code] += 1
        return self._step


def inside(command: list[str]) -> None:
    """Runs the crawl in this process, and prints what a page takes."""
    bytecodes, pages, visit = Bytecodes(), 0, Visitor.visit

    def counting(visitor: Visitor, link: Any, exchange: Any) -> Any:
        nonlocal pages
        pages += not link.path.endswith("P")
        if pages == FIRST:
            bytecodes.begin()
        elif pages == LAST:
            bytecodes.end()
        return visit(visitor, link, exchange)

    Visitor.visit = counting  # type: ignore[method-assign]
    try:
        execute(["scrapy", *command])
    except SystemExit as end:
        if end.code:
            raise
    if pages < LAST:
        raise SystemExit(f"{pages} pages are too few")
    print(json.dumps({name: number / (LAST - FIRST) for name, number in bytecodes.by_module().most_common()}))


def main() -> None:
    if sys.argv[1:2] == [INSIDE]:
        return inside(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bytecodes", description=__doc__)
    parser.add_argument("-s", "--setting", action="append", default=[], help="setting NAME=VALUE of the crawl")
    settings = parser.parse_args().setting
    hosts = LAST // 20
    with served(hosts, LAST + LAST // 2), tempfile.TemporaryDirectory() as folder:
        command = webcrawl(Path(folder), hosts, *IMPOLITE, *settings)
        command[command.index("scrapy")] = "benchmarks.bytecodes"
        command.insert(command.index("crawl"), INSIDE)
        spent = measured(command)
    modules: dict[str, float] = json.loads(spent.said.splitlines()[-1])
    report("bytecodes", a_page=sum(modules.values()), **dict(list(modules.items())[:MOST]))
    return None


if __name__ == "__main__":
    main()
