"""The forms of version 4 that the archive's crawl has none of."""

import sqlite3
import struct

import msgpack
import pytest
import zstandard

from webcrawl.base.model import unpack
from webcrawl.frontier.seen.portions import Portion
from webcrawl.store import rowcrc
from webcrawl.store.schema import TABLES
from webcrawl.tools.upgrade import from_4

LINK = b"http://a.test/x LL http://a.test/ http://seed.test/ 1 history 5.request"
LONG = b"http://a.test/" + b"x" * 300 + b"     0  "[1:]
NEW = b"http://a.test/x LL http://a.test/ http://seed.test/ 1 history  5.request"
LATER = ("CREATE TABLE domain", "CREATE INDEX domain", "CREATE TABLE linked")  # than version 4


def squeezed(data):
    return zstandard.ZstdCompressor().compress(data)


def expanded(data):
    return zstandard.ZstdDecompressor().decompress(data)


def queue(*records, ids=(), place=0, count=None):
    rest = b"".join(map(from_4.framed, records))
    return from_4.SAVED.pack(0, count or len(records), place, len(ids)) + struct.pack(f"<{len(ids)}Q", *ids) + rest


def read(saved):
    """The ids of the blocks, and the records behind them."""
    packed, _, place, size = from_4.SAVED.unpack_from(saved)
    assert (packed, place) == (1, 0)
    body = expanded(saved[from_4.SAVED.size :])
    return [*struct.unpack_from(f"<{size}Q", body)], [*from_4.records(body[8 * size :])]


@pytest.fixture(name="db")
def _db():
    db = sqlite3.connect(":memory:")
    for statement in TABLES.split(";"):
        if not statement.strip().startswith(LATER):
            db.execute(statement)
    yield db
    db.close()


def put_meta(db, name, value):
    data = msgpack.packb(value)
    db.execute("INSERT INTO meta VALUES (?, ?, ?)", (name, data, rowcrc.meta(name, data)))


def get_meta(db, name):
    row = db.execute("SELECT name, value, crc FROM meta WHERE name = ?", (name,)).fetchone()
    assert rowcrc.agrees(rowcrc.meta, row)
    return msgpack.unpackb(row[1])


class TestLinks:
    def test_a_field_more(self):
        """A link gets an empty chain before its request, and is then what today's code reads."""
        found = unpack(from_4.link(LINK))

        assert from_4.link(LINK) == NEW
        assert (found.url, found.path, found.attempt, found.history) == ("http://a.test/x", "LL", 1, "history")
        assert (found.chain, found.request) == ("", "5.request")

    @pytest.mark.parametrize("record", [b"", b"a.test"])
    def test_the_name_of_a_host_and_the_mark_of_a_variant_stay(self, record):
        """The name of a host and the mark of a variant stay."""
        assert from_4.link(record) == record

    @pytest.mark.parametrize("record", [b"a b", NEW, b" "])
    def test_other_forms(self, record):
        """Another number of fields is damage."""
        with pytest.raises(from_4.NotThisForm, match="fields"):
            from_4.link(record)

    def test_long_ones(self):
        """Records of 255 bytes and more have a length of their own."""
        records = [b"", LINK, LONG, b"x" * 254, b"x" * 255]

        assert [*from_4.records(b"".join(map(from_4.framed, records)))] == records

    def test_cut_off(self):
        """A queue that ends inside a record is damage."""
        with pytest.raises((from_4.NotThisForm, struct.error)):
            [*from_4.records(from_4.framed(LONG)[:-1])]


