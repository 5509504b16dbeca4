"""Where the record of an answer lies in the archive, how to print it, and what is in it."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from webcrawl.archives.answers import Answers, Unusable
from webcrawl.archives.answers import most as bytes_of
from webcrawl.archives.captures import Capture
from webcrawl.model import Exchange
from webcrawl.net.robots_lines import LIMIT
from webcrawl.warc.reader import NotWarc, Records
from webcrawl.warc.unpacking import Place
from webcrawl.why.index import Entry


def archived(jobdir: Path, entry: Entry, address: str | None = None) -> dict[str, Any]:
    """The place of a record, and the command that prints it; or the address where the file lies if it is not here."""
    path = jobdir / "warc" / entry.file
    found: dict[str, Any] = {
        "file": str(path),
        "offset": entry.offset,
        "length": entry.length,
        "date": entry.stamp,
        "status": entry.status or None,
        "mime": entry.mime or None,
        "digest": entry.digest or None,
    }
    if not path.exists():
        return found | {"missing": True, **({"stored": address} if address else {})}
    name = shlex.quote(str(path))
    return found | {"command": f"tail -c +{entry.offset + 1} {name} | head -c {entry.length} | gzip -dc"}


def exchange_of(jobdir: Path, entry: Entry, most: int = LIMIT) -> Exchange | None:
    """The answer of a record, its body up to `most` bytes; None if it cannot be read."""
    path = jobdir / "warc" / entry.file
    with suppress(OSError, NotWarc, Unusable):
        with Records(path, bytes_of(most), lambda _: None, Place(entry.offset, 0)) as records:
            record = records.next()
        if record is not None and record.place.offset == entry.offset:
            return Answers(most).read(Capture(record, record.place))[1]
    return None
