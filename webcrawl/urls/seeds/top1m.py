"""Downloads seeds/top1m.csv, which is not in the repository, if it is named and missing."""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from contextlib import suppress
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    getproxies,
    proxy_bypass,
)

from webcrawl.base.program import program
from webcrawl.urls.seeds.seed_source import is_url, list_paths

NAME = ("seeds", "top1m.csv")
TIMEOUT = 30.0  # seconds without a byte
BLOCK = 1 << 16  # bytes read at a time
MOST = 1 << 30  # bytes, packed or not; the list has 10 MB packed, 22 MB unpacked
LONGEST = 1000  # bytes per line
ROW = re.compile(rb"[0-9]+,[^,\s]+\.[^,\s]+")

_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)


class CannotProvide(Exception):  # noqa: N818 - the name says what happened
    """The list could not be provided; the message is one line that says why."""


def provide(src: str, url: str) -> None:
    """Download each list in `src` that is seeds/top1m.csv and does not exist.

    Raise CannotProvide if that fails.
    """
    for name in list_paths(src):
        if is_url(name):
            continue
        path = Path(name)
        if path.parts[-2:] == NAME and not path.exists():
            _provide(path, url)


def _provide(path: Path, url: str) -> None:
    """Download and check the list, then move it: so a list that exists is complete and valid."""
    # Beside the list, so that `replace` moves it whole; by process, as two crawls may want it
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    packed = path.with_name(f"{path.name}.{os.getpid()}.packed")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _fetch(url, packed)
        _unpack(packed, new, url)
        _check(new, url)
        new.replace(path)
    except OSError as error:
        raise CannotProvide(f"{path}: cannot be written ({error.strerror or error})") from error
    except _Unusable as error:
        raise CannotProvide(
            f"{path} is missing, and {error}; put a list there, or try the crawler without a network: {program()} demo"
        ) from error
    finally:
        for left in (packed, new):
            with suppress(OSError):
                left.unlink()


class _Unusable(Exception):  # noqa: N818
    """An error in the download; the message is one line."""


def _fetch(url: str, path: Path) -> None:
    """Download the list to `path`, with a progress bar.

    Raise _Unusable if there is no connection, an error of the server, or too little or too much of
    a body.
    """
    try:
        request = Request(url, headers={"User-Agent": "webcrawl"})  # noqa: S310 - the user's setting
        answer: HTTPResponse = _opener(url).open(request, timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        raise _Unusable(f"cannot be downloaded: {url}: {error}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise _Unusable(
            f"cannot be downloaded: {url}: {getattr(error, 'reason', error)}"
        ) from error
    with answer, path.open("wb") as file:
        _copy(answer, file, url, getattr(answer, "length", 0) or 0)


def _opener(url: str) -> OpenerDirector:
    """Return what opens the URL through the environment's proxies. Raise _Unusable for SOCKS."""
    parts, proxies = urlsplit(url), getproxies()
    if "all" in proxies:  # which urllib does not know
        proxies = {**dict.fromkeys(("http", "https"), proxies["all"]), **proxies}
    proxy = proxies.get(parts.scheme, "")
    if proxy.lower().startswith("socks") and not proxy_bypass(parts.hostname or ""):
        raise _Unusable(f"cannot be downloaded: {url}: not through a SOCKS proxy")
    return build_opener(ProxyHandler(proxies))


def _copy(answer: HTTPResponse, file: IO[bytes], url: str, size: int) -> None:
    """Write the answer's body to the file, and show how far it is.

    `size`: its bytes, if the server has named them, else 0. Raise _Unusable if the body ends early
    or is too large.
    """
    from rich.console import Console  # noqa: PLC0415 - rich would cost every start 0.04 s
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(url, total=size or None)
        written = 0
        while block := _read(answer, url):
            written += file.write(block)
            bars.update(bar, completed=written)
            if written > MOST:
                raise _Unusable(f"{url} is larger than {MOST} bytes")
    if written < size:
        raise _Unusable(f"cannot be downloaded: {url}: ended after {written} of {size} bytes")


def _read(answer: HTTPResponse, url: str) -> bytes:
    try:
        return answer.read(BLOCK)
    except (OSError, HTTPException) as error:
        raise _Unusable(f"cannot be downloaded: {url}: {error}") from error


def _unpack(packed: Path, new: Path, url: str) -> None:
    """Unpack by content, not by name."""
    with packed.open("rb") as file:
        head = file.read(2)
    try:
        if head == b"PK":
            with zipfile.ZipFile(packed) as archive, archive.open(_member(archive, url)) as member:
                _write(member, new, url)
        elif head == b"\x1f\x8b":
            with gzip.open(packed) as stream:
                _write(stream, new, url)
        else:
            packed.replace(new)
    except _DAMAGE as error:
        raise _Unusable(f"{url} cannot be unpacked ({error})") from error


def _member(archive: zipfile.ZipFile, url: str) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise _Unusable(f"{url} holds {len(names)} files instead of one")
    return names[0]


def _write(source: IO[bytes] | gzip.GzipFile, new: Path, url: str) -> None:
    with new.open("wb") as file:
        while block := source.read(BLOCK):
            file.write(block)
            if file.tell() > MOST:
                raise _Unusable(f"{url} is larger than {MOST} bytes")


def _check(path: Path, url: str) -> None:
    """Check that each line is rank,domain, and that there are lines.

    Sync the file before it is moved into place.
    """
    with path.open("rb") as file:
        count = 0
        for count, line in enumerate(iter(partial(file.readline, LONGEST), b""), 1):
            if not ROW.fullmatch(line.rstrip(b"\r\n")):
                raise _Unusable(f"{url} is not a list of rank,domain (line {count}: {line[:40]!r})")
        if not count:
            raise _Unusable(f"{url} is empty")
        # A list that exists is taken for whole: its bytes go to the disk before its name
        os.fsync(file.fileno())
