"""The last lines of a crawl, or of a hive: its figures in words, and the commands that make something of them."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webcrawl.adapter.extensions.breaker import REASON
from webcrawl.base.model import FAILURES, Status
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import program
from webcrawl.base.readable import by_type, count, megabytes, pace
from webcrawl.crawl.bound import in_words
from webcrawl.crawl.crawl_log import CUT
from webcrawl.crawl.lost_requests import COUNTED as UNKEPT
from webcrawl.crawl.lost_requests import NAMELESS
from webcrawl.crawl.score_book import MILLI
from webcrawl.frontier.charges import CUT_SHORT
from webcrawl.frontier.wait_words import FAILING, Waits
from webcrawl.store.jobdir import left_out, revisit_figures, stats_file
from webcrawl.store.jobdir.crawls import for_reading


def last_lines(folder: Path, figures: Mapping[str, Any], seconds: float, before: int = 0) -> list[str]:
    """The pages of a run of some seconds, and where they lie; `before` is the number of pages of earlier runs."""
    pages = figures["pages"] - before
    answered = figures.get("frontier/hosts answered", 0)  # robots.txt and errors of servers are no answers of a host
    hosts = f" from {count(answered, 'host')}" if answered else ""
    rate, queued = f"{pace(pages, seconds)} pages/s", queued_urls(figures["queued"])
    run = f"{count(pages, 'page')} in {round(seconds, 1):g} s ({rate})"
    done = f"{run}, {figures['pages']} with earlier runs{',' * bool(hosts)}{hosts}" if before else f"{run}{hosts}"
    archives = list(_sizes(folder))
    if held := _held(figures):
        queued += f" ({', '.join(held)})"
    if links := figures.get("seen/waiting", 0) + figures.get("links/waiting", 0):  # all, if it was stopped soon
        queued += f" and {count(links, 'link')} not yet looked up"
    kept = f"{megabytes(sum(archives))} in {count(len(archives), 'WARC file')}; " if archives else ""
    first = f"{done}; {queued}, {count(figures['failures'], 'failure')}{' in all' if before else ''}"
    lines = [first]
    for say in SAYINGS:
        lines += say(figures)
    if left := left_out.in_words(figures):
        lines.append(f"left out: {left}; {program()} why {_word(folder)} URL names the rule")
    if said := figures["bound"] if "bound" in figures else in_words(figures):
        lines.append(f"bound by {said}")  # of this run with what would help, or of all runs in a few words
    what = "what the store has not" if "store/files" in figures else "everything"
    return [*lines, f"{kept}{what} is in {folder}"]


COUNTED = {  # what is lost or is lacking, over all runs: the noun, and the rest of the sentence
    f"frontier/{CUT_SHORT}": ("page", "cut short: the body ended early, or time was up, at every attempt"),
    "flaw/unrendered": ("page", "as sent: the browser had no time for them, or gave no document (unrendered)"),
    "scores/failed": ("page", "without a score, though fetched and kept: the scorer failed, as the log says"),
    "redis_seeds/bad": ("seed", "from the server refused, as the log says"),
    "seed_lists_away": ("list", "of seeds cannot be read to the end, as the log says: the next run tries again"),
    "hosts_paused": ("host", "paused by command; their URLs count as set aside"),
    UNKEPT: ("request", "of the spider lost, as the log says: they could not be kept"),
    NAMELESS: (
        "request",
        f"ended with status {Status.NO_METHOD:d}: the spider no longer has the methods or values that they name",
    ),
    "hive/refused": ("item", "of letters from the hive's server refused in this run, as the log says"),
    "since/unasked": ("answer", "stored whole: the CDX server of -a since did not answer, as the log says"),
}


def _counted(figures: Mapping[str, Any]) -> Iterator[str]:
    for key, (noun, text) in COUNTED.items():
        if number := figures.get(key, 0):
            yield f"{count(number, noun)} {text}"


def _no_pages(figures: Mapping[str, Any]) -> Iterator[str]:
    """The URLs whose answers are no pages, over all runs; errors of servers have a line of their own."""
    if found := stats_file.without_page(_outcomes(figures)):
        each = ", ".join(f"{status}: {many}" for status, many in found.items())
        yield f"{count(sum(found.values()), 'URL')} gave no page ({each})"


def _errors(figures: Mapping[str, Any]) -> Iterator[str]:
    """The answers that are no pages, or seem to be none, over all runs, repeats included."""
    statuses = sorted(stats_file.SERVER_ERRORS)
    errors = {str(status): many for status in statuses if (many := figures.get(f"status/{status}"))}
    walls, others = stats_file.recognised(figures)
    others.pop("shell", None)  # pages that need scripts have a line of their own
    for found, what in ((errors, "are errors of servers"), (walls, "are walls"), (others, "seem to be no pages")):
        if found:
            each = ", ".join(f"{name}: {many}" for name, many in sorted(found.items()))
            ended = _ended(figures) if found is errors else ""
            yield f"answers that {what}: {sum(found.values())}, repeats included ({each}){ended}"


def _ended(figures: Mapping[str, Any]) -> str:
    """Of the URLs that are not asked for again after such an error: the last one of a host that fell over is one."""
    lost = sum(many for status, many in _outcomes(figures).items() if int(status) in stats_file.SERVER_ERRORS)
    return f"; {count(lost, 'URL')} ended so, and crawl.log has them" if lost else ""


def _unanswered(figures: Mapping[str, Any]) -> Iterator[str]:
    """The URLs that nobody asks for again, though nothing came, over all runs; failures are attempts."""
    if ended := {status: many for status, many in _outcomes(figures).items() if many and int(status) in FAILURES}:
        each = ", ".join(f"{int(status)}: {ended[status]}" for status in sorted(ended, key=int, reverse=True))
        urls = count(sum(ended.values()), "URL")
        yield f"{urls} ended without a usable answer ({each}), and crawl.log has them"


def _outcomes(figures: Mapping[str, Any]) -> Mapping[Any, int]:
    """How many URLs ended with which status; a hive's statuses are strings."""
    found: Mapping[Any, int] = (figures.get("statistics") or {}).get("outcomes", {})
    return found


