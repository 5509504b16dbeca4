"""Finds what bounds a crawl: each look is charged to one cause (docs/troubleshooting.md).

A *look* has a crawl's figures at one moment, and what it used since the look before. `judge` names
the one cause that held the crawl back, by these figures alone. A `Tally` adds up the seconds of
each cause, and the figures by which it was named.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from webcrawl.base.program import program

# share of a look's seconds in which the event loop's thread ran or waited for a core: it has no room
# for more
BUSY = 0.85
# share in which it waited for files, or was blocked: four of ten pages that could have been
# processed were not
STALLED = 0.3
# share of the slots: the rest may be kept for hosts that are known to answer (frontier/back_end.py)
FULL_SHARE_OF_SLOTS = 0.6
# share of the downloads under way that one step must have to be named
NAMED_SHARE_OF_DOWNLOADS = 0.5

# its fields: nanoseconds run, nanoseconds waited for a core, turns
SCHEDSTAT = Path("/proc/thread-self/schedstat")


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
    READERS = "readers"
    PAGES = "pages"
    SLOTS = "slots"
    ANSWERS = "answers"
    FAILURES = "failures"
    RETRY_AFTER = "retry_after"
    CRAWL_DELAY = "crawl_delay"
    POLITENESS = "politeness"
    SERVER = "server"
    DEFERRED = "deferred"
    BUDGETS = "budgets"
    WORK = "work"


@dataclass(slots=True)
class BoundLook:
    """A crawl at a moment, and what it has used since the look before, `seconds` ago."""

    seconds: float = 0.0
    trouble: str = ""  # why it is told to fetch nothing, in a few words
    has_lost_server: bool = False  # Outlook.has_lost_server: then `away` says more than `trouble`
    short: bool = False  # descriptors, ports or memory for sockets are missing
    throttled: bool = False  # BANDWIDTH_MAX holds requests back
    # the servers that bring URLs, the hive's or that of the seeds, and do not answer
    away: str = ""
    slots: int = 0  # downloads that fit at once; 0: no limit
    wanted: int = 0  # CONCURRENT_REQUESTS
    active: int = 0  # downloads and pages under way
    naming: int = 0  # of these: those that wait for a name's address,
    securing: int = 0  # for the TLS handshake,
    receiving: int = 0  # for the rest of a body,
    rendering: int = 0  # for a browser,
    reading: int = 0  # for a process that reads PDFs or documents, or gives scores,
    processing: int = 0  # for the spider and the pipelines
    hosts: int = 0  # hosts with any of these
    ready: int = 0  # hosts that may be requested and are not
    waiting: int = 0  # hosts with URLs that are left alone
    failing: int = 0  # of these: after failures,
    told: int = 0  # as they demand by Retry-After,
    delayed: int = 0  # as robots.txt asks by Crawl-delay, and all others for politeness
    queued: int = 0  # URLs
    deferred: int = 0  # of these: URLs of deferred hosts,
    over_budget: int = 0  # URLs beyond their domains' budgets, or folded
    revisited: int = 0  # pages that are fetched again
    ran: float = 0.0  # seconds that the event loop's thread has run,
    crowded: float = 0.0  # waited for a core that others used,
    stalled: float = 0.0  # waited for files,
    late: float = 0.0  # was late for what was due, whatever the reason
    pages: int = 0  # since the look before
    bytes: int = 0


def judge(figures: BoundLook) -> Cause:
    """Return the one cause that holds the crawl back now.

    Causes that nothing in the crawl could work around are tried first, politeness last.
    """
    # Before `trouble`: a drone that has lost its server also has one once it is cut off, and the cause
    # stays the same.
    if figures.has_lost_server:
        return Cause.SERVER
    if figures.trouble:
        return Cause.PAUSE
    if figures.short:
        return Cause.FILES
    if figures.throttled:
        return Cause.BANDWIDTH
    # A process that cannot do more makes downloads and hosts look slow, so it is looked at first.
    return _loop(figures) or _nothing_to_do(figures) or _downloads(figures)


def _loop(figures: BoundLook) -> Cause | None:
    """Return the cause within the process itself, or None if the process is not the limit."""
    # CPU time alone misses a machine that others use: a demo without politeness had 18 % of a core,
    # and waited 81 % of the time for one, on two cores with a load of 11.
    if not figures.seconds:
        return None
    processor_time = figures.ran + figures.crowded
    if figures.stalled >= max(STALLED * figures.seconds, processor_time):
        return Cause.DISK
    if processor_time >= BUSY * figures.seconds:
        return Cause.PROCESSOR
    # What sleeps or waits in a callback or a pipeline makes all hosts look slow, and shows only by
    # timers that fire late: it is the lateness that nothing else explains.
    blocked = figures.late - processor_time - figures.stalled
    return Cause.PAGES if blocked >= STALLED * figures.seconds else None


def _nothing_to_do(figures: BoundLook) -> Cause | None:
    """Return why there is nothing to fetch, or None if some host has URLs or a request in flight."""
    has_hosts = bool(figures.active or figures.ready)
    has_urls = figures.queued > figures.deferred + figures.over_budget
    if has_hosts or has_urls:
        return None
    if figures.away:
        return Cause.SERVER
    if figures.over_budget > figures.deferred:
        return Cause.BUDGETS
    return Cause.DEFERRED if figures.deferred else Cause.WORK


def _downloads(figures: BoundLook) -> Cause:
    """Return the step that downloads wait for, or the rule that hosts wait by."""
    # Ready hosts alone prove nothing: some slots are kept for hosts that are known to answer.
    # `slots` is 0 without a limit, and they are never full.
    enough_slots_taken = 0 < FULL_SHARE_OF_SLOTS * figures.slots <= figures.active
    full = bool(figures.ready) and enough_slots_taken
    if not full and figures.waiting >= figures.active:
        return _waiting(figures)
    # a step of a download -> the downloads that are in it now
    steps = {
        Cause.NAMES: figures.naming,
        Cause.TLS: figures.securing,
        Cause.TRANSFER: figures.receiving,
        Cause.BROWSER: figures.rendering,
        Cause.READERS: figures.reading,
        Cause.PAGES: figures.processing,
    }
    step = max(steps, key=steps.__getitem__)
    if steps[step] >= NAMED_SHARE_OF_DOWNLOADS * figures.active:
        return step
    if not full:
        return Cause.ANSWERS
    # fewer slots than the user asked for: so few open files are allowed
    return Cause.FILES if figures.slots < figures.wanted else Cause.SLOTS


def _waiting(look: BoundLook) -> Cause:
    """Return the rule by which most of the waiting hosts are left alone.

    Hosts that no other rule holds back wait by POLITENESS.
    """
    rules = {
        Cause.FAILURES: look.failing,
        Cause.RETRY_AFTER: look.told,
        Cause.CRAWL_DELAY: look.delayed,
    }
    most_frequent = max(rules, key=rules.__getitem__)
    by_politeness = look.waiting - sum(rules.values())
    return most_frequent if rules[most_frequent] > by_politeness else Cause.POLITENESS


# The fields of a look, by how a `Tally` adds them up:
USED = ("ran", "crowded", "stalled", "late", "pages", "bytes")  # what came since the look before
NOT_NUMBERS = ("trouble", "has_lost_server", "short", "throttled", "away")  # are not added up
STATES = tuple(  # what holds at a moment: weighted with the seconds of the look
    figure.name
    for figure in fields(BoundLook)
    if figure.name not in {"seconds", *NOT_NUMBERS, *USED}
)


@dataclass(slots=True)
class Tally:
    """Seconds by cause. `means` gives the mean figures of the looks that named a cause."""

    seconds: defaultdict[Cause, float] = field(default_factory=lambda: defaultdict(float))
    last: dict[Cause, BoundLook] = field(default_factory=dict)  # the last look that named the cause
    # by cause and field of a look: USED as they are, STATES times the seconds of their look
    sums: defaultdict[Cause, defaultdict[str, float]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )

    def add(self, look: BoundLook, cause: Cause) -> None:
        self.seconds[cause] += look.seconds
        self.last[cause] = look
        sums = self.sums[cause]
        for name in STATES:
            sums[name] += getattr(look, name) * look.seconds
        for name in USED:
            sums[name] += getattr(look, name)

    def means(self, cause: Cause) -> Mapping[str, float]:
        """Return the means of a cause's looks: states weighted by time, what was used per second."""
        seconds = max(self.seconds[cause], 1e-9)
        return {name: value / seconds for name, value in self.sums[cause].items()}

    def plus(self, other: Tally) -> Tally:
        """Return a new tally of both; the last looks are this one's, where it has any."""
        both = Tally(defaultdict(float, self.seconds), {**other.last, **self.last})
        for tally in (self, other):
            for cause, sums in tally.sums.items():
                for name, value in sums.items():
                    both.sums[cause][name] += value
        for cause, seconds in other.seconds.items():
            both.seconds[cause] += seconds
        return both


