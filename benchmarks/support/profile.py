"""A CPU profile of this process by stage, as a table that adds up to 100 %, and as one sentence.

The sampler looks at the stack each time the process has used a fixed amount of CPU time. Python
runs signal handlers between two instructions: after a call into C, and at the start of a function.
So the frame that the handler sees either called into C, or is a function that has done nothing yet;
in that case the time measured belongs to its caller. Otherwise TLS, sockets and the kernel would be
booked for whatever runs next. Each sample counts as much as the CPU time used since the last one,
so the shares add up. faulthandler.register(SIGPROF) crashes CPython 3.11 once in ten crawls, py-spy
may not trace in containers, and cProfile doubles the cost of small functions.
"""

from __future__ import annotations

import gc
import linecache
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from dis import opmap
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Self

import webcrawl

LOOP = "event loop, sockets, TLS"
HTTP = "HTTP, names"
ENGINE = "engine and spider"
PARSING = "parsing"
URLS = "canonical forms, filters"
SEEN = "seen, content seen"
FRONTIER = "frontier, seeds"
ROBOTS = "robots.txt"
WARC = "WARC records"
DIGESTS = "SHA-1 for archive and log"
COMPRESSION = "compression"
DISK = "disk, checkpoints"
LOGS = "logs, statistics, pipelines"
OUTPUTS = "index, link log, tables"
START = "start"
OTHER = "other"
CHARGE_CALLER = ""  # its callers are charged

SCHEDULER = (
    "adapter/scheduler",
    "adapter/request_passage",
    "crawl/periodic",
    "crawl/page_end",
    "crawl/checkpointing",
)

# The longest matching prefix of a file's name decides. C code counts as the line of Python that
# called it. What only the event loop calls is uvloop's own code, OpenSSL, and the kernel's work on
# sockets.
FILES: Mapping[str, str] = {
    "asyncio/": LOOP,
    "selectors.py": LOOP,
    "ssl.py": LOOP,
    "twisted/internet/asyncioreactor.py": LOOP,
    "twisted/": ENGINE,
    "scrapy/": ENGINE,
    "scrapy/utils/log.py": LOGS,
    "scrapy/statscollectors.py": LOGS,
    "scrapy/extensions/": LOGS,
    "pydispatch/": ENGINE,
    "itemadapter/": LOGS,
    "rich/": LOGS,
    "logging/": LOGS,
    "webcrawl/": ENGINE,
    "benchmarks/": OTHER,
    "webcrawl/net/": HTTP,
    "webcrawl/net/network.py": HTTP,
    "webcrawl/adapter/handlers.py": HTTP,
    "webcrawl/net/robots": ROBOTS,
    "webcrawl/crawl/admission.py": ROBOTS,
    "webcrawl/adapter/robots_request.py": ROBOTS,
    "webcrawl/crawl/robots_hearing.py": ROBOTS,
    "webcrawl/crawl/fetching.py": HTTP,
    "webcrawl/content/": PARSING,
    "webcrawl/crawl/page_links.py": PARSING,
    "webcrawl/urls/": URLS,
    "webcrawl/urls/url_fingerprint.py": SEEN,
    "webcrawl/base/url_text.py": CHARGE_CALLER,
    "webcrawl/base/zstd_frame.py": CHARGE_CALLER,
    "webcrawl/urls/host_names.py": CHARGE_CALLER,
    "webcrawl/frontier/seen/": SEEN,
    "webcrawl/frontier/": FRONTIER,
    "webcrawl/crawl/barrier.py": FRONTIER,
    **dict.fromkeys((f"webcrawl/{name}.py" for name in SCHEDULER), FRONTIER),
    "webcrawl/crawl/seeding.py": FRONTIER,
    "webcrawl/urls/seeds/": FRONTIER,
    "webcrawl/record/warc/": WARC,
    "webcrawl/crawl/outputs/warc.py": WARC,
    "webcrawl/record/warc/warc_writer.py": OUTPUTS,
    "webcrawl/base/surt.py": OUTPUTS,
    "webcrawl/store/jobdir/": LOGS,
    "webcrawl/store/jobdir/index_line.py": OUTPUTS,
    "webcrawl/store/jobdir/log_lines.py": OUTPUTS,
    "webcrawl/store/jobdir/host_row.py": FRONTIER,
    "webcrawl/store/jobdir/queue_row.py": FRONTIER,
    "webcrawl/store/jobdir/domain_row.py": FRONTIER,
    "webcrawl/base/readable.py": CHARGE_CALLER,
    "webcrawl/crawl/outputs/logs.py": OUTPUTS,
    "webcrawl/crawl/outputs/tables.py": OUTPUTS,
    "webcrawl/crawl/outputs/output.py": OUTPUTS,
    "webcrawl/record/tables/": OUTPUTS,
    "pyarrow/": OUTPUTS,
    "webcrawl/store/": DISK,
    "webcrawl/store/run": CHARGE_CALLER,
    "webcrawl/adapter/extensions/": LOGS,
    "webcrawl/adapter/extensions/checkpoints.py": DISK,
    "webcrawl/crawl/crawl_log.py": LOGS,
    "webcrawl/adapter/logformat.py": LOGS,
    "webcrawl/adapter/pipelines/": LOGS,
    "webcrawl/crawl/outputs/": LOGS,
    "webcrawl/crawl/saved_state.py": LOGS,
    "webcrawl/record/statistics.py": LOGS,
    "webcrawl/record/tally.py": LOGS,
    "webcrawl/base/model.py": CHARGE_CALLER,
    "webcrawl/base/digest.py": DIGESTS,
    "webcrawl/base/dates.py": CHARGE_CALLER,
    "webcrawl/items.py": CHARGE_CALLER,
}
# File names are relative to these; packages first, because they may be installed below either of
# the others.
ROOTS = (
    "/site-packages/",
    "/dist-packages/",
    f"{Path(webcrawl.__file__).parents[1]}/",
    f"{Path(os.__file__).parent}/",
)


