"""The last lines of a crawl or hive: its figures in words, and commands to go on with."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.program import program
from webcrawl.base.readable import count, megabytes, pace
from webcrawl.crawl.bound import in_words
from webcrawl.crawl.progress import DONE, WRONG, sentences
from webcrawl.frontier.wait_words import FAILING, Waits
from webcrawl.store.jobdir import counter_words, stats_file
from webcrawl.store.jobdir.crawls import for_reading


def last_lines(
    folder: Path, figures: Mapping[str, Any], seconds: float, before: int = 0
) -> list[str]:
    """Yield the pages of a run, and where they lie; `before`: the pages of earlier runs."""
    pages = figures["pages"] - before
    # robots.txt and errors of servers are no answers of a host
    answered = figures.get("frontier/hosts answered", 0)
    hosts = f" from {count(answered, 'host')}" if answered else ""
    rate, queued = f"{pace(pages, seconds)} pages/s", queued_urls(figures["queued"])
    run = f"{count(pages, 'page')} in {round(seconds, 1):g} s ({rate})"
    done = (
        f"{run}, {figures['pages']} with earlier runs{',' * bool(hosts)}{hosts}"
        if before
        else f"{run}{hosts}"
    )
    archives = list(_sizes(folder))
    if held := _held(figures):
        queued += f" ({', '.join(held)})"
    # all, if it was stopped soon
    if links := figures.get("seen/waiting", 0) + figures.get("links/waiting", 0):
        queued += f" and {count(links, 'link')} not yet looked up"
    kept = (
        f"{megabytes(sum(archives))} in {count(len(archives), 'WARC file')}; " if archives else ""
    )
    first = (
        f"{done}; {queued}, {count(figures['failures'], 'failure')}{' in all' if before else ''}"
    )
    lines = [
        first,
        *sentences(figures, of=WRONG),
        *sentences(figures, of=DONE),
        *_aside(figures),
        *_servers(figures),
        *_pause(folder, figures),
    ]
    if left := counter_words.in_words(figures):
        lines.append(f"left out: {left}; {program()} why {_word(folder)} URL shows the rule")
    if said := figures["bound"] if "bound" in figures else in_words(figures):
        # of this run with what would help, or of all runs in a few words
        lines.append(f"bound by {said}")
    what = "everything that is not in the store" if "store/files" in figures else "everything"
    return [*lines, f"{kept}{what} is in {folder}"]


def _servers(figures: Mapping[str, Any]) -> Iterator[str]:
    """Return the servers that do not answer at the end of this run, in words."""
    if away := figures.get("away"):
        yield f"{away}: restart it, then run the same command to resume"


def _pause(folder: Path, figures: Mapping[str, Any]) -> Iterator[str]:
    """Return that a command has paused the crawl: the next run fetches nothing, either."""
    if figures.get("paused"):
        resume = f"{program()} ctl {_word(folder)} resume"
        yield f"paused by command: the next run fetches nothing until `{resume}`"


def _aside(figures: Mapping[str, Any]) -> Iterator[str]:
    """Return the URLs left of hosts that are away, or asked to be left alone for long."""
    urls, hosts = figures.get("aside", 0), figures.get("hosts_aside", 0)
    if hosts:
        what_is_left = f"{count(urls, 'URL')} of {count(hosts, 'host')} set aside"
        if walls := figures.get("frontier/hosts behind walls", 0) - figures.get(
            "frontier/walls opened", 0
        ):
            what_is_left += f"; {count(walls, 'host')} behind block pages"
        # else all of them are paused, and nothing is due before they are resumed
        if figures["aside_due"]:
            what_is_left += (
                f"; run the same command to resume, the next is due {_at(figures['aside_due'])}"
            )
        yield what_is_left
    waits = figures.get("waits") or Waits()
    if waits.rule in FAILING:
        due = time.strftime("%H:%M:%S", time.localtime(time.time() + waits.seconds))
        what_is_left = count(
            max(figures["queued"] - urls - figures.get("over_budget", 0), 1), "URL"
        )
        of = count(max(figures.get("hosts", 0), 1), "host")
        yield f"{what_is_left} of {of} left; the next is due at {due}, {waits.why}; run the same command to resume"
    if paused_hosts := figures.get("hosts_paused"):
        yield f"{count(paused_hosts, 'host')} paused by command; their URLs count as set aside"


def _at(moment: float) -> str:
    """Return a moment for the end of a line: what was due before the last line is due now."""
    if moment <= time.time():
        return "now"
    return time.strftime("at %Y-%m-%d %H:%M", time.localtime(moment))


def _sizes(folder: Path) -> Iterator[int]:
    """Return the archive files' sizes, as far as they can be seen: files may be moved now."""
    with contextlib.suppress(OSError):
        for path in (*folder.glob("warc/*.warc.gz*"), *folder.glob("drone-*/warc/*.warc.gz*")):
            with contextlib.suppress(OSError):
                yield path.stat().st_size


def queued_urls(urls: int) -> str:
    return f"{count(urls, 'URL')} queued"


def _held(figures: Mapping[str, Any]) -> list[str]:
    """Return how many of these wait behind all others, and why."""
    urls_over_budget, folded = stats_file.over_budget(figures)
    domains = count(figures.get("over_budget/domains", 0), "domain")
    said = []
    if urls_over_budget:
        said.append(f"{count(urls_over_budget, 'URL')} over the budget of {domains}")
    if folded:
        said.append(f"{folded} folded by TRAP_RULES, because similar URLs brought nothing new")
    return said


# -- commands

# what people and programs read, and a crawl leaves out unless it is asked
READABLE = ("text", "tables", "index")


def next_commands(folder: Path, outputs: Collection[str]) -> list[str]:
    """Yield one line for each command; `outputs`: what the crawl has written."""
    lines = []
    place = folder
    made = [one for one in READABLE if one in outputs]
    if not made and "warc" in outputs:
        # Only what can be made here: a command that is shown has to work.
        made = [one for one in READABLE if all(map(find_spec, LIBRARIES.get(one, ())))]
        place = for_reading(folder)
        options = f"-s OUTPUTS={shlex.quote(' '.join(made))} -s JOBDIR={_word(place)}"
        archives = " ".join(map(_word, [*_earlier(folder), folder]))
        lines.append(
            f"to make {', '.join(made)} of these pages: {program()} process {archives} {options}"
        )
    return [*lines, *search_command(place, made), report_command(folder)]


def report_command(folder: Path) -> str:
    """Return the line for a report on a crawl or hive."""
    return f"report: {program()} report {_word(folder)}"


def _earlier(folder: Path) -> Iterable[Path]:
    """Return the archives of `-a since`, oldest first, to which unchanged pages refer."""
    from webcrawl.record.since.sources import FOLDER, read_indexed_files  # noqa: PLC0415 - not before the end of a crawl

    indexes = [Path(sign.path) for sign in read_indexed_files(folder / "state" / FOLDER) or ()]
    return dict.fromkeys(index.parent for index in indexes if any(index.parent.glob("*.warc*")))


def search_command(folder: Path, outputs: Collection[str]) -> list[str]:
    """Return the line for a search, if these outputs make it possible."""
    return [f"search: {program()} search {_word(folder)} WORDS"] if "index" in outputs else []


def _word(path: Path) -> str:
    return shlex.quote(str(path))
