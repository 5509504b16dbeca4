"""Names the finished archive files of a crawl that are not in its folder any more.

They were uploaded to a store, or their owner has moved them away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
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
    """Yield lines on each crawl that lacks archive files.

    `argument` is an argument of a command: a crawl, a hive, or its folder of archives. Any other
    argument yields nothing.
    """
    path = Path(argument)
    if not path.is_dir():
        return
    # The archive of a crawl with a damaged state can be read all the same.
    with suppress(StoreError):
        for crawl in crawls_of(path.parent if path.name == FOLDER else path):
            yield from _absent_from(crawl)


def _absent_from(crawl: Path) -> Iterator[str]:
    """Yield a line on the files in a store, and one on those that are neither here nor there."""
    yield from notices_of_unread_files(crawl, FOLDER, (ARCHIVE,))
    if not is_crawl(crawl):
        return
    in_store = addresses_of_absent_files(crawl)
    archives = JobDir(crawl).read(partial(finished_names, pattern=f"{FOLDER}/*{ARCHIVE}"))
    missing = sorted(name for name in archives.difference(in_store) if not (crawl / name).exists())
    if missing:
        files = count(len(missing), "finished archive file")
        examples = f"{missing[0]}, …" if len(missing) > 1 else missing[0]
        yield f"{readable(str(crawl))}: {files} no longer here, and left out ({examples})"
