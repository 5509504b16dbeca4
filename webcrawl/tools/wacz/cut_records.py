"""Copies, for replay, of answers whose bodies are cut: their heads say how long the body is that is there.

pywb sends an archived Content-Length as it came. A browser waits for ever for what a cut body lacks of it. The archive
keeps the exact bytes of each head, so only the package has such copies, and its index names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from webcrawl.base.digest import label, sha1
from webcrawl.content.formats.sniffing import UNNAMED
from webcrawl.record.warc.check_archive import WITHHELD
from webcrawl.record.warc.reader import Record, sound_records
from webcrawl.record.warc.unpacking import Torn
from webcrawl.record.warc.warc_record import Record as Written
from webcrawl.record.warc.warc_record import member
from webcrawl.store.disk import regular
from webcrawl.store.jobdir.index_line import TRUNCATED, IndexLine, end, place, read

CUT, INDEX = "cut.warc.gz", "cut.cdxj"
MARK = TRUNCATED.encode()
ORIGINAL = b"X-Archive-Orig-Content-Length"  # as pywb calls what it replaces
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LENGTH = re.compile(rb"(?<=\n)content-length[ \t]*:[ \t]*(\d+)[ \t]*(?=\r?\n)", re.IGNORECASE)
_TRANSFER = re.compile(rb"\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_FIELDS = (
    *("WARC-Target-URI", "WARC-Date", "WARC-IP-Address", "WARC-Payload-Digest", "WARC-Identified-Payload-Type"),
    *("WARC-Profile", "WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Truncated"),
)


def mended(both: Iterable[tuple[Path, Path]], folder: Path, cut: Counter[str]) -> list[Path]:
    """Return the indexes of these archives, with the copies in place of the records that would not end.

    `cut` counts the answers with cut bodies by media type. Torn: an archive is not as its index says.
    """
    indexes, lines = [], []
    with (folder / CUT).open("wb") as out:
        for archive, index in both:
            kept, changed = folder / f"{index.name}.whole", False
            with regular(index) as given, kept.open("wb") as left:
                for line in given:
                    copy = b""
                    if MARK in line:
                        says = read(line)
                        record = _record(archive, says)
                        if record.kind != "revisit" and record.fields.get("warc-truncated") != WITHHELD:
                            cut[record.fields.get("warc-identified-payload-type", UNNAMED)] += 1
                        copy = _copy(record)
                    if copy:
                        lines.append(_line(line, says, len(copy), out.tell()))
                        out.write(copy)
                        changed = True
                    else:
                        left.write(line)
            indexes.append(kept if changed else index)
            if not changed:
                kept.unlink()
    if lines:
        (folder / INDEX).write_bytes(b"".join(sorted(lines)))
        indexes.append(folder / INDEX)
    return indexes


def _copy(record: Record) -> bytes:
    """Return the record with a mended head; nothing if its head promises no more than there is."""
    found = _END_OF_HEAD.search(record.block)
    if found is None:
        return b""
    head, body = record.block[: found.end()], record.block[found.end() :]
    length = _LENGTH.search(head)
    if length is None or _TRANSFER.search(head):
        return b""
    original = b"%s: %s" % (ORIGINAL, length[1])
    if record.kind == "revisit":  # the body is another record's: without a length it ends where that ends
        head = _LENGTH.sub(original, head)
    elif int(length[1]) > len(body):
        head = _LENGTH.sub(b"Content-Length: %d\r\n%s" % (len(body), original), head)
    else:
        return b""
    fields = "".join(f"{name}: {value}\r\n" for name, value in _kept(record))
    identifier = uuid5(NAMESPACE_URL, record.id)
    written = Written(
        record.kind,
        f"WARC-Record-ID: <urn:uuid:{identifier}>\r\n{fields}",
        "Content-Type: application/http; msgtype=response\r\n",
        head,
        body,
    )
    return member(written, label(sha1(head, body)))


def _record(archive: Path, says: IndexLine) -> Record:
    with regular(archive) as file:
        record = next(sound_records(archive, file, says.length << 10, says.offset, archive.stat().st_size), None)
    if record is None or record.size > len(record.block):
        raise Torn(f"no such record at byte {says.offset}")
    return record


def _kept(record: Record) -> Iterator[tuple[str, str]]:
    for name in _FIELDS:
        if value := record.fields.get(name.lower()):
            yield name, value


def _line(line: bytes, says: IndexLine, length: int, at: int) -> bytes:
    """Return the line of the record, with the place of its copy."""
    begin, digest, _ = line.decode().partition('"digest": ')
    if not digest:
        raise Torn(f"no digest in the line of the record at byte {says.offset}")
    return f"{begin}{place(says.digest, length, at)}{end(CUT)}".encode()
