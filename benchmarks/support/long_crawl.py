"""A crawl that runs for long and is looked at from outside: /proc, crawl.log, the program's log,
and the turns.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.support.crawling import CRAWLER, IMPOLITE, webcrawl
from benchmarks.support.processes import cpu_so_far
from benchmarks.support.turns import ADDED, percentiles

LOOK_SECONDS = 0.1  # seconds between two looks
MAX_WAIT_SECONDS = 600.0  # seconds in which something must have happened
CHECKPOINT = re.compile(r"checkpoint in ([\d.]+) s")
# folder: what its bytes are called
KINDS = {"warc": "warc", "logs": "log", "state/seen": "seen", "state": "db"}


@dataclass(slots=True)
class Look:
    """A crawl at one moment."""

    lines: int
    cpu: float
    rss: int  # MiB
    disk: Counter[str]  # bytes by kind


class LongCrawl:
    """A crawl of the synthetic web without politeness, which may be stopped and started again."""

    def __init__(self, folder: Path, hosts: int, *settings: str, tls: bool = False) -> None:
        """Prepare the crawl of so many hosts in a folder, where an earlier one may have ended."""
        self.job = folder / "job"
        self._log = folder / "said.log"
        told = ("LOG_LEVEL=INFO", f"LOG_FILE={self._log}", ADDED)
        self._command = [
            "taskset",
            "-c",
            CRAWLER,
            *webcrawl(folder, hosts, *IMPOLITE, *told, *settings, tls=tls),
        ]
        self._lines = 0  # of crawl.log, as far as it was read
        self._read = 0  # bytes of crawl.log
        self._turns = 0
        self._told = 0  # characters of the program's log that `since` has told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def start(self) -> float:
        """Start the crawl, and return the seconds until the first URL is finished."""
        begun = time.perf_counter()
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        self.until(self.lines() + 1)
        return time.perf_counter() - begun

    def stop(self) -> float:
        """Interrupt the crawl, and return the seconds until it has ended.

        Raise RuntimeError if it fails.
        """
        begun = time.perf_counter()
        self._process.send_signal(signal.SIGINT)
        if status := self._process.wait(MAX_WAIT_SECONDS):
            raise RuntimeError(f"status {status}, see {self._log}")
        return time.perf_counter() - begun

    def until(self, lines: int) -> None:
        """Wait until so many URLs are finished.

        Raise RuntimeError if none is finished for a long time, or the crawl ends before.
        """
        last, when = self.lines(), time.perf_counter()
        while self.lines() < lines:
            if self._process.poll() is not None or time.perf_counter() - when > MAX_WAIT_SECONDS:
                raise RuntimeError(f"{self._lines} URLs, not {lines}; see {self._log}")
            time.sleep(LOOK_SECONDS)
            if self._lines > last:
                last, when = self._lines, time.perf_counter()

    def lines(self) -> int:
        """Return how many URLs are finished, in all runs."""
        log = self.job / "logs/crawl.log"
        if log.exists():
            with log.open("rb") as file:
                file.seek(self._read)
                while piece := file.read(1 << 20):
                    self._read += len(piece)
                    self._lines += piece.count(b"\n")
        return self._lines

    def look(self) -> Look:
        """Return the state of the crawl now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        rss = int(status.partition("VmRSS:")[2].split()[0]) // 1024
        return Look(self.lines(), cpu_so_far(self._process.pid), rss, self._disk_bytes())

    def said(self) -> str:
        """Return what the program has logged in all runs."""
        return self._log.read_text()

    def since(self) -> dict[str, float]:
        """Return figures of checkpoints and turns of the event loop since the last call."""
        text = self.said()
        seconds = sorted(map(float, CHECKPOINT.findall(text, self._told)))
        self._told = len(text)
        figures: dict[str, float] = {"checkpoints": len(seconds)}
        if seconds:
            figures |= {"checkpoint_s": seconds[len(seconds) // 2], "checkpoint_max_s": seconds[-1]}
        turns, self._turns = percentiles(self.job, self._turns)
        return figures | turns

    def _disk_bytes(self) -> Counter[str]:
        """Return the bytes of the JOBDIR by kind."""
        sizes = Counter[str]()
        for folder, _, names in os.walk(self.job):
            place = str(Path(folder).relative_to(self.job))
            for name in names:
                try:
                    sizes[KINDS.get(place, "other")] += (Path(folder) / name).stat().st_size
                except FileNotFoundError:  # replaced meanwhile
                    continue
        return sizes
