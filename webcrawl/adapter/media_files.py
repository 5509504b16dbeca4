"""Files of Scrapy's media pipelines get their names when they are whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from scrapy.pipelines.files import FilesPipeline, FSFilesStore
from scrapy.pipelines.media import MediaPipeline

# What our machine lacks. A name that is too long, for example, is the file's own fault
LACKS = frozenset(
    (
        errno.EDQUOT,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EROFS,
    )
)


class WholeFilesStore(FSFilesStore):
    """Scrapy's store in a local folder, in which no file is ever a piece.

    A file that is there counts as downloaded. Scrapy's own store writes to it directly, so after a
    kill or on a full disk a piece remained, and the next run delivered that.
    """

    def __init__(self, basedir: str, fail: Callable[[Exception], None]) -> None:
        """`fail` ends the crawl, for an error of the disk: items would lack their files."""
        super().__init__(basedir)
        self._fail = fail

    def persist_file(
        self,
        path: str | os.PathLike[str],
        buf: BytesIO,
        info: MediaPipeline.SpiderInfo,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Write the file under a name of its own, and rename it."""
        file = Path(self.basedir, *os.fspath(path).split("/"))
        # In the same folder, since a rename does not leave the disk. Several crawls may share it.
        folder = os.fspath(path).rpartition("/")[0]
        new = f".{secrets.token_hex(8)}.new"
        new_file = file.with_name(new)
        try:
            super().persist_file(f"{folder}/{new}" if folder else new, buf, info, meta, headers)
            new_file.replace(file)
        except BaseException as error:
            with contextlib.suppress(OSError):  # the first error is the one to report
                new_file.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.errno in LACKS:
                self._fail(OSError(error.errno, error.strerror, str(file)))
            raise


def keep_files_whole(pipeline: object, fail: Callable[[Exception], None]) -> None:
    """Give a media pipeline this store, if it has Scrapy's own for local folders."""
    if isinstance(pipeline, FilesPipeline) and type(pipeline.store) is FSFilesStore:
        pipeline.store = WholeFilesStore(pipeline.store.basedir, fail)
