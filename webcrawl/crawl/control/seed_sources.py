"""Seeds that come by command: what a client names is made into what the crawl can open, elsewhere and later.

Standard input is spooled into JOBDIR first: written, synced and renamed before the crawl hears of it, so that a kill at
any moment leaves either no file that the crawl knows of or the whole of it. The crawl knows it by its place below
JOBDIR, which may be moved between two runs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from webcrawl.crawl.control.command import CommandError
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR, SeedError, is_url, list_paths

FOLDER = "seeds"
BLOCK = 1 << 16


def sources_of(words: Sequence[str], spool: Callable[[], str]) -> list[str]:
    """The sources in the words of `seeds`, as a crawl can open them; `spool` keeps standard input, and names it.

    CommandError if one of their lists cannot be read; then nothing is spooled.
    """
    given = [word for place, word in enumerate(words) if place or word != "add"]
    if given.count("-") > 1 or not given:
        raise CommandError("usage: seeds add SRC…; - is standard input, once")
    sources = [word if word == "-" else named(word) for word in given]
    return [spool() if source == "-" else source for source in sources]


def named(source: str) -> str:
    """SRC with whole paths, whatever folder the crawl runs in. CommandError if one of its lists cannot be read."""
    try:
        Seeds(source).close()
    except (SeedError, OSError) as error:
        raise CommandError(str(error)) from error
    return ",".join(path if is_url(path) else str(Path(path).absolute()) for path in list_paths(source))


def spooled(jobdir: Path, stream: IO[bytes]) -> str:
    """Writes all of the stream to a file of its own below JOBDIR; returns the name for the crawl.

    CommandError if there is nothing in it, or it cannot be written.
    """
    name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}.txt"
    try:
        with _folder(jobdir) as folder:
            _write(folder, name, stream)
    except OSError as error:
        raise CommandError(f"{jobdir / FOLDER}: {error.strerror or error}") from error
    return f"{BELOW_JOBDIR}{FOLDER}/{name}"


def forget(jobdir: Path, name: str) -> None:
    """Removes what was spooled: the crawl does not want it."""
    with contextlib.suppress(OSError):
        (jobdir / name.removeprefix(BELOW_JOBDIR)).unlink()


@contextmanager
def _folder(jobdir: Path) -> Iterator[int]:
    """Follows no link, for whoever commands a crawl may have more rights than who runs it."""
    with contextlib.suppress(FileExistsError):
        (jobdir / FOLDER).mkdir()
    folder = os.open(jobdir / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _write(folder: int, name: str, stream: IO[bytes]) -> None:
    part = f".{name}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            shutil.copyfileobj(stream, file, BLOCK)
            _must_have_some(file.tell())
            file.flush()
            os.fsync(descriptor)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise
    os.fsync(folder)


def _must_have_some(size: int) -> None:
    if not size:
        raise CommandError("standard input: no seeds")
