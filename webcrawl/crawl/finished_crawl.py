"""A JOBDIR whose crawl has ended: nothing is left, nothing was got, or the user wants it anew."""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path, PurePosixPath

from webcrawl.base.errors import CannotStart
from webcrawl.base.model import Link, Status
from webcrawl.base.readable import count as counted
from webcrawl.crawl import last_run
from webcrawl.crawl.crawl import Crawl
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir import meta_row, stats_file
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.lock import Lock
from webcrawl.store.outputs import STORED
from webcrawl.urls.canonical import InvalidUrl, canonical

logger = logging.getLogger(__name__)

# seconds; a crawl that takes longer to say that nothing is left is run instead
LONGEST_CHECK = 10.0
POLL_INTERVAL = 0.005
CHANGES_NAMED = 3  # changed settings that are named


class NothingLeft(CannotStart):
    """The crawl is complete, which is no failure; the message is one line."""


def make_room(folder: Path, *, again: bool) -> Path | None:
    """Begin a crawl anew if its last run got nothing, or if the user wants it (`again`).

    Return the folder in which the earlier crawl is kept, or None if nothing was worth keeping, or
    if the crawl goes on. Raise StoreError if it runs, CannotStart if its folder has no name.
    """
    state = folder / "state"
    if not state.is_dir() or not (again or stats_file.read(folder).get(stats_file.UNREACHED)):
        return None
    lock = Lock(state)
    lock.add(folder)
    try:
        if again or any((folder / "warc").glob("*.warc.gz")):
            if folder.name in ("", ".."):  # under such a name it stays where it is
                raise CannotStart(
                    f"JOBDIR = {folder}: to start over, give the folder by its name: {folder.resolve()}"
                )
            return _put_beside(folder)
        _empty(folder)
        return None
    finally:
        lock.close()


@contextlib.contextmanager
def room_for(folder: Path, *, again: bool) -> Iterator[None]:
    """Make room for a crawl that is opened within; if it cannot start, all is as it was."""
    kept = make_room(folder, again=again)
    try:
        yield
    except BaseException:
        if kept is not None:
            if folder.exists():
                shutil.rmtree(folder)
            kept.rename(folder)
        raise
    if kept is not None:
        logger.warning("%s: starting over; the earlier crawl is kept in %s", folder, kept)


def _put_beside(folder: Path) -> Path:
    """Rename a crawl's folder to NAME.1, or the first number that is free; return the new path."""
    names = (folder.with_name(f"{folder.name}.{number}") for number in count(1))
    kept = next(name for name in names if not name.exists())
    folder.rename(kept)
    return kept


def put_complete_beside(folder: Path) -> None:
    """Keep a complete crawl beside its folder, so that the spider crawls anew.

    Raise StateLocked if it runs.
    """
    lock = Lock(folder / "state")
    try:
        lock.add(folder)
        # another process has begun since
        if stats_file.read(folder).get("reason") != stats_file.FINISHED:
            return
        kept = _put_beside(folder)
    finally:
        lock.close()
    siblings = folder.parent.glob(f"{folder.name}.*")
    earlier = sum(sibling.suffix[1:].isdecimal() for sibling in siblings)
    line = (
        "%s: the crawl of this spider was complete and no JOBDIR is given, so it starts over. The "
        "earlier crawl is kept in %s (%s kept so far; remove those you do not need)"
    )
    logger.warning(line, folder, kept, counted(earlier, "earlier crawl"))


def _empty(folder: Path) -> None:
    """Remove the files of a crawl without a page.

    stats.json comes last: if this process is killed, the next start finds it, and removes the rest.
    """
    outputs: dict[str, int] = {}
    with contextlib.suppress(StoreError):  # a former process was killed while it removed the state
        outputs = JobDir.open(folder).read(lengths)
    for name in map(PurePosixPath, outputs):
        # A damaged state must not lead out of the folder.
        if not name.is_absolute() and ".." not in name.parts:
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "state")
    (folder / stats_file.NAME).unlink(missing_ok=True)


