"""Batches: on the wire, and each exact one handled once."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.saving import prepared
from webcrawl.base import zstd_frame
from webcrawl.base.model import Link
from webcrawl.base.zstd_frame import zstd
from webcrawl.crawl.hive.batch import (
    CRC,
    EXACT_KINDS,
    HEAD,
    MAGIC,
    MAX_ITEMS_BYTES,
    VERSION,
    Batch,
    BatchTooLarge,
    Inbox,
    Kind,
    hive_id,
    pack_batch,
    unpack_batch,
)
from webcrawl.crawl.hive.errors import ForeignMessage, HiveError
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.rowcrc import crc32_of_many

HIVE, OTHER = b"sixteen bytes 16", b"another sixteen!"
LINKS = [
    Link("http://a.test/1", "LL", "http://b.test/", "http://c.test/").pack(),
    Link("http://a.test/\xe4").pack(),
]
BATCH = pack_batch(Batch(Kind.LINKS, 3, 7, 0, LINKS), HIVE)

words = st.text(st.characters(blacklist_categories=("Cc", "Zs", "Zl", "Zp", "Cs")), max_size=8)
links = st.builds(Link, words, words, words, words, st.integers(0, 9), words, words, words).map(
    Link.pack
)
names = st.text() | st.binary()
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | names
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=9
)


@st.composite
def messages(draw):
    kind = draw(st.sampled_from(Kind))
    items = draw(st.lists(links | values, max_size=5))
    number, channel = draw(st.integers(1, 2**64 - 1)), draw(st.integers(1, 2**32 - 1))
    numbered = (number, items, channel) if kind in EXACT_KINDS else (0, items)
    return Batch(kind, draw(st.integers(0, 4095)), draw(st.integers(0, 2**32 - 1)), *numbered)


def sealed(
    items=b"\x90",
    *,
    kind=Kind.VOTES,
    sender=0,
    channel=0,
    number=0,
    count=0,
    frame=None,
    version=VERSION,
):
    """A batch of this hive with a sound checksum, whatever is in it."""
    frame = zstd_frame.pack(items) if frame is None else frame
    head = HEAD.pack(MAGIC, version, kind, sender, 1, channel, number, count, hive_id(HIVE))
    return head + CRC.pack(crc32_of_many(frame, crc32_of_many(head))) + frame


def refusal(data):
    """Why a batch is refused: one line."""
    with pytest.raises(ForeignMessage) as raised:
        unpack_batch(data, HIVE)
    assert "\n" not in str(raised.value)
    return str(raised.value)


class TestPacking:
    @given(messages())
    def test_a_message_comes_back(self, message):
        """What is packed is unpacked as the same message."""
        assert unpack_batch(pack_batch(message, HIVE), HIVE) == message

    def test_mappings_by_number(self):
        """The keys of a mapping may be numbers."""
        message = Batch(Kind.SLOT, 0, 1, 1, [{1: "one", b"2": {"three": 3.5}}], 1)

        assert unpack_batch(pack_batch(message, HIVE), HIVE) == message

    def test_text_of_any_page(self):
        """Lone surrogates, as pages may have them, come back."""
        message = Batch(Kind.VOTES, 0, 1, 0, [["a.test", "http://b.test/\ud800"]])

        assert unpack_batch(pack_batch(message, HIVE), HIVE) == message

    def test_links_of_a_page_are_small(self):
        """Links of one page take a few bytes each, because they are compressed together."""
        links = [
            Link(f"http://a.test/{n}", "L", "http://b.test/", "http://b.test/").pack()
            for n in range(256)
        ]

        assert len(pack_batch(Batch(Kind.LINKS, 0, 1, 0, links), HIVE)) < 256 * 10

    def test_the_key_is_not_on_the_wire(self):
        """A batch has a digest of the hive's key, not the key."""
        assert HIVE not in BATCH
        assert hive_id(HIVE) in BATCH

    @pytest.mark.parametrize("most", [100, MAX_ITEMS_BYTES])
    def test_a_batch_has_a_largest_size(self, most):
        """Items that take more than a batch may have are refused before they are compressed."""
        with pytest.raises(BatchTooLarge, match="1 items for another drone take") as raised:
            pack_batch(Batch(Kind.SLOT, 0, 1, 1, [bytes(most)], 1), HIVE, most)

        assert isinstance(raised.value, HiveError)