def thread_seconds(path: Path = SCHEDSTAT) -> tuple[float, float]:
    """Return for how many seconds the calling thread has run, and has waited for a core.

    Where the kernel does not tell the waits, they are 0.
    """
    try:
        ran, waited, *_ = path.read_bytes().split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return time.thread_time(), 0.0


PREFIX = "bound/"  # of the counters, in whole seconds by cause
SMALLEST_SHARE = 0.005  # smaller shares are not named

WORDS = {
    Cause.PAUSE: "a pause",
    Cause.FILES: "open files",
    Cause.BANDWIDTH: "BANDWIDTH_MAX",
    Cause.DISK: "the disk",
    Cause.PROCESSOR: "the processor",
    Cause.NAMES: "name servers",
    Cause.TLS: "TLS handshakes",
    Cause.TRANSFER: "bodies on their way",
    Cause.BROWSER: "the browser",
    Cause.READERS: "the readers of documents",
    Cause.PAGES: "the spider and the pipelines",
    Cause.SLOTS: "CONCURRENT_REQUESTS",
    Cause.ANSWERS: "hosts that take long to answer",
    Cause.FAILURES: "waits after failures",
    Cause.RETRY_AFTER: "Retry-After",
    Cause.CRAWL_DELAY: "Crawl-delay",
    Cause.POLITENESS: "politeness",
    Cause.SERVER: "a server that does not answer",
    Cause.DEFERRED: "deferred hosts",
    Cause.BUDGETS: "budgets of domains",
    Cause.WORK: "nothing to fetch",
}
HELPS = {
    Cause.PAUSE: (
        f"{program()} ctl JOBDIR resume, if it was paused by command; otherwise it resumes by "
        "itself when the network, the name servers and disk space are back"
    ),
    Cause.FILES: "a higher ulimit -n, or fewer CONCURRENT_REQUESTS",
    Cause.BANDWIDTH: "a higher BANDWIDTH_MAX",
    Cause.DISK: "a local SSD for JOBDIR; fewer OUTPUTS; a longer CHECKPOINT_INTERVAL",
    Cause.PROCESSOR: (
        f"where cores are idle, {program()} hive with a process for each; fewer OUTPUTS; "
        "py-spy says what it does"
    ),
    Cause.NAMES: (
        "a name server nearby (DNS_NAMESERVERS); a higher CONCURRENT_REQUESTS, so that more names "
        "are looked up at once"
    ),
    Cause.TLS: "a higher CONCURRENT_REQUESTS: handshakes wait for the other side",
    Cause.TRANSFER: (
        "a faster connection if yours is saturated, otherwise a higher CONCURRENT_REQUESTS; a "
        "smaller DOWNLOAD_TRUNCATE"
    ),
    Cause.BROWSER: (
        "more hosts, each with one page at a time; a higher PLAYWRIGHT_MAX_CONTEXTS, "
        "if cores are idle"
    ),
    Cause.READERS: (
        f"more cores (documents are read by at most four processes); or leave documents out of "
        f"OUTPUTS and make them later with {program()} process; a faster SCORER"
    ),
    Cause.PAGES: (
        "faster callbacks and pipelines: one that blocks holds up the whole crawl, and one that "
        "awaits holds up its host"
    ),
    Cause.SLOTS: "a higher CONCURRENT_REQUESTS",
    Cause.ANSWERS: "more hosts: more seeds, a wider URL_SCOPE. Where the owners agree: HOST_CONNECTIONS",
    Cause.FAILURES: (
        f"only time: a host that failed is retried after HOST_RETRY_WAIT, then after twice as long; "
        f"{program()} ctl JOBDIR host NAME retry, if you know that a host works again"
    ),
    Cause.RETRY_AFTER: "only time, because the hosts asked for these waits; RETRY_AFTER_MAX limits them",
    Cause.CRAWL_DELAY: (
        "more hosts: more seeds, a wider URL_SCOPE; CRAWL_DELAY_MAX limits what a robots.txt may ask for"
    ),
    Cause.POLITENESS: (
        "more hosts: more seeds, a wider URL_SCOPE. Only where the hosts are your own: POLITENESS_FACTOR, "
        "POLITENESS_MIN_DELAY, HOST_CONNECTIONS"
    ),
    Cause.SERVER: "that server: restart it, or fix the connection to it; the crawl then resumes by itself",
    Cause.DEFERRED: (
        "only time: hosts that failed or show block pages are retried now and then; "
        f"{program()} ctl JOBDIR host NAME "
        "resume, for one that was paused by command"
    ),
    Cause.BUDGETS: "a higher DOMAIN_BUDGET_PAGES, or another DOMAIN_BUDGET; TRAP_RULES=0 for folded URLs",
    Cause.WORK: "more seeds, a wider URL_SCOPE",
}
MORE_REVISITS = "a smaller REVISIT_AGE or a higher REVISIT_RATE"
FENCED = "waiting for the hive's server"
NO_WAY_OUT = "no way out"  # to any of the hosts that wait
PAUSES = {  # by what the crawl says of itself
    "paused": f"{program()} ctl JOBDIR resume",
    "no network": "a network; the crawl then resumes by itself",
    "no name server": "a name server that answers (DNS_NAMESERVERS); the crawl then resumes by itself",
    NO_WAY_OUT: (
        "a proxy, name servers or IPv6 that work (the log says which failed); the crawl "
        "then resumes by itself"
    ),
    FENCED: "a connection to the hive's server (REDIS_URL); the crawl then resumes by itself",
    "disk nearly full": (
        "at least MIN_FREE_DISK of free space on the disk of JOBDIR; the crawl "
        "then resumes by itself"
    ),
}
TIME_SHARES = ("ran", "crowded", "stalled", "late")  # are shares of the time
FEW_FILES = "a higher ulimit -n: only {slots:.0f} of CONCURRENT_REQUESTS = {wanted:.0f} fit"
CROWDED = "fewer other programs on this machine: they used the core {crowded} of the time"
# as in the progress line
HOSTS = "hosts: {hosts:.0f} active {ready:.0f} ready {waiting:.0f} waiting"
FIGURES = {
    Cause.BANDWIDTH: "{bytes} received per second",
    Cause.DISK: "the event loop waited for files {stalled} of the time and was busy {ran}",
    Cause.PROCESSOR: "the event loop was busy {ran} of the time, {pages:.0f} pages per second",
    Cause.NAMES: "{naming:.0f} of {active:.0f} downloads wait for an address",
    Cause.TLS: "{securing:.0f} of {active:.0f} downloads are in a handshake",
    Cause.TRANSFER: "{receiving:.0f} of {active:.0f} downloads receive a body, {bytes} per second in all",
    Cause.BROWSER: "{rendering:.0f} of {active:.0f} pages in progress are in the browser or wait for it",
    Cause.READERS: (
        "{reading:.0f} of {active:.0f} pages in progress wait for a process that reads "
        "or scores them"
    ),
    Cause.PAGES: (
        "{processing:.0f} of {active:.0f} pages in progress are there; the event loop was busy "
        "{ran} of the time and held up {late}"
    ),
    Cause.SLOTS: "{active:.0f} downloads in progress, {ready:.0f} more hosts are ready",
    Cause.ANSWERS: HOSTS,
    Cause.FAILURES: "{failing:.0f} of {waiting:.0f} waiting hosts have failed",
    Cause.RETRY_AFTER: "{told:.0f} of {waiting:.0f} waiting hosts have sent it",
    Cause.CRAWL_DELAY: "{delayed:.0f} of {waiting:.0f} waiting hosts have one in robots.txt",
    Cause.POLITENESS: HOSTS,
    Cause.DEFERRED: "URLs that wait for these hosts: {deferred:.0f}",
    Cause.BUDGETS: (
        "URLs that wait for a larger budget, or are folded (similar URLs brought "
        "nothing new): {over_budget:.0f}"
    ),
}