def unexpected(figures: Mapping[str, Any]) -> Iterator[str]:
    """What errors of this run cost, and whether they have ended it."""
    if errors := figures.get("errors", 0):
        again = "what failed at a page does not get it again"
        if figures.get("reason") == stats_file.STORE_FAILED:
            again = "pages since the last checkpoint come again"
        yield f"{count(errors, 'unexpected error')}: see logs/errors.log; {again}"
    if figures.get("reason") == REASON:
        yield "stopped by ERROR_BREAKER, for so many errors in so short a time; the same command resumes it"


def _sitemaps(figures: Mapping[str, Any]) -> Iterator[str]:
    """The sitemaps that were fetched, which are no pages, and what they brought, over all runs."""
    if sitemaps := figures.get("sitemaps", 0):
        yield f"{count(sitemaps, 'sitemap')} with {count(figures.get('sitemaps/urls', 0), 'link')}"


def _too_long(figures: Mapping[str, Any]) -> Iterator[str]:
    """The answers of which only the beginning is kept, over all runs."""
    if answers := figures.get("truncated/length", 0):
        kinds = {name.removeprefix(CUT): number for name, number in figures.items() if name.startswith(CUT)}
        types = f" ({by_type(kinds)})" if kinds else ""
        yield f"{count(answers, 'answer')} cut at DOWNLOAD_TRUNCATE{types}: what is behind that is not in the crawl"


def _scripts(figures: Mapping[str, Any]) -> Iterator[str]:
    """The pages without the text that their scripts make, over all runs."""
    if pages := figures.get("need_scripts", 0):
        more = "more than " if figures.get("need_scripts/others") else ""
        hosts = f"{more}{count(figures['need_scripts/hosts'], 'host')} {'seems' if pages == 1 else 'seem'}"
        new = "; a complete crawl, in a new JOBDIR"
        yield f"{count(pages, 'page')} of {hosts} to need scripts: -s RENDER=auto{new} (docs/browser.md)"
    if refused := figures.get(stats_file.REFUSED, 0):
        begin = f"{stats_file.REFUSED}/"
        kinds = {name.removeprefix(begin): many for name, many in figures.items() if name.startswith(begin) and many}
        each = ", ".join(f"{kind}: {many}" for kind, many in sorted(kinds.items(), key=lambda one: -one[1]))
        yield f"{count(refused, 'request')} of rendered pages refused or failed ({each}): docs/browser.md says why"


def _scores(figures: Mapping[str, Any]) -> Iterator[str]:
    """What a SCORER gave, over all runs."""
    if pages := figures.get("scores/pages", 0):
        yield f"{count(pages, 'page')} scored, {figures['scores/thousandths'] / pages / MILLI:.2f} on average"


def _known(figures: Mapping[str, Any]) -> Iterator[str]:
    """The pages that an earlier crawl had already, over all runs."""
    same, known = figures.get("since/unmodified", 0), figures.get("since/identical", 0)
    if same or known:
        again, size = f"{count(known, 'answer')} sent again the same", megabytes(figures["since/bytes"])
        yield f"{count(same, 'page')} unchanged since the earlier crawl (status 304), {again}: {size} not stored"
    changed, gone = figures.get("since/changed", 0), figures.get("since/gone", 0)
    if changed or gone:
        yield f"{count(changed, 'page')} changed since the earlier crawl, {gone} gone (404, 410 or moved for good)"


def _stored(figures: Mapping[str, Any]) -> Iterator[str]:
    """The files that the store has, over all runs, and those that it has not yet."""
    if "store/files" in figures:
        waits = f", {figures['store/waiting']} still to be sent or verified" if figures["store/waiting"] else ""
        yield f"{count(figures['store/files'], 'file')} in the store ({megabytes(figures['store/bytes'])}){waits}"


