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
from webcrawl.store.jobdir.crawls import for_reading, is_crawl


def last_lines(
    folder: Path, figures: Mapping[str, Any], seconds: float, before: int = 0
) -> list[str]:
    """Return what a run has done and left, what went wrong, and where its pages lie.

    `seconds`: the run's. `before`: the pages of earlier runs.
    """
    pages = figures["pages"] - before
    # robots.txt and errors of servers are no answers of a host
    answered = figures.get("frontier/hosts answered", 0)
    hosts = f" from {count(answered, 'host')}" if answered else ""
    rate = f"{pace(pages, seconds)} pages/s"
    done = f"{count(pages, 'page')} in {round(seconds, 1):g} s ({rate})"
    if before:
        done += f", {figures['pages']} with earlier runs"
        if hosts:  # which are those of all runs
            done += ","
    done += hosts
    queued = queued_urls(figures["queued"])
    if held := _held(figures):
        queued += f" ({', '.join(held)})"
    # These may still turn out to be known; in a crawl that was stopped soon, they are all it has.
    if links := figures.get("seen/waiting", 0) + figures.get("links/waiting", 0):
        queued += f" and {count(links, 'link')} not yet looked up"
    failures = count(figures["failures"], "failure")
    of_all_runs = " in all" if before else ""
    lines = [
        f"{done}; {queued}, {failures}{of_all_runs}",
        *sentences(figures, of=WRONG),
        *sentences(figures, of=DONE),
        *_urls_left(figures),
        *_servers(figures),
        *_pause(folder, figures),
    ]
    if left := counter_words.in_words(figures):
        lines.append(f"left out: {left}; {program()} why {_word(folder)} URL shows the rule")
    # Of this run, with what would help, or of all runs in a few words.
    bottleneck = figures["bound"] if "bound" in figures else in_words(figures)
    if bottleneck:
        lines.append(f"bound by {bottleneck}")
    return [*lines, *what_is_kept(folder, figures)]


