"""How far a crawl or hive has come, in words: for log, terminal, `ctl status`, dashboard."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from webcrawl.base.model import FAILURES, Status
from webcrawl.base.readable import by_type, count, megabytes, short
from webcrawl.crawl.crawl_log import TRUNCATED_TYPES
from webcrawl.crawl.lost_requests import COUNTED as UNKEPT
from webcrawl.crawl.lost_requests import NAMELESS
from webcrawl.crawl.score_book import MILLI
from webcrawl.frontier.core import TRUNCATED_PAGES
from webcrawl.store.jobdir import revisit_figures, stats_file
from webcrawl.store.jobdir.counter_words import DROPPED
from webcrawl.store.jobdir.figures import HostTurns
from webcrawl.store.jobdir.revisit_figures import figures_of, fresh

Figures = Mapping[str, Any]
# ends of URLs whose request we refused, or whose answer: it is too large, perhaps
REFUSALS = (Status.UNSUPPORTED, Status.EXCLUDED)
COUNTED = {  # what is lost or is lacking, over all runs: the noun, and the rest of the sentence
    f"frontier/{TRUNCATED_PAGES}": (
        "page",
        "truncated: at every attempt the body ended early or the time was up",
    ),
    "truncated/unspecified": (
        "answer",
        "unreadable from some point on: the rest is not in the crawl",
    ),
    "flaw/unrendered": (
        "page",
        "kept as sent: the browser had no time, or gave no document (unrendered)",
    ),
    "flaw/rendered_early": (
        "page",
        "not finished in the browser: the time was up, or its script led elsewhere (rendered_early)",
    ),
    "flaw/rendered_empty": (
        "page",
        "without text after its scripts had run in the browser (rendered_empty)",
    ),
    "flaw/rendered_truncated": (
        "document",
        "of the browser truncated at DOWNLOAD_TRUNCATE: the rest is not in the crawl (rendered_truncated)",
    ),
    "flaw/acted_partly": (
        "page",
        "kept with a part of what scrolling and clicking would bring: the time was up (acted_partly)",
    ),
    "flaw/unsent": (
        "page",
        "kept without what scripts would get by sending data, as by POST, which is refused (unsent)",
    ),
    "flaw/unviewed": (
        "page",
        "kept without a screenshot or PDF that RENDER_VIEWS asks for (unviewed)",
    ),
    "scores/failed": (
        "page",
        "fetched and kept, but not scored: the scorer failed (see the log)",
    ),
    "redis_seeds/bad": ("seed", "from the server refused (see the log)"),
    "seed_lists_away": (
        "list",
        "of seeds could not be read to the end (see the log); the next run tries again",
    ),
    UNKEPT: ("request", "of the spider lost, because they could not be kept on disk (see the log)"),
    NAMELESS: (
        "request",
        f"ended with status {Status.NO_METHOD:d}: the spider no longer has a method or value that they name",
    ),
    "hive/refused": (
        "item",
        "from the hive's server refused in this run (see the log)",
    ),
    "since/unasked": (
        "answer",
        "stored in full, because the CDX server of -a since did not answer (see the log)",
    ),
}


def _counted(figures: Figures) -> Iterator[str]:
    for key, (noun, text) in COUNTED.items():
        if number := figures.get(key, 0):
            yield f"{count(number, noun)} {text}"


def _no_pages(figures: Figures) -> Iterator[str]:
    """Yield the answers that are no pages, over all runs.

    Errors of servers have a line of their own. Some URLs have several such answers: block pages
    come before their pages, and revisits may find again that a page is gone.
    """
    if answers_by_status := stats_file.without_page(_outcomes(figures)):
        each = ", ".join(f"{status}: {number}" for status, number in answers_by_status.items())
        yield f"{count(sum(answers_by_status.values()), 'answer')} gave no page ({each})"


def _errors(figures: Figures) -> Iterator[str]:
    """Yield a line for each kind of answers that are no pages, over all runs, retries included.

    The kinds are errors of servers, block pages and bot challenges, and answers that do not
    seem to be pages.
    """
    errors: dict[str, int] = {}
    for status in sorted(stats_file.SERVER_ERRORS):
        number = figures.get(f"status/{status}")
        if number:
            errors[str(status)] = number
    block_pages, others = stats_file.recognised(figures)
    others.pop("shell", None)  # pages that need scripts have a line of their own
    for numbers, what in (
        (errors, "server errors"),
        (block_pages, "bot challenges or block pages"),
        (others, "answers that do not seem to be pages"),
    ):
        if numbers:
            ending = _lost_by_errors(figures) if numbers is errors else ""
            each = ", ".join(f"{name}: {number}" for name, number in sorted(numbers.items()))
            yield f"{what}: {sum(numbers.values())}, retries included ({each}){ending}"


def _lost_by_errors(figures: Figures) -> str:
    """Return how many URLs ended with an error of their server, in words; empty if none has.

    They are not retried any more. The last URL of a host that fell over is one.
    """
    lost = 0
    for status, number in _outcomes(figures).items():
        if int(status) in stats_file.SERVER_ERRORS:
            lost += number
    # Block pages may be among them, whose URLs come again
    block_pages, _ = stats_file.recognised(figures)
    most = "up to " if block_pages else ""
    return f"; {most}{count(lost, 'URL')} ended with one (see crawl.log)" if lost else ""


def _unanswered(figures: Figures) -> Iterator[str]:
    """Yield how many URLs ended without an answer, over all runs.

    The figure `failures` is larger: it counts attempts.
    """
    ended: dict[int, int] = {}
    for code, number in _outcomes(figures).items():
        status = int(code)
        # Those that were not requested are among what rules left out
        left_out = figures.get(f"{DROPPED}{status}", 0) if status in REFUSALS else 0
        if number > left_out and status in (*FAILURES, *REFUSALS):
            ended[status] = number - left_out
    if ended:
        each = ", ".join(f"{status}: {ended[status]}" for status in sorted(ended, reverse=True))
        urls = count(sum(ended.values()), "URL")
        yield f"{urls} ended without a usable answer ({each}; see crawl.log)"


def _outcomes(figures: Figures) -> Mapping[Any, int]:
    """Return how many URLs ended with which status; a hive's statuses are strings."""
    outcomes: Mapping[Any, int] = (figures.get("statistics") or {}).get("outcomes", {})
    return outcomes


