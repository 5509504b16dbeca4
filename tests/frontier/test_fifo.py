"""Disk FIFOs, rule by rule; test_fifo_machine.py tries them in every order."""

import gc
import random
import sys
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.fifo import INLINE, Blocks, Fifo, Pool
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.queue_row import (
    SavedFifo,
    bounds,
    count_records,
    frame,
    piece_end,
    unpack,
)


@pytest.fixture(name="blocks")
def _blocks(db):
    return Blocks(db)


def _push(fifo, records):
    for record in records:
        fifo.push(record)


def _drain(fifo):
    return list(iter(fifo.pop, None))


def _rows(db):
    return [number for (number,) in db.query("SELECT id FROM block ORDER BY id")]


URLS = [b"http://www.example.org/path/%d" % i for i in range(1000)]


@given(
    st.lists(st.sampled_from(["push", "pop", "spill", "save"]), max_size=60),
    st.integers(0, 40),
)
def test_the_first_records_are_seen_where_they_are(tmp_path_factory, steps, most):
    """`first` gives the next records as `pop` would, wherever they lie, and changes nothing."""
    db = CrawlDB(tmp_path_factory.mktemp("first"))
    try:
        pool, urls = Pool(Blocks(db), 4000, 300), iter(range(1000))
        fifo = pool.fifo()
        for step in steps:
            if step == "push":
                _push(fifo, [b"%d http://x/" % next(urls) for _ in range(7)])
            elif step == "pop":
                fifo.pop()
            elif step == "spill":
                fifo.spill()
            else:
                saved = fifo.save()
                fifo.close()
                fifo = pool.fifo(saved)
        before = (len(fifo), repr(fifo))
        found = fifo.first(most)
        assert (len(fifo), repr(fifo)) == before
        assert found == _drain(fifo)[:most]
    finally:
        db.close()


class TestBlocks:
    def test_a_missing_block_is_damage(self, blocks):
        """An id without a row raises DamagedFile."""
        with pytest.raises(DamagedFile, match="block 7 is missing"):
            blocks.get(7)

    def test_no_flipped_bit_changes_what_is_read(self, db, blocks):
        """After any bit flip, which SQLite does not notice, reading raises DamagedFile or returns
        the same bytes.
        """
        number = blocks.put(b"".join(URLS[:9]))
        data = bytes(db.query("SELECT data FROM block")[0][0])

        damaged = 0
        for bit in range(len(data) * 8):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            db.execute("UPDATE block SET data = ?", (bytes(flipped),))
            try:
                assert blocks.get(number) == b"".join(URLS[:9])
            except DamagedFile:
                damaged += 1

        assert damaged > len(data) * 7  # some bits of the frame's header have no meaning


class TestOrder:
    @pytest.mark.parametrize(
        "record", [b"", b"\n", b"\0", b"a\nb\r\n", bytes(range(256)), b"x" * (1 << 20)]
    )
    def test_a_record_is_any_bytes(self, blocks, record):
        """Empty, with newlines, a mebibyte long: a record comes out as the same bytes."""
        fifo = Pool(blocks, 1000).fifo()
        _push(fifo, [record, b"between", record])

        assert _drain(fifo) == [record, b"between", record]

    def test_a_text_is_refused_and_leaves_no_trace(self, blocks):
        """Pushing a str raises TypeError and leaves the queue unchanged."""
        fifo = Pool(blocks, 1000).fifo()
        fifo.push(b"a")
        with pytest.raises(TypeError):
            fifo.push("text")

        assert _drain(fifo) == [b"a"]