def what_is_kept(folder: Path, figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the folder has: after a failure that is less than was fetched."""
    drones = figures.get("drones", ())
    if stats_file.STORE_FAILED in (figures.get("reason"), *(one.get("reason") for one in drones)):
        # What was moved or removed has nothing; another folder may be in its place
        if drones or is_crawl(folder):
            checkpoint = "last checkpoints of its drones" if drones else "last checkpoint"
            yield f"{folder} has everything up to the {checkpoint}"
        return
    archive_sizes = list(_sizes(folder))
    kept = ""
    if archive_sizes:
        files = count(len(archive_sizes), "WARC file")
        kept = f"{megabytes(sum(archive_sizes))} in {files}; "
    what = "everything that is not in the store" if "store/files" in figures else "everything"
    yield f"{kept}{what} is in {folder}"


def _servers(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the servers that do not answer at the end of this run, in words."""
    if away := figures.get("away"):
        yield f"{away}: restart it, then run the same command to resume"


def _pause(folder: Path, figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield that a command has paused the crawl: the next run fetches nothing, either."""
    if figures.get("paused"):
        resume = f"{program()} ctl {_word(folder)} resume"
        yield f"paused by command: the next run fetches nothing until `{resume}`"


def _urls_left(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URLs that are left, and when they are due, in words.

    First those of hosts that were deferred, because they are away or asked to be left alone for
    long; then those of hosts that fail, but were not deferred; then hosts paused by command.
    """
    urls, hosts = figures.get("deferred", 0), figures.get("hosts_deferred", 0)
    if hosts:
        what_is_left = f"{count(urls, 'URL')} of {count(hosts, 'deferred host')}"
        hosts_that_were_blocked = figures.get("frontier/hosts blocked", 0)
        blocked = hosts_that_were_blocked - figures.get("frontier/hosts unblocked", 0)
        if blocked:
            what_is_left += f"; {count(blocked, 'host')} behind block pages"
        # 0: all of them are paused by command, and nothing is due before they are resumed.
        if figures["deferred_due"]:
            what_is_left += (
                f"; run the same command to resume, the next is due {_at(figures['deferred_due'])}"
            )
        yield what_is_left
    waits = figures.get("waits") or Waits()
    # Without other hosts it is a deferred one that is waited for.
    is_deferred = bool(hosts) and not figures.get("hosts", 0)
    others_left = figures["queued"] - urls - figures.get("over_budget", 0)
    # At least the one host that waits, with the URL that is due.
    hosts_left = max(figures.get("hosts", 0), 1)
    left = f"{count(max(others_left, 1), 'URL')} of {count(hosts_left, 'host')} left"
    if waits.rule in FAILING and not is_deferred:
        due = time.strftime("%H:%M:%S", time.localtime(time.time() + waits.seconds))
        yield f"{left}; the next is due at {due}, {waits.why}; run the same command to resume"
    # For what each drone has waited is in its own log.
    has_finished = figures.get("reason") == stats_file.FINISHED
    if figures.get("drones") and has_finished and others_left > 0:
        yield f"{left}; run the same command to resume"
    if paused_hosts := figures.get("hosts_paused"):
        yield f"{count(paused_hosts, 'host')} paused by command; their URLs count as deferred"


def _at(moment: float) -> str:
    """Return a moment for the end of a line: what was due before the last line is due now."""
    if moment <= time.time():
        return "now"
    return time.strftime("at %Y-%m-%d %H:%M", time.localtime(moment))


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the archive files' sizes in bytes, those of drones too.

    A file that is being moved, as to a store, is left out.
    """
    with contextlib.suppress(OSError):
        for path in (*folder.glob("warc/*.warc.gz*"), *folder.glob("drone-*/warc/*.warc.gz*")):
            with contextlib.suppress(OSError):
                yield path.stat().st_size


def queued_urls(urls: int) -> str:
    return f"{count(urls, 'URL')} queued"


def _held(figures: Mapping[str, Any]) -> list[str]:
    """Return how many queued URLs wait behind all others, and why, in words."""
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
    """Return the lines with commands that go on from this crawl: to process, search and report.

    `outputs`: what the crawl has written. If that is only an archive, the first command makes what
    people read of it, in another folder, and the search is one in that folder.
    """
    lines = []
    readable_folder = folder
    readable = [name for name in READABLE if name in outputs]
    # A store may have taken the archive away, and `process` does not read it there.
    has_archive = any(True for _ in _sizes(folder))
    if not readable and "warc" in outputs and has_archive:
        # Only what can be made here: a command that is shown has to work.
        readable = [name for name in READABLE if all(map(find_spec, LIBRARIES.get(name, ())))]
        readable_folder = for_reading(folder)
        names = shlex.quote(" ".join(readable))
        options = f"-s OUTPUTS={names} -s JOBDIR={_word(readable_folder)}"
        archives = " ".join(map(_word, [*_earlier(folder), folder]))
        lines.append(
            f"to make {', '.join(readable)} of these pages: "
            f"{program()} process {archives} {options}"
        )
    return [*lines, *search_command(readable_folder, readable), report_command(folder)]


def report_command(folder: Path) -> str:
    """Return the line for a report on a crawl or hive."""
    return f"report: {program()} report {_word(folder)}"


def _earlier(folder: Path) -> Iterable[Path]:
    """Return the archives of `-a since`, oldest first, to which unchanged pages refer."""
    from webcrawl.record.since.sources import FOLDER, read_indexed_files  # noqa: PLC0415 - not before the end of a crawl

    indexes = [Path(file.path) for file in read_indexed_files(folder / "state" / FOLDER) or ()]
    return dict.fromkeys(index.parent for index in indexes if any(index.parent.glob("*.warc*")))


def search_command(folder: Path, outputs: Collection[str]) -> list[str]:
    """Return the line for a search, if these outputs make it possible."""
    return [f"search: {program()} search {_word(folder)} WORDS"] if "index" in outputs else []


def _word(path: Path) -> str:
    return shlex.quote(str(path))