class TestRefusing:
    def test_another_hive(self):
        """A batch of another hive is refused, also one that this program could read."""
        assert refusal(pack_batch(Batch(Kind.LINKS, 0, 1, 0, LINKS), OTHER)).startswith(
            "it belongs to another hive"
        )

    def test_a_batch_of_another_version_is_refused_by_its_number(self):
        """A batch of another version is refused by its number, before anything else is compared."""
        assert "written in version 2" in refusal(sealed(version=2))

    def test_a_truncated_batch(self):
        """A batch that is truncated anywhere is refused; one that begins as a batch does is not
        said to begin otherwise.
        """
        for length in range(len(BATCH)):
            assert ("does not begin like a batch" in refusal(BATCH[:length])) is (
                length < len(MAGIC)
            )

    def test_more_bytes(self):
        """Bytes behind a batch are damage."""
        assert "checksum" in refusal(BATCH + b"\0")

    def test_a_flipped_bit(self):
        """Each flipped bit is noticed."""
        for bit in range(8 * len(BATCH)):
            damaged = bytearray(BATCH)
            damaged[bit // 8] ^= 1 << bit % 8

            refusal(bytes(damaged))

    @given(st.binary(max_size=200))
    def test_bytes_that_are_no_batch_are_refused(self, data):
        """Bytes that are not a batch are refused."""
        refusal(data)

    @given(
        st.builds(
            sealed,
            st.binary(max_size=60)
            | values.map(msgpack.packb)
            | st.lists(values | links).map(msgpack.packb),
            kind=st.integers(0, 9),
            sender=st.integers(0, 2**16 - 1),
            channel=st.integers(0, 1),
            number=st.integers(0, 1),
            count=st.integers(0, 5),
            frame=st.none() | st.binary(max_size=60),
        )
    )
    def test_any_contents_with_a_sound_checksum(self, data):
        """Whatever the contents are, there is a message of a known kind with a list, or a refusal."""
        try:
            message = unpack_batch(data, HIVE)
        except ForeignMessage:
            return
        assert message.kind in Kind
        assert isinstance(message.items, list)
        assert (message.kind in EXACT_KINDS) == (message.number > 0)

    @pytest.mark.parametrize("size", [MAX_ITEMS_BYTES + 1, 1 << 30])
    def test_a_frame_above_16_mib_is_not_unpacked(self, size):
        """A frame that would unpack to more than 16 MiB is not unpacked."""
        bomb = b"".join((b"\xc6", size.to_bytes(4, "big"), bytes(size))) if size < 1 << 25 else None
        frame = zstd_frame.pack(bomb) if bomb else _claims(size)

        assert f"the zstd frame claims {len(bomb) if bomb else size} bytes, but at most" in refusal(
            sealed(frame=frame, count=1)
        )

    def test_a_frame_without_its_size(self):
        """A frame that does not say how large it is is not unpacked."""
        frame = zstd.compress(bytes(100), options={zstd.CompressionParameter.content_size_flag: 0})

        assert "does not state its size" in refusal(sealed(frame=frame))

    def test_a_frame_that_lies(self):
        """A frame with more than it says is refused."""
        refusal(sealed(frame=_claims(3)))

    def test_nested_items(self):
        """Arrays in arrays in arrays are refused before Python's stack ends."""
        refusal(sealed(b"\x91" * 100_000, count=1))

    def test_extensions(self):
        """Types of msgpack's users are not read."""
        assert "extension of type 5" in refusal(
            sealed(msgpack.packb([msgpack.ExtType(5, b"os.system")]), count=1)
        )

    @pytest.mark.parametrize("kind", [0, 7, 255])
    def test_unknown_kinds(self, kind):
        """A kind that this program does not know is named."""
        assert f"of kind {kind}" in refusal(sealed(kind=kind))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sender": 65_535},
            {"number": 1},
            {"channel": 1},
            {"kind": Kind.SLOT, "number": 1},
            {"kind": Kind.SLOT},
        ],
    )
    def test_heads_that_no_drone_writes(self, wrong):
        """A sender beyond the last number, an ordinary batch with a number and an exact one
        without are refused.
        """
        assert "which is impossible" in refusal(sealed(**wrong))

    @pytest.mark.parametrize("items", [{}, None, 5, b"links", ["one"], ["one", "two", "three"]])
    def test_another_number_of_items(self, items):
        """The items are a list, of the length that the head says."""
        assert "the number of its items" in refusal(sealed(msgpack.packb(items), count=2))