def _servers(figures: Mapping[str, Any]) -> Iterator[str]:
    """The servers that do not answer at the end of this run."""
    if away := figures.get("away"):
        yield f"{away}: start it again, and run the same command to resume"


def _walk(figures: Mapping[str, Any]) -> Iterator[str]:
    """The progress of a random walk, over all runs."""
    if "walk/visits" in figures:
        steps = figures["walk/steps"]
        yield f"{count(figures['walk/visits'], 'visit')} made" + (f" of {steps}" if steps else "")


def _revisits(figures: Mapping[str, Any]) -> Iterator[str]:
    """The results of fetching pages again, over all runs."""
    revisits = revisit_figures.figures_of(figures)
    if revisits is not None:
        yield revisit_figures.in_words(revisits)


def _aside(figures: Mapping[str, Any]) -> Iterator[str]:
    """The URLs left of hosts that are away, or that asked to be left alone for long."""
    urls, hosts = figures.get("aside", 0), figures.get("hosts_aside", 0)
    if hosts:
        left = f"{count(urls, 'URL')} of {count(hosts, 'host')} set aside"
        if walls := figures.get("frontier/hosts behind walls", 0) - figures.get("frontier/walls opened", 0):
            left += f"; {count(walls, 'host')} behind walls"
        if figures["aside_due"]:  # else all of them are paused, and nothing is due before they are resumed
            due = time.strftime("%Y-%m-%d %H:%M", time.localtime(figures["aside_due"]))
            left += f"; run the same command to resume, the next is due at {due}"
        yield left
    waits = figures.get("waits") or Waits()
    if waits.rule in FAILING:
        due = time.strftime("%H:%M:%S", time.localtime(time.time() + waits.seconds))
        left = count(max(figures["queued"] - urls - figures.get("over_budget", 0), 1), "URL")
        of = count(max(figures.get("hosts", 0), 1), "host")
        yield f"{left} of {of} left: the next turn is at {due}, {waits.why}; run the same command to resume"


SAYINGS: tuple[Callable[[Mapping[str, Any]], Iterator[str]], ...] = (
    _no_pages,
    _errors,
    _unanswered,
    _too_long,
    _sitemaps,
    _scripts,
    _scores,
    _walk,
    _revisits,
    _aside,
    _servers,
    unexpected,
    _counted,
    _known,
    _stored,
)


def _sizes(folder: Path) -> Iterator[int]:
    """The archive files' sizes, as far as they can be seen: their owner may move one at this moment."""
    with contextlib.suppress(OSError):
        for path in (*folder.glob("warc/*.warc.gz*"), *folder.glob("drone-*/warc/*.warc.gz*")):
            with contextlib.suppress(OSError):
                yield path.stat().st_size


def queued_urls(urls: int) -> str:
    return f"{count(urls, 'URL')} queued"


def _held(figures: Mapping[str, Any]) -> list[str]:
    """How many of these wait behind all others, and why."""
    over, folded = stats_file.over_budget(figures)
    domains = count(figures.get("over_budget/domains", 0), "domain")
    said = [f"{count(over, 'URL')} over the budget of {domains}"] if over else []
    return [*said, f"{folded} folded by TRAP_RULES: their like brought nothing new"] if folded else said


# -- commands

READABLE = ("text", "tables", "index")  # what people and programs read, and a crawl leaves out unless it is asked


def next_commands(folder: Path, outputs: Collection[str]) -> list[str]:
    """One line for each; `outputs`: what the crawl has written."""
    lines, place, made = [], folder, [one for one in READABLE if one in outputs]
    if not made and "warc" in outputs:
        made = [one for one in READABLE if all(map(find_spec, LIBRARIES.get(one, ())))]
        place = for_reading(folder)
        options = f"-s OUTPUTS={shlex.quote(' '.join(made))} -s JOBDIR={_word(place)}"
        archives = " ".join(map(_word, [*_earlier(folder), folder]))
        lines.append(f"{', '.join(made)} of these pages: {program()} process {archives} {options}")
    return [*lines, *search_command(place, made), report_command(folder)]


def report_command(folder: Path) -> str:
    """The line for a report on a crawl or hive."""
    return f"report: {program()} report {_word(folder)}"


def _earlier(folder: Path) -> Iterable[Path]:
    """The archives of `-a since`, oldest first: of an unchanged page the crawl's own has a reference to them."""
    from webcrawl.record.since.sources import FOLDER, read_kept  # noqa: PLC0415 - not before the end of a crawl

    indexes = [Path(sign.path) for sign in read_kept(folder / "state" / FOLDER) or ()]
    return dict.fromkeys(index.parent for index in indexes if any(index.parent.glob("*.warc*")))


def search_command(folder: Path, outputs: Collection[str]) -> list[str]:
    """The line for it, if these outputs make it possible."""
    return [f"search: {program()} search {_word(folder)} WORDS"] if "index" in outputs else []


def _word(path: Path) -> str:
    return shlex.quote(str(path))
