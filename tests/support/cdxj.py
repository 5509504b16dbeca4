"""What the index of an archive file must say, from the file alone."""

import json
import zlib

from tests.support.warc_reader import digest, one_record

INDEXED = ("response", "revisit", "resource", "conversion")


def placed(data):
    """Each record with its first byte and its length in the file."""
    at = 0
    while at < len(data):
        unpacker = zlib.decompressobj(31)
        record = one_record(unpacker.decompress(data[at:]))
        end = len(data) - len(unpacker.unused_data)
        yield record, at, end - at
        at = end


def places(path):
    """URL, time, digest if the record has it, length and offset of each record that belongs in the
    index.
    """
    found = []
    for record, at, length in placed(path.read_bytes()):
        if record.kind in INDEXED:
            fields = record.fields
            payload = fields.get("WARC-Payload-Digest")
            if record.kind == "conversion" and payload is None:
                payload = digest(record.block)
            when = "".join(filter(str.isdigit, fields["WARC-Date"]))[:14]
            found.append((fields["WARC-Target-URI"], when, payload, str(length), str(at)))
    return found


def entries(path):
    """The lines of an index as key, time and values; each line is well-formed."""
    found = []
    for line in path.read_text("ascii").splitlines():
        key, when, values = line.split(" ", 2)
        found.append((key, when, json.loads(values)))
    return found


def indexed(path):
    """The same of an index, in the order of the archive; all lines name the archive."""
    rows = sorted(entries(path), key=lambda row: int(row[2]["offset"]))
    name = path.name.removesuffix(".open").removesuffix(".cdxj") + ".warc.gz"
    assert {values["filename"] for _, _, values in rows} <= {name}
    return [
        (row["url"], when, row["digest"], row["length"], row["offset"]) for _, when, row in rows
    ]


def assert_index(archive):
    """The index beside a finished archive file is sorted and has each of its records once."""
    index = archive.with_name(archive.name.replace(".warc.gz", ".cdxj"))
    lines = index.read_bytes().splitlines()
    assert lines == sorted(lines)
    wanted, found = places(archive), indexed(index)
    assert [row[:2] + row[3:] for row in found] == [row[:2] + row[3:] for row in wanted]
    assert all(
        theirs in (None, ours)
        for (*_, ours, _, _), (*_, theirs, _, _) in zip(found, wanted, strict=True)
    )