def sentence(tally: Tally, trouble: str | None = None) -> str:
    """Return the main cause of a time, its share and figures, and what helps; empty if unknown.

    `trouble`: what the crawl says of itself now, or None if that is not known. Nothing helps
    against a pause that is over.
    """
    whole = sum(tally.seconds.values())
    if not whole:
        return ""
    cause = max(tally.seconds, key=tally.seconds.__getitem__)
    means = tally.means(cause)
    figures = {
        **means,
        "bytes": _size(means["bytes"]),
        **{name: _percent(means[name]) for name in TIME_SHARES},
    }
    last = tally.last[cause]
    # These causes have words of their own in place of figures.
    said_by_itself = {Cause.PAUSE: last.trouble, Cause.SERVER: last.away}
    why = FIGURES.get(cause, "").format_map(figures)
    if cause in said_by_itself:
        why = said_by_itself[cause]
    text = f"{WORDS[cause]} {_percent(tally.seconds[cause] / whole)} of the time"
    if why:
        text += f" ({why})"
    is_pause_over = cause is Cause.PAUSE and trouble not in (None, why)
    if is_pause_over:
        return text
    return f"{text}; what helps: {_help_by_figures(cause, why, means, figures)}"


def _help_by_figures(
    cause: Cause, why: str, means: Mapping[str, float], figures: Mapping[str, Any]
) -> str:
    """Return what helps against a cause, by its figures where these say more than the cause alone.

    `means` has the numbers, `figures` the same as `sentence` shows them; `why` is the trouble in
    words if the cause is a pause.
    """
    if cause is Cause.PAUSE:
        return PAUSES.get(why, HELPS[cause])
    if cause is Cause.FILES and 0 < means["slots"] < means["wanted"]:
        return FEW_FILES.format_map(figures)
    if cause is Cause.PROCESSOR and means["crowded"] > means["ran"]:
        return CROWDED.format_map(figures)
    helps = help_for(cause, revisits=means["revisited"] > 0)
    if cause is Cause.FAILURES and means["over_budget"] >= 1:
        helps += f"; for URLs over budgets or folded ({means['over_budget']:.0f}): {HELPS[Cause.BUDGETS]}"
    return helps