def unexpected(figures: Figures) -> Iterator[str]:
    """Yield what errors of this run cost, and whether they have ended it."""
    if errors := figures.get("errors", 0):
        again = "the code that failed is not called again for the same page"
        if figures.get("reason") == stats_file.STORE_FAILED:
            again = "pages since the last checkpoint will be fetched again"
        elif figures.get("reason") == stats_file.START_ERROR:
            again = "the next run calls the spider's start again"
        yield f"{count(errors, 'unexpected error')}: see logs/errors.log; {again}"
    if figures.get("reason") == stats_file.ERROR_BREAKER:
        yield (
            "stopped by ERROR_BREAKER, because of too many errors in a short time; run the same "
            "command to resume"
        )


def _too_long(figures: Figures) -> Iterator[str]:
    """Yield how many answers were truncated to their beginnings, over all runs."""
    if answers := figures.get("truncated/length", 0):
        kinds = _below(TRUNCATED_TYPES, figures)
        types = f" ({by_type(kinds)})" if kinds else ""
        yield f"{count(answers, 'answer')} truncated at DOWNLOAD_TRUNCATE{types}: the rest is not in the crawl"


def _below(prefix: str, figures: Figures) -> dict[str, Any]:
    """Return the figures whose names have this prefix, by the rest of the name."""
    names = [name for name in figures if name.startswith(prefix)]
    return {name.removeprefix(prefix): figures[name] for name in names}


def _sitemaps(figures: Figures) -> Iterator[str]:
    """Yield the answers to requests for sitemaps, of any status, and what these brought, over all runs."""
    if answers := figures.get("sitemaps", 0):
        links = count(figures.get("sitemaps/urls", 0), "link")
        yield f"{count(answers, 'answer')} to requests for sitemaps, with {links}"