class TestMemory:
    def test_an_empty_queue_is_small(self, blocks):
        """An empty queue takes at most 250 bytes, garbage collector overhead included: there may be
        100,000 of them.
        """
        pool = Pool(blocks, 1000)
        one, other = pool.fifo(), pool.fifo()

        assert sys.getsizeof(one) <= 250
        # it holds nothing but what all empty queues share
        assert {*map(id, gc.get_referents(one))} == {*map(id, gc.get_referents(other))}

    def test_heads_popped_by_turns_are_pieces_that_all_fit(self, blocks):
        """Many queues popped in turn read a block once for several records, not once per record."""
        pool = Pool(blocks, 50_000)
        fifos = [pool.fifo() for _ in range(200)]
        for i in range(40):
            for fifo in fifos:
                fifo.push(URLS[i])
        read = _count_reads(blocks)
        for i in range(40):
            for fifo in fifos:
                assert fifo.pop() == URLS[i]

        assert len(read) < 200 * 40 / 2

    def test_a_head_in_use_stays(self, blocks):
        """A head is released when nothing was popped from it between two visits of the hand."""
        pool = Pool(blocks, 4000, block=900)
        fifo = pool.fifo()
        _push(fifo, URLS)
        stayed = []
        for pops in (1, 0, 1, 1, 0):
            for _ in range(pops):
                fifo.pop()
            fifo.forget_head()
            stayed.append(pool.loaded == 1)

        assert stayed == [True, False, True, True, False]
        assert _drain(fifo) == URLS[3:]

    def test_heads_need_no_memory_either(self, blocks):
        """With no memory, queues release each other's heads, and `relieve` ends although there are
        no tails.
        """
        saved = []
        for _ in range(2):
            fifo = Pool(blocks, 1 << 20).fifo()
            _push(fifo, URLS)
            saved.append(fifo.save())
        first, second = map(Pool(blocks, 0).fifo, saved)

        assert [first.pop(), second.pop(), first.pop(), second.pop()] == [
            URLS[0],
            URLS[0],
            URLS[1],
            URLS[1],
        ]

    def test_a_large_tail_gives_way_before_small_ones(self, db, blocks):
        """When memory is short, tails below the average stay: blocks of single records would be the
        most expensive.
        """
        pool = Pool(blocks, 10_000)
        small, large = [pool.fifo() for _ in range(20)], pool.fifo()
        for fifo in small:
            fifo.push(b"x")
        _push(large, URLS)

        assert all(fifo.in_memory for fifo in small)
        assert len(_rows(db)) > 1

    def test_the_owner_hears_of_a_spill_that_it_did_not_cause(self, blocks):
        """When a queue is spilled to make room for another, `on_spill` is called: its saved form is
        stale.
        """
        pool, told = Pool(blocks, 3000), []
        pool.on_spill = told.append
        quiet, loud = pool.fifo(), pool.fifo()
        quiet.owner, loud.owner = "quiet", "loud"
        quiet.push(b"x" * 1600)
        _push(loud, [b"y" * 500] * 10)

        assert "quiet" in told


class TestSaving:
    @pytest.mark.parametrize("count", [0, 1, 100, 1000])
    def test_what_is_saved_is_small(self, blocks, count):
        """A tail of more than a few KB goes into a block, so that the saved form stays small."""
        fifo, chance = Pool(blocks, 1 << 20).fifo(), random.Random(3)
        _push(fifo, [chance.randbytes(30) for _ in range(count)])

        assert len(fifo.save()) <= INLINE + 100

    def test_a_small_descriptor_lies_as_it_is(self, blocks):
        """A few bytes are stored uncompressed: the numbers, then the records."""
        fifo = Pool(blocks, 1 << 20).fifo()
        _push(fifo, [b"ab", b"c"])

        assert fifo.save() == b"\0" + (2).to_bytes(8, "little") + bytes(12) + b"\x02ab\x01c"

    @pytest.mark.parametrize(
        "saved",
        [b"", bytes(20), b"\7" + bytes(20), b"\1" + bytes(20), bytes(17) + b"\x09\0\0\0abc"],
    )
    def test_a_damaged_descriptor_is_refused(self, blocks, saved):
        """An impossible saved form raises DamagedFile."""
        with pytest.raises(DamagedFile):
            Pool(blocks, 1000).fifo(saved)

    def test_a_place_beyond_the_block_is_damage(self, blocks):
        """A read position behind the block's end raises DamagedFile."""
        ids = array("Q", [blocks.put(frame(b"a"))])
        fifo = Pool(blocks, 0).fifo(SavedFifo(1, 99, ids, b"").pack())

        with pytest.raises(DamagedFile, match="continues at byte 99"):
            fifo.pop()


