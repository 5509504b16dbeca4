"""A strict reader of WARC files, written for tests from the standard alone: every violation is an
AssertionError.
"""

import base64
import hashlib
import re
import zlib
from dataclasses import dataclass

UUID = re.compile(r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>")
DATE = {
    "1.1": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    "1.0": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
}
FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+): (\S(?:.*\S)?)")
MANDATORY = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"}
REPEATED = {"WARC-Concurrent-To", "WARC-Protocol"}


@dataclass
class Record:
    """One record; `fields` has the last value of each field."""

    kind: str
    fields: dict
    block: bytes
    version: str

    @property
    def id(self):
        return self.fields["WARC-Record-ID"]

    @property
    def about(self):
        """The block as named fields."""
        return read_fields(self.block)


def read_fields(data):
    """Lines of named fields, none folded, none repeated except where the standard allows it."""
    found = {}
    lines = data.split(b"\r\n")
    assert lines.pop() == b""
    for line in lines:
        match = FIELD.fullmatch(line.decode())
        assert match is not None, line
        assert match[1] not in found or match[1] in REPEATED, line
        found[match[1]] = match[2]
    return found


def members(data):
    """The gzip members, decompressed."""
    while data:
        unpacker = zlib.decompressobj(31)
        yield unpacker.decompress(data)
        assert unpacker.eof, "the last member is truncated"
        data = unpacker.unused_data


def read(path):
    """The records of a file: one per member, with its mandatory fields, correct length and correct
    block digest.
    """
    return [one_record(data) for data in members(path.read_bytes())]


def one_record(data):
    """The single record that these bytes are."""
    head, _, rest = data.partition(b"\r\n\r\n")
    first, _, lines = head.partition(b"\r\n")
    version = first.decode().removeprefix("WARC/")
    found = read_fields(lines + b"\r\n")
    assert set(found) >= MANDATORY
    assert UUID.fullmatch(found["WARC-Record-ID"])
    assert DATE[version].fullmatch(found["WARC-Date"])
    length = int(found["Content-Length"])
    assert rest[length:] == b"\r\n\r\n"
    assert found["WARC-Block-Digest"] == digest(rest[:length])
    assert ("Content-Type" in found) == bool(length)
    return Record(found["WARC-Type"], found, rest[:length], version)


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()