def judge(files: Mapping[str, str] = FILES) -> Callable[[FrameType | None], str]:
    """Return the judge of a Sampler, which maps a stack to a stage.

    The innermost frame with a stage decides, unless the stack is that of an import.
    """

    @lru_cache(1 << 16)
    def stage_of(code: CodeType) -> str:
        return _stage(files, code.co_filename, code.co_name)

    def stage(frame: FrameType | None) -> str:
        """Return the stage of a stack, from its innermost frame."""
        found = CHARGE_CALLER
        while frame is not None:
            of_frame = stage_of(frame.f_code)
            if of_frame == START:
                return START
            if not found:
                found = COMPRESSION if of_frame == WARC and _compresses(frame) else of_frame
            frame = frame.f_back
        return found

    return stage


def _compresses(frame: FrameType) -> bool:
    """Return whether the frame is compressing.

    One function makes a record's fields and compresses them.
    """
    # none for instructions that the compiler adds, such as a loop's jump back
    line: int | None = frame.f_lineno
    return line is not None and "compress(" in linecache.getline(frame.f_code.co_filename, line)


def _stage(files: Mapping[str, str], path: str, function: str) -> str:
    """Return the stage of a function by the path of its file, or CHARGE_CALLER if its callers
    count.
    """
    if path.startswith("<frozen importlib"):
        return START
    name = next((path.rpartition(root)[2] for root in ROOTS if root in path), path)
    beginning = max((start for start in files if name.startswith(start)), key=len, default=None)
    return CHARGE_CALLER if beginning is None or function == "<module>" else files[beginning]


INTERVAL_SECONDS = 0.01  # seconds of CPU time; a sample costs 10 us
RESUME = opmap["RESUME"]

Judge = Callable[[FrameType | None], str]
"""The name that a stack counts for, from its innermost frame; the empty string if it has none."""

BUSY_SHARE = 0.9  # of a core: with less, the crawl does not wait for the processor

MIN_SHOWN_SHARE = 0.0005  # smaller shares are not shown
MIN_SAMPLES = 100  # samples: the share of a stage of 20 % is known to within 4


