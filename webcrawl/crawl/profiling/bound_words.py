"""Says what bounds a crawl: the cause, the figures that say so, and which setting would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webcrawl.base.program import program
from webcrawl.crawl.profiling.bound import Cause, Tally

PREFIX = "bound/"  # of the counters, in whole seconds by cause
LEAST = 0.005  # smaller shares are not named

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
    Cause.PAGES: "the spider and the pipelines",
    Cause.SLOTS: "CONCURRENT_REQUESTS",
    Cause.ANSWERS: "hosts that take long to answer",
    Cause.FAILURES: "waits after failures",
    Cause.RETRY_AFTER: "Retry-After",
    Cause.CRAWL_DELAY: "Crawl-delay",
    Cause.POLITENESS: "politeness",
    Cause.ASIDE: "hosts set aside",
    Cause.BUDGETS: "budgets of domains",
    Cause.WORK: "nothing to fetch",
}
HELPS = {
    Cause.PAUSE: (
        f"{program()} ctl JOBDIR resume, if it was paused by command; else it goes on by itself, once there are a "
        "network, name servers and room on the disk, and QUIET_HOURS are over"
    ),
    Cause.FILES: "a higher ulimit -n, or fewer CONCURRENT_REQUESTS",
    Cause.BANDWIDTH: "a higher BANDWIDTH_MAX",
    Cause.DISK: "a local SSD for JOBDIR; fewer OUTPUTS; a longer CHECKPOINT_INTERVAL",
    Cause.PROCESSOR: (
        f"where cores are idle, {program()} hive with a process for each; fewer OUTPUTS; "
        f"{program()} ctl JOBDIR profile 10 says what it does"
    ),
    Cause.NAMES: (
        "a name server nearby (DNS_NAMESERVERS); a higher CONCURRENT_REQUESTS, so that more names are asked for at once"
    ),
    Cause.TLS: "a higher CONCURRENT_REQUESTS: handshakes wait for the other side",
    Cause.TRANSFER: (
        "a faster line if this one is full, or else a higher CONCURRENT_REQUESTS; a smaller DOWNLOAD_TRUNCATE"
    ),
    Cause.BROWSER: "more hosts, each with one page at a time; a higher PLAYWRIGHT_MAX_CONTEXTS, if there are cores",
    Cause.PAGES: (
        "callbacks and pipelines that take less time: one that blocks holds up the whole crawl, one that awaits its "
        "own host"
    ),
    Cause.SLOTS: "a higher CONCURRENT_REQUESTS",
    Cause.ANSWERS: "more hosts: more seeds, a wider URL_SCOPE. Where the owners agree: HOST_CONNECTIONS",
    Cause.FAILURES: (
        f"nothing but time: a host that failed is tried again after HOST_RETRY_WAIT, then after twice that; "
        f"{program()} ctl JOBDIR host NAME retry, if you know that it is well"
    ),
    Cause.RETRY_AFTER: "nothing but time, as the hosts have asked for it; RETRY_AFTER_MAX bounds it",
    Cause.CRAWL_DELAY: (
        "more hosts: more seeds, a wider URL_SCOPE; CRAWL_DELAY_MAX bounds what a robots.txt may ask for"
    ),
    Cause.POLITENESS: (
        "more hosts: more seeds, a wider URL_SCOPE. Only where the hosts are your own: POLITENESS_FACTOR, "
        "POLITENESS_MIN_DELAY, HOST_CONNECTIONS"
    ),
    Cause.ASIDE: (
        f"nothing but time, as hosts that failed are tried again now and then; {program()} ctl JOBDIR host NAME "
        "resume, for one that was paused by command"
    ),
    Cause.BUDGETS: "a higher DOMAIN_BUDGET_PAGES, or another DOMAIN_BUDGET",
    Cause.WORK: (
        "more seeds, a wider URL_SCOPE; where pages are fetched again, a smaller REVISIT_AGE or a higher REVISIT_RATE"
    ),
}
NO_WAY_OUT = "no way out"  # to any of the hosts that wait
PAUSES = {  # by what the crawl says of itself
    "paused": f"{program()} ctl JOBDIR resume",
    "no network": "a network: then it goes on by itself",
    "no name server": "a name server that answers (DNS_NAMESERVERS): then it goes on by itself",
    NO_WAY_OUT: "a proxy, name servers or IPv6 that work, whichever the log says has failed: then it goes on by itself",
    "quiet hours": "nothing but time: QUIET_HOURS say when",
    "disk nearly full": "room on the disk of JOBDIR, MIN_FREE_DISK at least: then it goes on by itself",
}
TIMES = ("ran", "crowded", "stalled", "late")  # are shares of the time
FEW_FILES = "a higher ulimit -n: only {slots:.0f} of CONCURRENT_REQUESTS = {wanted:.0f} fit"
CROWDED = "fewer other programs on this machine: they had the core {crowded} of the time"
HOSTS = "hosts: {asked:.0f} asked {ready:.0f} ready {waiting:.0f} waiting"  # as in the progress line
FIGURES = {
    Cause.BANDWIDTH: "{bytes} received per second",
    Cause.DISK: "the event loop waited for files {stalled} of the time, and worked {ran}",
    Cause.PROCESSOR: "the event loop worked {ran} of the time, {pages:.0f} pages per second",
    Cause.NAMES: "{naming:.0f} of {asked:.0f} downloads wait for an address",
    Cause.TLS: "{securing:.0f} of {asked:.0f} downloads are in a handshake",
    Cause.TRANSFER: "{receiving:.0f} of {asked:.0f} downloads receive a body, {bytes} per second in all",
    Cause.BROWSER: "{rendering:.0f} of {asked:.0f} pages under way are in the browser, or wait for it",
    Cause.PAGES: (
        "{processing:.0f} of {asked:.0f} pages under way are there; the event loop worked {ran} of the time, and was "
        "held up {late}"
    ),
    Cause.SLOTS: "{asked:.0f} downloads under way, {ready:.0f} more hosts could be asked",
    Cause.ANSWERS: HOSTS,
    Cause.FAILURES: "{failing:.0f} of {waiting:.0f} hosts that wait have failed",
    Cause.RETRY_AFTER: "{told:.0f} of {waiting:.0f} hosts that wait have asked for it",
    Cause.CRAWL_DELAY: "{delayed:.0f} of {waiting:.0f} hosts that wait have one in robots.txt",
    Cause.POLITENESS: HOSTS,
    Cause.ASIDE: "{aside:.0f} URLs wait for such hosts",
    Cause.BUDGETS: "{over_budget:.0f} URLs wait for a larger one",
}


def sentence(tally: Tally) -> str:
    """The main cause of a time, its share, the figures that say so, and what would help; empty if nothing is known."""
    whole = sum(tally.seconds.values())
    if not whole:
        return ""
    cause = max(tally.seconds, key=tally.seconds.__getitem__)
    means = tally.means(cause)
    figures = {**means, "bytes": _size(means["bytes"]), **{name: _percent(means[name]) for name in TIMES}}
    why = tally.last[cause].trouble if cause is Cause.PAUSE else FIGURES.get(cause, "").format_map(figures)
    helps = PAUSES.get(why, HELPS[cause]) if cause is Cause.PAUSE else HELPS[cause]
    if cause is Cause.FILES and 0 < means["slots"] < means["wanted"]:
        helps = FEW_FILES.format_map(figures)
    if cause is Cause.PROCESSOR and means["crowded"] > means["ran"]:
        helps = CROWDED.format_map(figures)
    said = f"{WORDS[cause]} {_percent(tally.seconds[cause] / whole)} of the time"
    return f"{said}{f' ({why})' if why else ''}; what helps: {helps}"


def shares(figures: Mapping[str, Any]) -> dict[Cause, tuple[int, float]]:
    """Of a crawl's counters: seconds and share of each cause, the largest first."""
    seconds = {cause: _seconds(figures.get(f"{PREFIX}{cause}")) for cause in Cause}
    whole = sum(seconds.values())
    first = sorted(seconds, key=seconds.__getitem__, reverse=True)
    return {cause: (seconds[cause], seconds[cause] / whole) for cause in first if seconds[cause] >= LEAST * whole > 0}


def _seconds(value: object) -> int:
    """Figures may be read from a file that anybody has written."""
    return value if type(value) is int and value > 0 else 0


def in_words(figures: Mapping[str, Any]) -> str:
    """The causes in a line: `politeness 93 %, the processor 7 %`."""
    return ", ".join(f"{WORDS[cause]} {_percent(share)}" for cause, (_, share) in shares(figures).items())


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _size(number: float) -> str:
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"