def _claims(size):
    """A frame that says it has this many bytes; it has 10,000."""
    frame = zstd_frame.pack(bytes(10_000))
    head = b"\x28\xb5\x2f\xfd\xe0" + size.to_bytes(8, "little")  # one segment, size in eight bytes
    return head + frame[4 + 1 + 2 :]


def plain(item, sender=1):
    return pack_batch(Batch(Kind.VOTES, sender, 1, 0, [item]), HIVE)


def exact(number, sender=1, channel=5):
    return pack_batch(
        Batch(Kind.SLOT, sender, 1, number, [f"{sender} {channel} {number}"], channel), HIVE
    )


class Job:
    """An inbox; `reopen` is what a kill leaves."""

    def __init__(self, folder):
        self.folder = folder
        self.open()

    def open(self):
        self.handled = []
        self.db = CrawlDB(self.folder)
        self.inbox = Inbox(self.db, HIVE, lambda message: self.handled.extend(message.items))

    def reopen(self):
        self.db.close()
        self.open()

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        self.inbox.committed()

    @property
    def at(self):
        return self.inbox.epoch, self.inbox.place, self.inbox.committed_place


@pytest.fixture(name="job")
def _job(tmp_path):
    job = Job(tmp_path / "state")
    yield job
    job.db.close()


class TestReceiving:
    def test_what_was_read_is_not_handled_again(self, job):
        """A place up to the present one was read; places compare as numbers."""
        job.inbox.receive("10-2", plain("one"))

        assert not job.inbox.receive("10-2", plain("one"))
        assert not job.inbox.receive("9-9", plain("two"))
        assert job.inbox.receive("10-10", plain("three"))
        assert job.handled == ["one", "three"]

    def test_who_waits_for_a_checkpoint(self, job):
        """It knows whose messages no checkpoint has yet; one that comes again is in one."""
        job.inbox.receive("1-0", plain("one", sender=1))
        job.inbox.receive("2-0", exact(1, sender=2))
        assert job.inbox.unsaved_senders == {1, 2}
        job.checkpoint()
        job.inbox.receive("3-0", exact(1, sender=2))
        assert job.inbox.unsaved_senders == set()

    @pytest.mark.parametrize(
        ("data", "expected"), [(exact(3), 2), (exact(2, channel=6), 1), (exact(2, sender=2), 1)]
    )
    def test_a_gap(self, job, data, expected):
        """A number that is not the next one means that messages were lost: one line, and nothing is
        passed over.
        """
        job.inbox.receive("1-0", exact(1))

        with pytest.raises(
            HiveError, match=f"but batch {expected} has not arrived: batches were lost"
        ):
            job.inbox.receive("2-0", data)
        assert (job.handled, job.inbox.place) == (["1 5 1"], "1-0")

    def test_a_foreign_message(self, job):
        """What is not of this hive is neither handled nor passed over."""
        with pytest.raises(ForeignMessage):
            job.inbox.receive("1-0", b"xadd")

        assert (job.handled, job.inbox.place) == ([], "0-0")


class TestCheckpoints:
    def test_nothing_new_is_not_written(self, job):
        """A checkpoint without messages writes nothing."""
        job.inbox.receive("1-0", plain("one"))
        job.checkpoint()
        job.db.set = None

        job.checkpoint()

    def test_an_epoch_that_ends_during_a_checkpoint(self, job):
        """A place of the former epoch is never acknowledged in the new one."""
        job.inbox.new_epoch("1")
        job.inbox.receive("9-0", plain("one"))
        job.db.checkpoint()
        job.inbox.new_epoch("2")

        job.inbox.committed()

        assert job.inbox.committed_place == "0-0"