def _scripts(figures: Figures) -> Iterator[str]:
    """Yield the pages without the text that their scripts make, over all runs."""
    if pages := figures.get("need_scripts", 0):
        # Only some hosts are counted by name; the pages of all others are in one figure.
        more = "more than " if figures.get("need_scripts/others") else ""
        hosts = f"{more}{count(figures['need_scripts/hosts'], 'host')}"
        seem = "seems" if pages == 1 else "seem"
        # Pages that are fetched already are not rendered afterwards, hence the new JOBDIR.
        new = "; for a complete crawl, in a new JOBDIR"
        yield f"{count(pages, 'page')} of {hosts} {seem} to need scripts: use -s RENDER=auto{new} (docs/browser.md)"
    if refused := figures.get(stats_file.REFUSED, 0):
        kinds = Counter(_below(f"{stats_file.REFUSED}/", figures))
        each = ", ".join(f"{kind}: {number}" for kind, number in kinds.most_common() if number)
        yield f"{count(refused, 'request')} of rendered pages refused or failed ({each}): see docs/browser.md"


def _scores(figures: Figures) -> Iterator[str]:
    """Yield what a SCORER gave, over all runs."""
    if pages := figures.get("scores/pages", 0):
        yield f"{count(pages, 'page')} scored, {figures['scores/thousandths'] / pages / MILLI:.2f} on average"


def _known(figures: Figures) -> Iterator[str]:
    """Yield the pages that an earlier crawl had already, over all runs."""
    unmodified = figures.get("since/unmodified", 0)  # answered 304
    identical = figures.get("since/identical", 0)  # sent whole, with the same body
    if unmodified or identical:
        again = f"{count(identical, 'answer')} sent again unchanged"
        size = megabytes(figures["since/bytes"])
        yield f"{count(unmodified, 'page')} unchanged since the earlier crawl (status 304), {again}: {size} not stored"
    changed, gone = figures.get("since/changed", 0), figures.get("since/gone", 0)
    if changed or gone:
        yield f"{count(changed, 'page')} changed since the earlier crawl, {gone} gone (404, 410 or moved for good)"


def _stored(figures: Figures) -> Iterator[str]:
    """Yield the files that the store has, over all runs, and those that it has not yet."""
    if "store/files" in figures:
        waiting = figures["store/waiting"]
        waits = f", {waiting} not sent or verified yet" if waiting else ""
        yield f"{count(figures['store/files'], 'file')} in the store ({megabytes(figures['store/bytes'])}){waits}"


def _walk(figures: Figures) -> Iterator[str]:
    """Yield the progress of a random walk, over all runs."""
    if "walk/visits" in figures:
        steps = figures["walk/steps"]
        of_steps = f" of {steps}" if steps else ""
        yield f"{count(figures['walk/visits'], 'visit')} made{of_steps}"


def _revisits(figures: Figures) -> Iterator[str]:
    """Yield the results of fetching pages again, over all runs."""
    revisits = revisit_figures.figures_of(figures)
    if revisits is not None:
        yield revisit_figures.in_words(revisits)


Sentences = tuple[Callable[[Figures], Iterator[str]], ...]
WRONG: Sentences = (_no_pages, _errors, _unanswered, _too_long, _scripts, unexpected, _counted)
KNOWN: Sentences = (_known,)
DONE: Sentences = (_sitemaps, _scores, _walk, _revisits, _known, _stored)


def sentences(figures: Figures, *, of: Sentences) -> Iterator[str]:
    """Yield what these functions say of the figures, one after the other."""
    for say in of:
        yield from say(figures)


INTERVAL = 10.0  # seconds in which the rate is measured, and between two lines in the log
BLINK = 0.5  # seconds between two updates of a live line


