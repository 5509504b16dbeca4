"""Looks up single records of an archive, by the places that a table names."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Self

from webcrawl.store.output import OPEN
from webcrawl.store.regular import regular
from webcrawl.verify.members import Member, Torn

PIECE = 1 << 18
HEAD = 1 << 20  # bytes of a record's fields at most
TYPES = (b"response", b"revisit", b"resource", b"conversion", b"metadata")  # the last of what is withheld
FIELD = re.compile(rb"^(WARC-Type|WARC-Date|WARC-Payload-Digest): (.*)\r$", re.MULTILINE)


class Records:
    """The archive's files, one open at a time: places come in the order in which they were written."""

    def __init__(self, jobdir: Path, damaged: Collection[Path]) -> None:
        self._folder, self._damaged = jobdir / "warc", damaged
        self._name = ""
        self._file: BinaryIO | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def odd(self, name: str, offset: int, length: int, time: datetime, digest: str | None) -> str:
        """What is wrong with this place, if anything is. Of a file that is damaged or not here nothing is."""
        file = self._of(name)
        if file is None:
            return ""
        try:
            member = Member(file, offset, offset + length)
            fields = dict(FIELD.findall(member.until(b"\r\n\r\n", HEAD)))
            while member.read(PIECE):
                pass
        except Torn as torn:
            return f"{name} has no record at byte {offset}: {torn}"
        kind, date = fields.get(b"WARC-Type"), fields.get(b"WARC-Date", b"-").rstrip(b"Z")  # WARC 1.0: whole seconds
        fetched = time.isoformat(timespec="milliseconds").encode()
        if member.next != offset + length or kind not in TYPES or not fetched.startswith(date):
            return f"{name} has another record at byte {offset}"
        theirs = fields.get(b"WARC-Payload-Digest")  # none with a transfer coding
        if kind != b"conversion" and theirs is not None and theirs.decode() != f"sha1:{digest}":
            return f"{name} has another payload at byte {offset}"
        return ""

    def _of(self, name: str) -> BinaryIO | None:
        if name != self._name:
            self._open.close()
            self._name = name
            paths = [path for path in (self._folder / name, self._folder / f"{name}{OPEN}") if path.exists()]
            sound = [path for path in paths if path not in self._damaged]
            self._file = self._open.enter_context(regular(sound[0])) if sound else None
        return self._file
