"""Says which archive files of a crawl its readers will not find: they are in a store, or away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from webcrawl.base.readable import count, readable
from webcrawl.record.objectstore.storing import addresses_of_absent_files, notices_of_unread_files
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of, is_crawl
from webcrawl.store.jobdir.index_line import ARCHIVE
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import finished_names

FOLDER = "warc"


def absent_archives(argument: str) -> Iterator[str]:
    """Yield lines for the crawl or hive that the argument of a command names; none for others."""
    path = Path(argument)
    if not path.is_dir():
        return
    # a damaged state says nothing of archives, which can be read all the same
    with suppress(StoreError):
        for crawl in crawls_of(path.parent if path.name == FOLDER else path):
            yield from _absent_of(crawl)


def _absent_of(crawl: Path) -> Iterator[str]:
    yield from notices_of_unread_files(crawl, FOLDER, (ARCHIVE,))
    if not is_crawl(crawl):
        return
    in_store = addresses_of_absent_files(crawl)
    finished = JobDir(crawl).read(finished_names)
    archives = sorted(
        name for name in finished if name.startswith(f"{FOLDER}/") and name.endswith(ARCHIVE)
    )
    away = [name for name in archives if name not in in_store and not (crawl / name).exists()]
    if away:
        what = count(len(away), "finished archive file")
        yield f"{readable(str(crawl))}: {what} no longer here, and left out ({away[0]}{', …' * (len(away) > 1)})"