class Rate:
    """Pages per second in the last seconds, of a number that only grows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # times by the clock, and the number of pages then, the oldest first
        self._readings: deque[tuple[float, int]] = deque()

    def of(self, pages: int) -> float:
        """Return the rate, and remember that there are so many pages now."""
        now = self._clock()
        # The latest reading that is about INTERVAL old, to BLINK, stays: it is measured from.
        old = now - INTERVAL + BLINK
        while len(self._readings) > 1 and self._readings[1][0] <= old:
            self._readings.popleft()
        self._readings.append((now, pages))
        then, pages_then = self._readings[0]
        # The first call has only its own reading: no division by 0.
        return max(pages - pages_then, 0) / max(now - then, 1e-9)


def waits_for(figures: Mapping[str, Any]) -> str:
    """Return why nothing is fetched, in a few words: an obstacle, or awaited hosts and servers."""
    return str(figures.get("trouble") or figures.get("waits") or "")


STOPPERS = {  # reasons that are no limits, or not named like their settings
    "shutdown": "a signal",
    "stopped": "command",
    "memusage_exceeded": "MEMUSAGE_LIMIT_MB",
}
OVER_BYTES = "closespider_bytes"


def stopped_by(reason: str, *, is_work_left: bool = True) -> str:
    """Return what ended a run, and how to go on.

    Nothing for a crawl that has finished, or failed: other lines explain that.
    `reason`: that of stats.json. Limits are named like their settings.
    """
    if reason in ("", stats_file.FINISHED, *stats_file.BROKEN_REASONS):
        return ""
    limit = reason.upper() if reason.startswith("closespider_") else ""
    stopper = limit or STOPPERS.get(reason, f"code of the project, with the reason {reason!r}")
    if not is_work_left:
        return f"stopped by {stopper}, with nothing left to do"
    # Bytes are counted over all runs, so with the same limit the next run would stop at once.
    larger = f" with a larger {limit}" if reason == OVER_BYTES else ""
    return f"stopped by {stopper}: run the same command{larger} to resume"


def line(figures: Mapping[str, Any], rate: float | None = None) -> str:
    """Return the progress with exact numbers; what the figures lack is left out.

    `rate`: pages per second.
    """
    pages = int(figures.get("pages", 0))
    queued = int(figures.get("queued", 0))
    failures = int(figures.get("failures", 0))
    speed = "" if rate is None else f" ({rate:.1f}/s)"
    answers = f" of {count(int(figures['answers']), 'answer')}" if "answers" in figures else ""
    urls_deferred = figures.get("deferred")
    deferred = ""
    if urls_deferred:
        deferred_hosts = count(figures["hosts_deferred"], "deferred host")
        deferred = f" ({count(urls_deferred, 'URL')} of {deferred_hosts})"
    parts = [
        f"{count(pages, 'page')}{speed}{answers}",
        f"{queued} queued{deferred}",
        hosts_in_words(figures),
    ]
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
    return str(HostTurns.of(figures))


def revisits_in_words(figures: Mapping[str, Any]) -> list[str]:
    """Return how many pages were fetched again, and how fresh copies are; empty if none is."""
    revisits = figures_of(figures)
    if revisits is None:
        return []
    return [f"{count(revisits.taken, 'revisit')} ({fresh(revisits)} fresh)"]


def short_line(figures: Mapping[str, Any], rate: float) -> str:
    """Return the progress in 80 columns, whatever the numbers; hosts active/ready/waiting.

    There is no room for all: why the crawl waits goes before the freshness of pages, and that
    before the URLs seen. `rate`: pages per second.
    """
    queue = short(figures.get("queued", 0))
    seen = short(figures.get("seen/keys", 0))
    failed = short(figures.get("failures", 0))
    size = short(figures.get("bytes", 0))
    of_crawl = "ready" in figures  # a hive has only the number of all its hosts
    hosts = short(figures.get("hosts", 0))
    if of_crawl:
        hosts = "/".join(map(short, HostTurns.of(figures)))
    pages = count(int(figures.get("pages", 0)), "page", short)
    parts = [f"{pages} {short(rate)}/s", f"queue {queue}", f"hosts {hosts}"]
    revisits = figures_of(figures)
    if waits := waits_for(figures):
        parts[:1] = [waits, pages]  # in place of the rate
    elif revisits is not None:
        parts.append(f"fresh {fresh(revisits)}")
    elif of_crawl:
        parts.append(f"seen {seen}")
    return "  ".join([*parts, f"failed {failed}", f"{size}B"])
