"""Finds what bounds a crawl: each look at it is charged to one cause (docs/operations.md, "What bounds it").

`judge` is a plain function of a crawl's own figures. A `Tally` adds up seconds, and the figures that said so.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path

BUSY = 0.85  # share of a look in which the thread of the event loop ran or waited for a core: it has no room for more
STALLED = 0.3  # share in which it waited for files: four of ten pages that could have been processed were not
FULL = 0.6  # share of the slots: the rest may be kept for hosts that are known to answer (frontier/fetch_slots.py)
MOST = 0.5  # share of the downloads under way that one step must have to be named

SCHEDSTAT = Path("/proc/thread-self/schedstat")  # nanoseconds run, nanoseconds waited while runnable, turns


class Cause(StrEnum):
    """The causes that a second of a crawl may be charged to."""

    PAUSE = "pause"
    FILES = "files"
    BANDWIDTH = "bandwidth"
    DISK = "disk"
    PROCESSOR = "processor"
    NAMES = "names"
    TLS = "tls"
    TRANSFER = "transfer"
    BROWSER = "browser"
    PAGES = "pages"
    SLOTS = "slots"
    ANSWERS = "answers"
    FAILURES = "failures"
    RETRY_AFTER = "retry_after"
    CRAWL_DELAY = "crawl_delay"
    POLITENESS = "politeness"
    ASIDE = "aside"
    BUDGETS = "budgets"
    WORK = "work"


@dataclass(slots=True)
class Look:
    """A crawl at a moment, and what it has used since the look before, `seconds` ago."""

    seconds: float = 0.0
    trouble: str = ""  # why it is told to fetch nothing, in a few words
    short: bool = False  # descriptors, ports or memory for sockets are missing
    throttled: bool = False  # BANDWIDTH_MAX holds requests back
    slots: int = 0  # downloads that fit at once; 0: no limit
    wanted: int = 0  # CONCURRENT_REQUESTS
    asked: int = 0  # downloads and pages under way
    naming: int = 0  # of these: those that wait for a name's address,
    securing: int = 0  # for the TLS handshake,
    receiving: int = 0  # for the rest of a body,
    rendering: int = 0  # for a browser,
    processing: int = 0  # for the spider and the pipelines
    ready: int = 0  # hosts that may be asked and are not
    waiting: int = 0  # hosts with URLs that are left alone
    failing: int = 0  # of these: after failures,
    told: int = 0  # as they asked by Retry-After,
    delayed: int = 0  # as robots.txt asks by Crawl-delay, and all others for politeness
    queued: int = 0  # URLs
    aside: int = 0  # of these: URLs of hosts set aside,
    over_budget: int = 0  # URLs beyond their domains' budgets
    ran: float = 0.0  # seconds that the event loop's thread has run,
    crowded: float = 0.0  # waited for a core that others used,
    stalled: float = 0.0  # waited for files,
    late: float = 0.0  # was late for what was due, whatever the reason
    pages: int = 0  # since the look before
    bytes: int = 0


def judge(look: Look) -> Cause:
    """The one cause of this look. What nobody could work around is looked for first, politeness last."""
    if look.trouble:
        return Cause.PAUSE
    if look.short:
        return Cause.FILES
    if look.throttled:
        return Cause.BANDWIDTH
    return _loop(look) or _nothing_to_do(look) or _downloads(look)


def _loop(look: Look) -> Cause | None:
    """True if the process itself is the limit."""
    used = look.ran + look.crowded
    if look.seconds and look.stalled >= max(STALLED * look.seconds, used):
        return Cause.DISK
    if look.seconds and used >= BUSY * look.seconds:
        return Cause.PROCESSOR
    blocked = look.late - used - look.stalled  # by what sleeps or waits in a callback or a pipeline
    return Cause.PAGES if look.seconds and blocked >= STALLED * look.seconds else None


def _nothing_to_do(look: Look) -> Cause | None:
    if look.asked or look.ready or look.queued > look.aside + look.over_budget:
        return None
    if look.over_budget > look.aside:
        return Cause.BUDGETS
    return Cause.ASIDE if look.aside else Cause.WORK


def _downloads(look: Look) -> Cause:
    """True if it waits for what is under way, and for which step of it, or for the hosts' turns."""
    full = bool(look.ready) and 0 < FULL * look.slots <= look.asked
    if not full and look.waiting >= look.asked:
        return _waiting(look)
    steps = {
        Cause.NAMES: look.naming,
        Cause.TLS: look.securing,
        Cause.TRANSFER: look.receiving,
        Cause.BROWSER: look.rendering,
        Cause.PAGES: look.processing,
    }
    step = max(steps, key=steps.__getitem__)
    if steps[step] >= MOST * look.asked:
        return step
    if not full:
        return Cause.ANSWERS
    return Cause.FILES if look.slots < look.wanted else Cause.SLOTS


def _waiting(look: Look) -> Cause:
    """The rule by which most of the hosts that wait are left alone."""
    rules = {Cause.FAILURES: look.failing, Cause.RETRY_AFTER: look.told, Cause.CRAWL_DELAY: look.delayed}
    first = max(rules, key=rules.__getitem__)
    return first if rules[first] > look.waiting - sum(rules.values()) else Cause.POLITENESS


USED = ("ran", "crowded", "stalled", "late", "pages", "bytes")  # since the look before
STATES = tuple(one.name for one in fields(Look) if one.name not in {"seconds", "trouble", "short", "throttled", *USED})


@dataclass(slots=True)
class Tally:
    """Seconds by cause; `means` has for each the means of the figures by which it was named."""

    seconds: defaultdict[Cause, float] = field(default_factory=lambda: defaultdict(float))
    last: dict[Cause, Look] = field(default_factory=dict)
    sums: defaultdict[Cause, defaultdict[str, float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )

    def add(self, look: Look, cause: Cause) -> None:
        self.seconds[cause] += look.seconds
        self.last[cause] = look
        sums = self.sums[cause]
        for name in STATES:
            sums[name] += getattr(look, name) * look.seconds
        for name in USED:
            sums[name] += getattr(look, name)

    def means(self, cause: Cause) -> Mapping[str, float]:
        """States weighted by time; what was used or fetched per second."""
        seconds = max(self.seconds[cause], 1e-9)
        return {name: value / seconds for name, value in self.sums[cause].items()}

    def plus(self, other: Tally) -> Tally:
        """Both together; the last looks are this one's, where it has any."""
        both = Tally(defaultdict(float, self.seconds), {**other.last, **self.last})
        for one in (self, other):
            for cause, sums in one.sums.items():
                for name, value in sums.items():
                    both.sums[cause][name] += value
        for cause, value in other.seconds.items():
            both.seconds[cause] += value
        return both


def thread_seconds(path: Path = SCHEDSTAT) -> tuple[float, float]:
    """Of the calling thread. Where the kernel does not say it, nothing is known of the waits."""
    try:
        ran, waited, *_ = path.read_bytes().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return time.thread_time(), 0.0