class Sampler:
    """Samples stacks while used as a context.

    `spent` has all CPU seconds, by the names that `judge` gave. Only one sampler can run per
    process, in its main thread. Other threads are sampled together with that one.
    """

    def __init__(self, judge: Judge, *, interval: float = INTERVAL_SECONDS) -> None:
        """Create a sampler that takes a sample per `interval` of CPU seconds."""
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.samples = 0
        self._judge, self._interval = judge, interval
        self._main = threading.get_ident()
        self._clocks: dict[int, float] = {}  # CPU seconds so far of other threads, by thread number
        self._before: dict[int, str] = {}  # and the stage in which each was last seen working
        self._sampling = False
        # CPU seconds of the process and of the main thread at the last sample
        self._sampled = (0.0, 0.0)

    def __enter__(self) -> Self:
        self._sampled = (time.process_time(), time.thread_time())
        self._clocks = {
            thread: _cpu_of_thread(thread) for thread in _frames() if thread != self._main
        }
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, self._interval, self._interval)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        # by default, a pending signal would end the process
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        self._sample(signal.SIGPROF, sys._getframe())  # noqa: SLF001 - documented all the same

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if self._sampling:  # a finalizer runs during a sample
            return
        self._sampling = True
        try:
            self._charge(frame)
        finally:
            self._sampling = False

    def _charge(self, frame: FrameType | None) -> None:
        """Charge the CPU time of all threads since the last sample to their stages."""
        process, main = time.process_time(), time.thread_time()
        others = process - self._sampled[0] - (main - self._sampled[1])
        self.spent[self._judge(_frame_that_worked(frame))] += main - self._sampled[1]
        self._sampled = (process, main)
        self.samples += 1
        for thread, stack in _frames().items():
            if thread != self._main:
                others -= self._sample_other(thread, stack)
        self.spent[""] += others  # of threads that have ended

    def _sample_other(self, thread: int, stack: FrameType) -> float:
        """Charge another thread's CPU time since the last sample, and return it.

        If the thread waits now, its last known stage is charged.
        """
        used = _cpu_of_thread(thread)
        since = used - self._clocks.get(thread, 0.0)
        since = used if since < 0 else since  # a new thread reuses the number of an ended one
        self._clocks[thread] = used
        stage = self._before[thread] = self._judge(stack) or self._before.get(thread, "")
        self.spent[stage] += since
        return since


def _frame_that_worked(frame: FrameType | None) -> FrameType | None:
    """Return the frame that used the time: the caller of a function that has done nothing yet."""
    if frame is not None and frame.f_code.co_code[frame.f_lasti] == RESUME:
        return frame.f_back
    return frame


def _frames() -> dict[int, FrameType]:
    """Return the frames of all threads.

    The interpreter holds a lock during the call, on which a second call would wait forever. So no
    Python code may run within the first call, including finalizers of garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()  # noqa: SLF001 - documented all the same
    finally:
        if enabled:
            gc.enable()


def _cpu_of_thread(thread: int) -> float:
    """Return the CPU seconds of a thread.

    It exists, because Python lists it and no other thread runs meanwhile.
    """
    return time.clock_gettime(time.pthread_getcpuclockid(thread))


@dataclass(slots=True)
class Profile:
    """CPU seconds of a process: at its start, before profiling began, and since then by stage."""

    start: float
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    kernel: float = 0.0  # part of all these spent in the kernel
    seconds: float = 0.0  # wall-clock time since profiling began
    samples: int = 0

    @property
    def cpu(self) -> float:
        """Return the CPU seconds since profiling began."""
        return sum(self.spent.values())

    def shares(self) -> dict[str, float]:
        """Return the shares of all CPU time, the largest first; their sum is 1."""
        total = max(self.start + self.cpu, 1e-9)
        spent = {**self.spent, START: self.spent.get(START, 0.0) + self.start}
        return {
            stage: spent[stage] / total
            for stage in sorted(spent, key=spent.__getitem__, reverse=True)
        }

    def table(self) -> str:
        """Return a line per stage, and a total."""
        rows = [
            f"{100 * share:6.1f} %  {stage}"
            for stage, share in self.shares().items()
            if share >= MIN_SHOWN_SHARE
        ]
        total = f"{100 * sum(self.shares().values()):6.1f} %  of {self.start + self.cpu:.1f} CPU seconds"
        kernel = 100 * self.kernel / max(self.start + self.cpu, 1e-9)
        return "\n".join(
            [*rows, f"{total}, {kernel:.0f} % of it in the kernel; {self.samples} samples"]
        )

    def verdict(self, pages: int) -> str:
        """Return the limit of this machine, and its bottleneck, in a sentence."""
        work = {stage: spent for stage, spent in self.spent.items() if stage != START}
        if not pages or not work or self.samples < MIN_SAMPLES:
            return "too short for a verdict: run it longer"
        busy = self.cpu / max(self.seconds, 1e-9)
        idle = f"the crawl used {100 * busy:.0f} % of a core; " if busy < BUSY_SHARE else ""
        limit = max(work, key=work.__getitem__)
        return f"{idle}this machine can do {pages / self.cpu:.0f} pages per second per core; the bottleneck is: {limit}"


@contextmanager
def profiled() -> Iterator[Profile]:
    """Profile the block; CPU time before it counts as the start.

    Only one can run at a time, in the main thread.
    """
    profile, begun = Profile(time.process_time()), time.monotonic()
    sampler = Sampler(judge())
    try:
        with sampler:
            yield profile
    finally:
        profile.seconds, profile.kernel = time.monotonic() - begun, os.times().system
        profile.samples = sampler.samples
        for stage, seconds in sampler.spent.items():
            profile.spent[stage or OTHER] += seconds
