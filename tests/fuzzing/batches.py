"""Target: what drones of a hive send each other."""

from tests.fuzzing.target import Target
from webcrawl.crawl.hive.batch import (
    CRC,
    EXACT_KINDS,
    HEAD,
    HEAD_BYTES,
    Batch,
    Kind,
    pack_batch,
    unpack_batch,
)
from webcrawl.crawl.hive.errors import ForeignMessage
from webcrawl.store.rowcrc import crc32_of_many

HIVE = b"sixteen bytes 16"
LINK = b"http://a.test/1 LL http://b.test/ http://c.test/ 0   "


def batch(data: bytes) -> None:
    """A message that packs, or one line; also with a sound checksum, behind which damage is seldom
    looked for.
    """
    for one in (data, data[: HEAD.size] + CRC.pack(_sum(data)) + data[HEAD_BYTES:]):
        try:
            message = unpack_batch(one, HIVE)
        except ForeignMessage as error:
            lines = str(error).splitlines()
            assert len(lines) == 1
            continue
        assert isinstance(message.items, list)
        assert (message.kind in EXACT_KINDS) == (message.number > 0) == (message.channel > 0)
        packed = pack_batch(message, HIVE)
        # NaN is not equal to itself
        assert pack_batch(unpack_batch(packed, HIVE), HIVE) == packed


def _sum(data: bytes) -> int:
    return crc32_of_many(data[HEAD_BYTES:], crc32_of_many(data[: HEAD.size]))


SEEDS = [
    pack_batch(Batch(Kind.LINKS, 3, 7, 0, [LINK, LINK]), HIVE),
    pack_batch(Batch(Kind.QUEUED, 0, 1, 9, [LINK], 5), HIVE),
    pack_batch(Batch(Kind.VOTES, 1, 1, 0, [["a.test", "http://b.test/"]]), HIVE),
    pack_batch(
        Batch(Kind.ROBOTS, 2, 1, 0, [[LINK, 200, b"User-agent: *\n", None, [1.5, True]]]), HIVE
    ),
    pack_batch(Batch(Kind.SLOT, 2, 1, 1, [{"a": [1, -1, 2**40]}], 1), HIVE),
]
TOKENS = [
    b"WCHV\1",
    b"\x28\xb5\x2f\xfd",
    b"\x90",
    b"\x91",
    b"\xc4\0",
    b"\xdd\xff\xff\xff\xff",
    b"\xd6\xff\0\0\0\0",
    b" ",
]

TARGETS = [Target("batch", batch, SEEDS, TOKENS)]