class TestCheck:
    def test_a_missing_block_is_found(self, db, blocks):
        """Check names the missing block."""
        fifo = Pool(blocks, 1 << 20, block=700).fifo()
        _push(fifo, URLS)
        db.execute("DELETE FROM block WHERE id = 3")

        assert ["block 3" in str(damage) for damage in fifo.check()] == [True]

    def test_a_wrong_place_is_found(self, blocks):
        """Check notices a read position inside a record."""
        pool = Pool(blocks, 1 << 20, block=700)
        fifo = pool.fifo()
        _push(fifo, URLS)
        saved = unpack(fifo.save(), blocks)
        wrong = pool.fifo(replace(saved, place=saved.place + 1).pack())

        assert ["inside a record" in damage.why for damage in wrong.check()] == [True]

    def test_a_wrong_count_is_found(self, blocks):
        """Check counts the records."""
        fifo = Pool(blocks, 1 << 20, block=700).fifo()
        _push(fifo, URLS)
        fifo.count += 1

        assert [damage.why for damage in fifo.check()] == [
            "a queue should hold 1001 records, but has 1000"
        ]

    def test_a_repr_says_where_the_records_are(self, blocks):
        """The reprs of queue, pool and blocks show where the records are."""
        pool = Pool(blocks, 1 << 20, block=1000)
        fifo = pool.fifo()
        _push(fifo, [b"x" * 99] * 25)
        fifo.pop()

        assert repr(fifo) == "<Fifo 24 records, 2 blocks, 503 bytes in memory only>"
        assert repr(pool) == "<Pool 1 queues, 1503 of 1048576 bytes, 1 heads of 1000>"
        assert repr(blocks).endswith("next=3>")


RECORDS = st.lists(
    st.one_of(st.binary(max_size=20), st.integers(250, 300).map(bytes), st.just(bytes(70_000)))
)


class TestFraming:
    @given(RECORDS, st.integers(1, 1000))
    def test_pieces_end_behind_whole_records(self, records, share):
        """Pieces of any size contain whole records, and together all of them."""
        data = b"".join(map(frame, records))
        found = at = 0
        while at < len(data):
            end = piece_end(data, at, share)
            assert end - at >= min(share, len(data) - at)
            found += count_records(data[at:end])
            at = end

        assert found == len(records)

    @given(RECORDS.filter(bool), st.data())
    def test_torn_records_are_an_error(self, records, data):
        """Counting the records in bytes that end inside a record raises ValueError."""
        whole = b"".join(map(frame, records))
        lost = data.draw(st.integers(1, len(frame(records[-1])) - 1)) if records[-1] else 0

        assert count_records(whole) == len(records)
        if lost:
            with pytest.raises(ValueError, match="end inside a record"):
                count_records(whole[:-lost])

    @pytest.mark.parametrize("size", [0, 1, 254, 255, 256, 65_535, 65_536, 1 << 20])
    def test_a_length_takes_one_byte_or_five(self, size):
        """The length takes one byte for records of up to 254 bytes, and five for longer ones."""
        framed = frame(bytes(size))

        assert len(framed) == size + (1 if size < 255 else 5)
        assert bounds(framed, 0) == (len(framed) - size, len(framed))


def _count_reads(blocks):
    read, get = [], blocks.get

    def counted(number):
        read.append(number)
        return get(number)

    blocks.get = counted
    return read


def test_a_fifo_is_made_by_its_pool(blocks):
    """The pool keeps track of every queue that it made, until the queue leaves."""
    pool = Pool(blocks, 1000)
    fifo = pool.fifo()

    assert isinstance(fifo, Fifo)
    assert repr(pool).startswith("<Pool 1 queues,")
    fifo.close()
    assert repr(pool).startswith("<Pool 0 queues,")
