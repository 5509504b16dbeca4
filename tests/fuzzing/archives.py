"""Targets: WARC files of anybody, what their records say of downloads, and the packages that they
come in.
"""

import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzzing.target import Target, chance, folder
from tests.support.archive_files import gzipped, one_gzip, plain, record, response, torn_gzip, zstd
from webcrawl.base.model import unpack
from webcrawl.record.archived_answers import Answers, Unusable, captures
from webcrawl.record.warc.archive_files import archive_size, archives_in_package, open_archive
from webcrawl.record.warc.reader import NotWarc, RecordReader

URL = "http://a.test/"
ID = f"<urn:test:{URL}>"
MOST = 4000
WHOLE = [
    record("warcinfo", block=b"software: x\r\n"),
    response(URL, b"<p>hello" * 30),
    record("metadata", URL, b"via: http://b.test/\r\nhopsFromSeed: L\r\n", WARC_Concurrent_To=ID),
    response(
        f"{URL}2", b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked", WARC_Refers_To=ID
    ),
    record("resource", "ftp://a.test/x", b"text", Content_Type="text/plain"),
]
NAMES = ("x.warc.gz", "x.warc", "x.warc.zst")


def archive(data: bytes) -> None:
    """Records come or it is no archive; each is bounded, and leads to the same rest when reading
    begins at it.
    """
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:  # noqa: S108 - no disk
        path = Path(place) / chance(data).choice(NAMES)
        path.write_bytes(data)
        lost: list[object] = []
        try:
            with RecordReader(path, MOST, lost.append) as reader:
                records = list(reader)
        except NotWarc:
            return
        assert all(len(one.block) <= min(MOST, one.size) for one in records)
        if not reader._is_packed:  # a packed file holds more bytes than it has
            assert len(records) + len(lost) <= len(data)
        if not records:
            return
        at = chance(data).randrange(len(records))
        with RecordReader(path, MOST, lost.append, records[at].place) as reader:
            assert [(one.fields, one.block) for one in reader] == [
                (one.fields, one.block) for one in records[at:]
            ]
        with RecordReader(path, MOST, lost.append) as reader:
            _read(reader)


def _read(reader: RecordReader) -> None:
    for capture in captures(reader, lambda *_: None):
        try:
            link, exchange = Answers(MOST // 4).read(capture)
        except Unusable:
            continue
        assert len(exchange.body) <= MOST // 4
        assert unpack(link.pack()) == link


def package(data: bytes) -> None:
    """Nothing but the package itself is read, and of a file in it no more than the package has."""
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:  # noqa: S108 - no disk
        path = Path(place) / "x.wacz"
        path.write_bytes(data)
        try:
            found = archives_in_package(path, NAMES)
        except OSError:
            return
        for one in found:
            assert one.is_relative_to(path)
            try:
                with open_archive(one) as file:
                    assert len(file.read(MOST)) <= min(len(data), max(archive_size(one), 0))
            except OSError:
                continue


def _package(*names: str) -> bytes:
    """One archive under each of these names."""
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name in names:
            file.writestr(name, b"WARC/1.1\r\n")
    return whole.getvalue()


def _collected() -> list[bytes]:
    real = folder("warc")
    return (
        []
        if real is None
        else [path.read_bytes() for path in sorted((real / "files").rglob("*.warc*"))]
    )


TARGETS = [
    Target(
        "archive",
        archive,
        [form(WHOLE) for form in (plain, gzipped, one_gzip, torn_gzip, zstd)],
        [
            b"WARC/1.0\r\n",
            b"Content-Length: ",
            b"\r\n\r\n",
            b"\x1f\x8b\x08",
            b"\x28\xb5\x2f\xfd",
            b"\x5d\x2a\x4d\x18",
        ],
        _collected,
    ),
    Target(
        "package",
        package,
        [
            _package("archive/x.warc"),
            _package("é/x.warc", "a/x.warc.gz"),
            _package("/x.warc"),
            _package("../x.warc"),
        ],
        [b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\xff\xff\xff\xff", b"../", b"/"],
    ),
]