def refuse_complete(
    folder: Path,
    crawl: Crawl,
    urls: Iterable[str] = (),
    *,
    anew: str = "",
    has_index: bool = False,
) -> None:
    """Raise NothingLeft if all of the crawl is done, these URLs and its unread seeds included.

    Return, so that the crawl is run once more, if its exclusion file has changed, or if its texts
    have no index yet (`has_index`: one is wanted). `anew` ends the message: what else the user may
    do to have it crawled again. The crawl was opened only for this question, and is closed without
    a checkpoint.
    """
    parts = crawl.parts
    if not is_complete(folder, crawl, urls) or parts.file_optouts.has_changed():
        return
    if has_index and (folder / "text").is_dir() and not (folder / "index").is_dir():
        return
    figures = crawl.stats()
    pages = counted(parts.counters["pages"], "page")
    left_out = ""
    if lost := int(figures.get(f"frontier/dropped/{Status.HOST_BUDGET}", 0)):
        left_out = f", {counted(lost, 'URL')} left out (by HOST_MAX_PAGES, or by the limit on URLs from sitemaps)"
    changed = _changed(folder, *_terms(folder, parts.db))
    left = _left(figures)
    raise NothingLeft(
        f"{folder}: already complete, with {pages}; {left} left to do{left_out}. To crawl again, use "
        f"another JOBDIR{anew}{changed}"
    )


def is_complete(folder: Path, crawl: Crawl, urls: Iterable[str] = ()) -> bool:
    """Return whether all of the crawl is done, these URLs included.

    To find out, the URLs are submitted, and what waits is moved on: no checkpoint may follow.
    """
    parts = crawl.parts
    has_ended = stats_file.read(folder).get("reason") == stats_file.FINISHED
    if not has_ended or parts.seeding.away > 0 or parts.outputs.unfinished:
        return False
    for url in urls:
        try:
            parts.discovery.submit(Link(canonical(url)))
        except InvalidUrl:
            return False
    if _goes_on(crawl) or parts.seeding.away > 0:  # or a list cannot be read any more
        return False
    figures = crawl.stats()
    # Any others are of deferred hosts, which this run may try.
    return bool(figures["queued"] <= figures["over_budget"])


def is_stored(crawl: Crawl) -> bool:
    """Return whether a store has all finished files of the crawl."""
    stored = {name.removeprefix(STORED) for name, _ in crawl.parts.db.named(STORED)}
    return all(name in stored for name, _ in crawl.parts.outputs.finished())


def _left(figures: Mapping[str, float]) -> str:
    """Return what waits behind all others, and what would fetch it."""
    urls_over_budget, folded = stats_file.over_budget(figures)
    words = []
    if urls_over_budget:
        urls = counted(urls_over_budget, "URL")
        words.append(f"{urls} over the budgets of domains (DOMAIN_BUDGET_PAGES)")
    if folded:
        words.append(f"{counted(folded, 'folded URL')} (TRAP_RULES=0 fetches them)")
    return f"only {' and '.join(words)}" if words else "nothing"


def _goes_on(crawl: Crawl) -> bool:
    """Return whether something is left to do now; True, too, if LONGEST_CHECK is not enough to tell.

    New links and seeds are moved to the frontier until it has a URL, or nothing is left to move.
    """
    until = time.monotonic() + LONGEST_CHECK
    while crawl.pending:
        crawl.feed()
        figures = crawl.stats()
        # The URLs may be of deferred hosts, too: this run may try them.
        if figures["queued"] > figures["over_budget"] or time.monotonic() > until:
            return True
        # All left are over a budget or folded: only `take` looks whether one may be fetched by now.
        if crawl.parts.frontier.take(crawl.parts.clock()) is not None:
            return True
        time.sleep(POLL_INTERVAL)
    return False


def _terms(folder: Path, db: CrawlDB) -> tuple[last_run.Terms, last_run.Terms]:
    """Return the terms of the last run, and of this one."""
    return JobDir.open(folder).read(meta_row.terms), meta_row.read_terms(
        db.get(meta_row.TERMS) or b"{}"
    )


def _changed(folder: Path, before: last_run.Terms, now: last_run.Terms) -> str:
    """Return what has changed in vain, and how to make added outputs of the pages at hand."""
    # A crawl that was opened only to ask about it has no spider arguments: they have not changed.
    lines = [line for line in last_run.changes(before, now) if not line.startswith("-a ")]
    if not lines:
        return ""
    words = f". Changes without effect: {'; '.join(lines[:CHANGES_NAMED])}"
    if len(lines) > CHANGES_NAMED:
        words += f" and {len(lines) - CHANGES_NAMED} more"
    command = last_run.made_later(before, now, folder)
    if command:
        words += f"; to make new outputs of its pages: {command}"
    return words
