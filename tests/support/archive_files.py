"""Archive files as other programs write them, from records given as text."""

import gzip
import struct
import zlib

from webcrawl.base.zstd_frame import pack_checked
from webcrawl.base.zstd_frame import zstd as binding
from webcrawl.record.warc.reader import RecordReader


def record(kind, url="", block=b"", version="1.1", line_ends=b"\r\n\r\n", **fields):
    """One record; `fields` have underscores for hyphens, and None leaves one out."""
    named = {
        "WARC-Type": kind,
        "WARC-Target-URI": url or None,
        "WARC-Date": "2026-01-02T03:04:05Z",
        "Content-Length": str(len(block)),
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    lines = [
        f"WARC/{version}",
        *(f"{name}: {value}" for name, value in named.items() if value is not None),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + line_ends


def response(url, body=b"<p>hello", head="Content-Type: text/html", status=200, **fields):
    """An HTTP response; `head` are its header lines."""
    block = f"HTTP/1.1 {status} OK\r\n{head}\r\n\r\n".encode() + body
    given = {
        "Content_Type": "application/http; msgtype=response",
        "WARC_Record_ID": f"<urn:test:{url}>",
        **fields,
    }
    return record("response", url, block, **given)


def gzipped(records):
    """A member per record."""
    return b"".join(gzip.compress(one, mtime=0) for one in records)


def one_gzip(records):
    return gzip.compress(b"".join(records), mtime=0)


def torn_gzip(records, size=300):
    """Members that begin and end anywhere."""
    data = b"".join(records)
    return b"".join(
        gzip.compress(data[at : at + size], mtime=0) for at in range(0, len(data), size)
    )


def plain(records):
    return b"".join(records)


def zstd(records):
    """A frame per record."""
    return b"".join(map(pack_checked, records))


def one_zstd(records):
    return pack_checked(b"".join(records))


def zstd_with_dictionary(records, *, packed=False):
    """As ArchiveTeam's tools write it: the dictionary in a frame that others skip, then a frame per
    record.
    """
    data = b"".join(records)
    samples = [data[at : at + 100] for at in range(0, len(data) - 100, 3)]
    dictionary = binding.train_dict(samples, 2048)
    raw = dictionary.dict_content
    raw = binding.compress(raw) if packed else raw
    options = {binding.CompressionParameter.checksum_flag: 1}
    frames = (binding.compress(one, options=options, zstd_dict=dictionary) for one in records)
    return b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw + b"".join(frames)


def read(path, most=1 << 20, place=None):
    """All records of a file, and what was lost."""
    lost = []
    with RecordReader(path, most, lost.append, place) as records:
        return list(records), lost


def member(
    data,
    *,
    flags=0,
    time=0,
    level=0,
    system=255,
    extra=b"",
    name=b"",
    comment=b"",
    checked=False,
    crc=0,
):
    """A gzip member by RFC 1952, with these fields in its header; `crc` spoils the header's
    checksum.
    """
    flags |= 2 * checked | 4 * bool(extra) | 8 * bool(name) | 16 * bool(comment)
    head = b"\x1f\x8b\x08" + struct.pack("<BIBB", flags, time, level, system)
    head += struct.pack("<H", len(extra)) + extra if extra else b""
    head += b"".join(text + b"\0" for text in (name, comment) if text)
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF ^ crc) if checked else b""
    packer = zlib.compressobj(wbits=-15)
    return (
        head
        + packer.compress(data)
        + packer.flush()
        + struct.pack("<II", zlib.crc32(data), len(data))
    )