def help_for(cause: Cause, *, revisits: bool) -> str:
    """Return what helps against a cause; `revisits`: the crawl fetches pages again."""
    if cause is Cause.WORK and revisits:
        return f"{HELPS[cause]}; {MORE_REVISITS}"
    return HELPS[cause]


def shares(figures: Mapping[str, Any]) -> dict[Cause, tuple[int, float]]:
    """Return seconds and share of each cause by a crawl's counters, the largest first."""
    seconds = {cause: _seconds(figures.get(f"{PREFIX}{cause}")) for cause in Cause}
    whole = sum(seconds.values())
    longest_first = sorted(seconds, key=seconds.__getitem__, reverse=True)
    # The last comparison excludes all if no cause has a second.
    return {
        cause: (seconds[cause], seconds[cause] / whole)
        for cause in longest_first
        if seconds[cause] >= SMALLEST_SHARE * whole > 0
    }


def _seconds(value: object) -> int:
    """Return the value of a counter, or 0 if it is no count: anybody may have written the file."""
    return value if type(value) is int and value > 0 else 0


def in_words(figures: Mapping[str, Any]) -> str:
    """Return the causes in a line: `politeness 93 %, the processor 7 %`."""
    return ", ".join(
        f"{WORDS[cause]} {_percent(share)}" for cause, (_, share) in shares(figures).items()
    )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _size(number: float) -> str:
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"
