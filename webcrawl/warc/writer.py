"""The archive of a crawl: warc/*.warc.gz below JOBDIR, one file open at a time (docs/warc.md)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random

from webcrawl.model import Exchange, Link
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import OPEN, Output, Outputs
from webcrawl.text.dates import iso
from webcrawl.text.digest import label, sha1
from webcrawl.warc.capture import Captures
from webcrawl.warc.fields import fields, named
from webcrawl.warc.originals import Originals
from webcrawl.warc.record import WARC_FIELDS, member

logger = logging.getLogger(__name__)

FOLDER = "warc"
STATE = "warc"  # in the database: the next serial number, and the file that is open
DRAWN = 64  # identifiers at once
# RFC 9562: the groups that a UUID is written in, and the six of its bits that are fixed in version 4.
_GROUPS = re.compile("(.{8})(.{4})(.{4})(.{4})(.{12})")
_DRAWN_BITS = int("ffffffffffff0fff3fffffffffffffff" * DRAWN, 16)
_FIXED_BITS = int("00000000000040008000000000000000" * DRAWN, 16)
STANDARD = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-{}/"


class WarcWriter:
    """Writes what was exchanged; a file of `max_size` bytes is finished after the capture that made it so.

    `random` must never repeat itself, in this crawl or another, for it makes the records' identifiers: outside of
    tests it is a SystemRandom. `info` goes into the warcinfo record at the head of every file.
    """

    def __init__(
        self,
        db: CrawlDB,
        outputs: Outputs,
        *,
        prefix: str,
        max_size: int,
        info: Mapping[str, str],
        random: Random,
        clock: Callable[[], float],
        version: str = "1.1",
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", prefix):
            raise ValueError(f"a WARC file's name cannot begin with {prefix!r}")
        self._db, self._outputs = db, outputs
        self._prefix, self._max_size, self._info = prefix, max_size, info
        self._new_id = identifiers(random).__next__
        self._clock, self._version = clock, version
        self._originals = Originals()
        self._captures = Captures(version, self._originals, self._new_id)
        self._output: Output | None = None
        self._warcinfo = ""  # the open file's
        self._serial = 0
        self._resume()

    def __repr__(self) -> str:
        return f"<WarcWriter serial={self._serial} {self._output!r}>"

    def write(self, link: Link, exchange: Exchange, *, duplicate: bool, metadata: Mapping[str, str]) -> None:
        """All records of the exchange, or an error and none of them.

        A `duplicate`, a body that was seen before, becomes a revisit if its payload is among those written lately;
        else it is written whole: an archive must not refer to what nobody can find in it.
        """
        output = self._output or self._begin()
        capture = self._captures.take(link, exchange, warcinfo=self._warcinfo, duplicate=duplicate, metadata=metadata)
        output.write(capture.data if output.tell() else self._head(output) + capture.data)
        if capture.is_original and exchange.payload and not exchange.truncated:
            self._originals.add(capture.digest, capture.identifier, capture.address, capture.date)
        if output.tell() >= self._max_size:
            self._finish(output)

    def close(self) -> None:
        """Finishes the open file; the next checkpoint notes it, and its name loses the `.open` after that."""
        if self._output is not None and self._output.tell():
            self._finish(self._output)

    # -- files

    def _resume(self) -> None:
        """A file left open by a crash is finished: what comes now may have other settings, and so another warcinfo."""
        state = self._db.get(STATE)
        if state is not None:
            serial, _, path = state.decode().partition(" ")
            self._serial = int(serial)
            if path:
                self._open(path)
            if self._output is not None and self._output.tell():
                self._finish(self._output)
        self._outputs.sweep(f"{FOLDER}/*.warc.gz{OPEN}")

    def _begin(self) -> Output:
        stamp = re.sub(r"\D", "", iso(self._clock(), fraction=False))
        output = self._open(f"{FOLDER}/{self._prefix}-{stamp}-{self._serial:05d}.warc.gz{OPEN}")
        self._serial += 1
        self._note(f"{FOLDER}/{output.path.name}")
        return output

    def _open(self, path: str) -> Output:
        self._output = self._outputs.open(path)
        self._warcinfo = self._new_id()
        return self._output

    def _finish(self, output: Output) -> None:
        output.finish()
        self._output = None
        self._note("")
        logger.info("%s: finished, %d bytes", output.path.name.removesuffix(OPEN), output.tell())

    def _note(self, path: str) -> None:
        self._db.set(STATE, f"{self._serial} {path}".encode())

    # -- records

    def _head(self, output: Output) -> bytes:
        """The warcinfo record. Written together with the first capture, so that no file holds nothing else."""
        about = {
            **named(self._info),
            "format": f"WARC File Format {self._version}",
            "conformsTo": STANDARD.format(self._version),
        }
        head = {
            "WARC-Record-ID": self._warcinfo,
            "WARC-Date": iso(self._clock(), fraction=self._version != "1.0"),
            "WARC-Filename": output.path.name.removesuffix(OPEN),
        }
        block = fields(about)
        return member(self._version, "warcinfo", fields(head).decode(), label(sha1(block)), WARC_FIELDS, block)


def identifiers(random: Random) -> Iterator[str]:
    """UUIDs of version 4; the kernel is asked once for so many."""
    while True:
        digits = f"{random.getrandbits(128 * DRAWN) & _DRAWN_BITS | _FIXED_BITS:0{32 * DRAWN}x}"
        for one, two, three, four, five in _GROUPS.findall(digits):
            yield f"<urn:uuid:{one}-{two}-{three}-{four}-{five}>"
