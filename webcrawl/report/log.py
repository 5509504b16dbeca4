"""One pass over crawl.log, for what is kept nowhere else: the seeds, and the slowest and largest answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from pathlib import Path
from typing import BinaryIO

from webcrawl.report.seeds import SeedTable
from webcrawl.statistics.line import FIELDS, read_line
from webcrawl.statistics.statistics import Statistics
from webcrawl.store.regular import regular

MOST = 20
LONGEST = 1 << 20  # bytes of a line; a damaged file may have no line ends at all
BATCH = 1 << 22  # bytes read at once
Extreme = tuple[int, bytes]  # milliseconds or bytes, and the URL


@dataclass
class Log:
    """What was read."""

    lines: int = 0
    damaged: int = 0
    missing: int = 0  # bytes that the checkpoint counts and the file does not have
    seeds: SeedTable = field(default_factory=SeedTable)
    slowest: list[Extreme] = field(default_factory=list)
    largest: list[Extreme] = field(default_factory=list)
    slow: int = 0  # what an answer needs at least to be among them
    large: int = 0


def read_log(path: Path, length: int, statistics: Statistics | None = None, log: Log | None = None) -> Log:
    """The first `length` bytes, added to `log`; `statistics` gets every line too, if it has heard of none."""
    log = log or Log()
    try:
        file = regular(path)
    except OSError:
        log.missing += length
        return log
    with file:
        for lines in _batches(file, length, log):
            log.lines += len(lines)
            for line in lines:
                try:
                    _read(log, line, statistics)
                except (ValueError, IndexError, OverflowError):
                    log.damaged += 1
    return log


def _batches(file: BinaryIO, length: int, log: Log) -> Iterator[list[bytes]]:
    """The lines of some megabytes at a time, which takes half the time of one after the other."""
    left, rest = length, b""
    while left and (data := file.read(min(BATCH, left))):
        left -= len(data)
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        if len(rest) > LONGEST:  # no line of ours
            lines.append(rest[:LONGEST])
            rest = b""
        yield lines
    log.missing += left
    if rest:
        yield [rest]


def _read(log: Log, line: bytes, statistics: Statistics | None) -> None:
    fields = line.split()
    if len(fields) != FIELDS:
        raise ValueError("no line of this log")
    _, code, sent, url, path, _, _, _, fetched, _, seed, _ = fields
    status = int(code)
    size = 0 if sent == b"-" else int(sent)
    milliseconds = 0 if fetched == b"-" else int(fetched[fetched.index(b"+") + 1 :])
    if statistics is not None:
        read_line(statistics, line.decode("ascii").split())
    if path[-1:] != b"P":
        if seed != b"-":
            log.seeds.add(seed, path, status, size)
        if size >= log.large and 200 <= status < 300:
            log.large = _keep(log.largest, (size, url))
    if milliseconds > log.slow:
        log.slow = _keep(log.slowest, (milliseconds, url))


def _keep(heap: list[Extreme], one: Extreme) -> int:
    """Keeps the largest; returns from which number on one belongs to them."""
    if len(heap) < MOST:
        heappush(heap, one)
        return 0
    if one > heap[0]:
        heapreplace(heap, one)
    return heap[0][0]
