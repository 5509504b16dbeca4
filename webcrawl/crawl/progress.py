"""How far a crawl or a hive has come, in words: for the log, a terminal, `ctl status` and the dashboard."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from webcrawl.base.readable import count, megabytes, short
from webcrawl.store.jobdir.figures import Turns
from webcrawl.store.jobdir.revisit_figures import figures_of, fresh

INTERVAL = 10.0  # seconds in which the rate is measured, and between two lines in the log
BLINK = 0.5  # seconds between two updates of a live line


class Rate:
    """Pages per second in the last seconds, of a number that only grows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: deque[tuple[float, int]] = deque()

    def of(self, pages: int) -> float:
        """Return the rate, and remember that there are so many pages now."""
        now = self._clock()
        while len(self._since) > 1 and self._since[1][0] <= now - INTERVAL + BLINK:
            self._since.popleft()
        self._since.append((now, pages))
        then, before = self._since[0]
        return max(pages - before, 0) / max(now - then, 1e-9)


def waits_for(figures: Mapping[str, Any]) -> str:
    """Return why nothing is fetched, in a few words: what is in the way, or the hosts and servers it waits for."""
    return str(figures.get("trouble") or figures.get("waits") or "")


STOPPERS = {"shutdown": "a signal", "stopped": "command"}  # reasons that are no limits
OVER_BYTES = "closespider_bytes"


def stopped_by(reason: str) -> str:
    """Return what ended a run, and how it goes on; empty if that was not somebody's wish, or a limit."""
    limit = reason.upper() if reason.startswith("closespider_") else ""
    by = limit or STOPPERS.get(reason, "")
    larger = f" with a larger {limit}" if reason == OVER_BYTES else ""
    return f"stopped by {by}: run the same command{larger} to resume" if by else ""


def line(figures: Mapping[str, Any], rate: float | None = None) -> str:
    """Return the progress with exact numbers, as far as these figures have them; `rate` is that of pages."""
    pages, queued, failures = (int(figures.get(name, 0)) for name in ("pages", "queued", "failures"))
    speed = "" if rate is None else f" ({rate:.1f}/s)"
    answers = f" of {count(int(figures['answers']), 'answer')}" if "answers" in figures else ""
    aside = figures.get("aside")
    set_aside = f" ({count(aside, 'URL')} of {count(figures['hosts_aside'], 'host')} set aside)" if aside else ""
    parts = [f"{count(pages, 'page')}{speed}{answers}", f"{queued} queued{set_aside}", hosts_in_words(figures)]
    if "seen/keys" in figures:
        parts.append(f"{figures['seen/keys']} seen")
    parts.append(count(failures, "failure"))
    if "bytes" in figures:
        parts.append(megabytes(figures["bytes"]))
    return ", ".join(parts)


def hosts_in_words(figures: Mapping[str, Any]) -> str:
    """Return the number of hosts with URLs in the back-end; of a crawl, what each of them does."""
    if "ready" not in figures:  # of a hive only the sum is known
        return count(int(figures.get("hosts", 0)), "host")
    return str(Turns.of(figures))


def revisits_in_words(figures: Mapping[str, Any]) -> list[str]:
    """Return how many pages were fetched again, and how fresh copies are, if the crawl fetches pages again."""
    revisits = figures_of(figures)
    return [] if revisits is None else [f"{count(revisits.taken, 'revisit')} ({fresh(revisits)} fresh)"]


def short_line(figures: Mapping[str, Any], rate: float) -> str:
    """Return the progress for a terminal of 80 columns, whatever the numbers are; hosts are asked/ready/waiting.

    What is in the way goes before other figures: there is no room for all.
    """
    queue, seen, failed, size = (short(figures.get(name, 0)) for name in ("queued", "seen/keys", "failures", "bytes"))
    of_crawl = "ready" in figures
    hosts = "/".join(map(short, Turns.of(figures))) if of_crawl else short(figures.get("hosts", 0))
    pages = count(int(figures.get("pages", 0)), "page", short)
    parts = [f"{pages} {short(rate)}/s", f"queue {queue}", f"hosts {hosts}"]
    revisits = figures_of(figures)
    if waits := waits_for(figures):
        parts[:1] = [waits, pages]
    elif revisits is not None:
        parts.append(f"fresh {fresh(revisits)}")
    elif of_crawl:
        parts.append(f"seen {seen}")
    return "  ".join([*parts, f"failed {failed}", f"{size}B"])