class TestRows:
    def test_a_frontier(self, db):
        """Queues of levels and lines are rewritten with their blocks; the first block begins where it was read."""
        block = b"".join(map(from_4.framed, [LINK, LINK, LONG]))
        db.execute("INSERT INTO block VALUES (7, ?)", (squeezed(block),))
        place = len(from_4.framed(LINK))
        lines = {"a.test": queue(b"parked.test", LINK)}
        put_meta(db, "frontier", {"front": [queue(LINK, ids=[7], place=place, count=3)], "lines": lines, "queued": 4})
        done = from_4.migrate(db)

        state = get_meta(db, "frontier")
        ((data,),) = db.execute("SELECT data FROM block").fetchall()
        assert read(state["front"][0]) == ([7], [NEW])
        assert [*from_4.records(expanded(data))] == [NEW, from_4.link(LONG)]
        assert read(state["lines"]["a.test"]) == ([], [b"parked.test", NEW])
        assert (state["aside"], state["set aside"], state["queued"]) == ([], [0, 0], 4)
        assert done["URL"] == 5

    def test_a_host(self, db):
        """A host's retries, queue and ranked queues are rewritten; it was never set aside."""
        later, ranked = [[5.0, LINK], [-1.0, LONG]], [[3, queue(LINK)], [-2, queue(LONG)]]
        data = msgpack.packb([9.0, [0.1], 0.0, 2, 7, 0, "127.0.0.1", later, queue(LINK, LINK), ranked])
        db.execute("INSERT INTO host VALUES (?, ?, ?, ?)", ("a.test", 1, data, rowcrc.host("a.test", 1, data)))
        from_4.migrate(db)

        (row,) = db.execute("SELECT * FROM host").fetchall()
        *known, later, failed, aside, saved, ranked = msgpack.unpackb(row[2])
        assert rowcrc.agrees(rowcrc.host, row)
        assert (known, failed, aside) == ([9.0, [0.1], 0.0, 2, 7, 0, "127.0.0.1"], None, None)
        assert later == [[5.0, NEW], [-1.0, from_4.link(LONG)]]
        assert read(saved) == ([], [NEW, NEW])
        assert [(priority, read(one)[1]) for priority, one in ranked] == [(3, [NEW]), (-2, [from_4.link(LONG)])]

    def test_links_that_wait(self, db):
        """Links that were not looked up yet stay with their keys."""
        keys, records = struct.pack("<3Q", 1, 2, 3), [LINK, b"", LONG]
        data = squeezed(struct.pack("<3I", *map(len, records)) + b"".join(records))
        db.execute("INSERT INTO waiting VALUES (?, ?, ?, ?)", (40, keys, data, rowcrc.waiting(40, keys)))
        from_4.migrate(db)

        ((seq, kept, data, crc),) = db.execute("SELECT * FROM waiting").fetchall()
        new = [NEW, b"", from_4.link(LONG)]
        assert (seq, kept, crc) == (40, keys, rowcrc.waiting(40, keys))
        assert expanded(data) == struct.pack("<3I", *map(len, new)) + b"".join(new)

    def test_a_large_page(self, db):
        """A portion's page is rewritten; its links are text as it was written, whatever it is."""
        data = squeezed(msgpack.packb([LINK, "", ["x", "\udc80"], "LL"], unicode_errors="surrogatepass"))
        row = (1, "a.test", 2, data)
        db.execute("INSERT INTO portion VALUES (1, ?, ?, ?, ?, ?)", (*row, rowcrc.portion(*row)))
        from_4.migrate(db)

        ((_, *row),) = db.execute("SELECT * FROM portion").fetchall()
        assert rowcrc.agrees(rowcrc.portion, row)
        assert Portion.unpack(expanded(row[3])).page == unpack(NEW)

    def test_refusals(self, db):
        """Requests whose errback is still to be called are rewritten."""
        put_meta(db, "refusals", [[LINK, -9998]])
        from_4.migrate(db)

        assert get_meta(db, "refusals") == [[NEW, -9998]]

    def test_robots_that_were_away(self, db):
        """An unreachable robots.txt is asked for again; rules in force stay."""
        for origin, rules in (("http://a.test", b"!2"), ("http://b.test", b"rules"), ("http://c.test", b"")):
            db.execute("INSERT INTO robots VALUES (?, 1.0, ?, 0)", (origin, rules))
        done = from_4.migrate(db)

        assert db.execute("SELECT origin FROM robots").fetchall() == [("http://b.test",), ("http://c.test",)]
        assert done["lost robots.txt"] == 1

    def test_many(self, db):
        """Tables of any size are rewritten a few rows at a time, each row once."""
        data = msgpack.packb([9.0, [], 0.0, 0, 0, 0, "", [], None])
        rows = [(f"{number}.test", 0, data, rowcrc.host(f"{number}.test", 0, data)) for number in range(1000)]
        db.executemany("INSERT INTO host VALUES (?, ?, ?, ?)", rows)

        assert from_4.migrate(db)["host"] == 1000
        assert {len(msgpack.unpackb(data)) for (data,) in db.execute("SELECT data FROM host")} == {11}

    def test_the_tables_are_those_of_version_5(self, db):
        """The database has the tables and indexes of a new one."""
        from_4.migrate(db)
        new = sqlite3.connect(":memory:")
        new.executescript(TABLES)
        layout = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"

        assert db.execute(layout).fetchall() == new.execute(layout).fetchall()
        new.close()
