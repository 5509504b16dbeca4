"""Records that must be sound, each a gzip member by itself, whatever the member's header says beside."""

import pytest

from tests.support.archive_files import member
from webcrawl.record.warc.reader import sound_records
from webcrawl.record.warc.unpacking import Torn

RECORD = b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
HEADERS = {
    "time": {"time": 1732181845},
    "text, level and system": {"flags": 1, "level": 2, "system": 3},
    "extra": {"extra": b"sl\4\0\1\2\3\4"},
    "name": {"name": b"a.warc"},
    "comment": {"comment": b"by another program"},
    "checksum": {"checked": True},
}


def archive(**header):
    """Three records, the second one empty."""
    return [member(RECORD % (len(block), block), **header) for block in (b"first" * 5000, b"", b"last")]


@pytest.fixture(name="read")
def _read(tmp_path):
    def read(data):
        """Place and length of each record."""
        path = tmp_path / "a.warc.gz"
        path.write_bytes(data)
        with path.open("rb") as file:
            return [(one.place.offset, one.length) for one in sound_records(path, file, 99, 0, len(data))]

    return read


@pytest.mark.parametrize("name", HEADERS)
def test_members_of_other_programs(read, name):
    """Records are found behind any valid header (RFC 1952 2.3), each with its place and length."""
    made = archive(**HEADERS[name])
    lengths = [len(one) for one in made]

    assert read(b"".join(made)) == [(sum(lengths[:number]), length) for number, length in enumerate(lengths)]


def test_a_header_with_a_wrong_checksum(read):
    """A header that has a checksum is compared with it."""
    with pytest.raises(Torn):
        read(b"".join(archive(checked=True, crc=1)))


@pytest.mark.parametrize("name", HEADERS)
def test_a_file_that_is_cut(read, name):
    """A file that ends within a record is damaged, wherever it ends."""
    (whole, *_) = archive(**HEADERS[name])
    for length in (*range(1, 40), len(whole) - 1):
        with pytest.raises(Torn):
            read(whole[:length])


def test_other_packings(read):
    """A file that is not packed, and two records in one member, are refused: an index names members."""
    both = [RECORD % (4, b"some"), RECORD % (0, b"")]
    for data in (b"".join(both), member(b"".join(both))):
        with pytest.raises(Torn):
            read(data)
