"""How much of an archive counts that its crawl is still writing: what the crawl's last checkpoint has of it.

A crawl that is killed fetches again what is behind that, perhaps into a file of another name: whoever had read it here
would have those pages twice.
"""

from __future__ import annotations

import logging
from pathlib import Path

from webcrawl.store.jobdir.crawls import is_crawl, is_locked
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.outputs import length_of, lengths
from webcrawl.store.output import OPEN

logger = logging.getLogger(__name__)


def counted_bytes(path: Path) -> int | None:
    """The bytes that count; None: all, of a finished file, and of any that lies in no crawl's folder.

    StoreError: the crawl's state cannot be read.
    """
    path = path.resolve()
    jobdir = path.parent.parent
    if not path.name.endswith(OPEN) or not is_crawl(jobdir):
        return None
    noted, name = JobDir(jobdir).read(lengths), path.relative_to(jobdir).as_posix()
    return length_of(name, noted) or 0


def tell_left(path: Path, size: int) -> None:
    """Logs what becomes of so many bytes that do not count."""
    if is_locked(path.resolve().parent.parent):
        logger.info("%s: its crawl runs: %d bytes are left for later, as no checkpoint has them yet", path, size)
    else:
        why = "its crawl was killed, or failed, and does those pages again when it is resumed"
        logger.warning("%s: its last %d bytes are left out: %s", path, size, why)
