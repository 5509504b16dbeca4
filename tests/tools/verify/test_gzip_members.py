"""Where a gzip member begins and ends, whatever its header says beside."""

import io

import pytest

from tests.support.archive_files import member
from webcrawl.tools.verify.gzip_members import Member, Torn
from webcrawl.tools.wacz.warc_records import records

RECORD = b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
HEADERS = {
    "time": {"time": 1732181845},
    "text, level and system": {"flags": 1, "level": 2, "system": 3},
    "extra": {"extra": b"sl\4\0\1\2\3\4"},
    "name": {"name": b"a.warc"},
    "comment": {"comment": b"by another program"},
    "checksum": {"checked": True},
    "all": {"time": 1, "extra": bytes(30_000), "name": b"n" * 30_000, "comment": b"c" * 30_000, "checked": True},
}


def archive(**header):
    """Three records, the second one empty."""
    return [member(RECORD % (len(block), block), **header) for block in (b"first" * 5000, b"", b"last")]


def read(data):
    """Place and length of each record."""
    return [(record.at, record.length) for record in records(io.BytesIO(data), 0, len(data))]


@pytest.mark.parametrize("name", HEADERS)
def test_members_of_other_programs(name):
    """Records are found behind any valid header (RFC 1952 2.3), each with its place and length."""
    made = archive(**HEADERS[name])
    lengths = [len(one) for one in made]

    assert read(b"".join(made)) == [(sum(lengths[:number]), length) for number, length in enumerate(lengths)]


@pytest.mark.parametrize(
    "header", [{"flags": 32}, {"flags": 128}, {"checked": True, "crc": 1}, {"name": b"n" * 300_000}], ids=str
)
def test_headers_that_are_none(header):
    """Reserved flags, a wrong checksum and a name without end are damage."""
    with pytest.raises(Torn):
        read(b"".join(archive(**header)))


@pytest.mark.parametrize("name", HEADERS)
def test_the_end_of_the_file_within_a_header(name):
    """A header that is cut anywhere is damage, not an error of another kind."""
    (whole, *_) = archive(**HEADERS[name])
    for length in (*range(1, 40), 30_000, 60_000):
        if length < len(whole) - 8:
            with pytest.raises(Torn):
                read(whole[:length])


@pytest.mark.parametrize("name", HEADERS)
def test_our_own_headers_are_known_to_the_bit(name):
    """No checksum covers the header: in an archive of our own, whatever else stands there is damage."""
    (whole, *_) = archive(**HEADERS[name])

    with pytest.raises(Torn):
        Member(io.BytesIO(whole), 0, len(whole))
