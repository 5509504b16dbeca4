"""Row checksums: any altered value is noticed."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.tampering import FORMULAS
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.store.schema import LAYOUT, TABLES

ROWS = {
    "meta": ("key", b"0123"),
    "host": ("h.test", -1, b"\x99data"),
    "domain": ("h.test", 2, 1 << 40, b"\x94data"),
    "robots": ("http://h.test", 1.5, b"!3"),
    "waiting": (1 << 40, bytes(16)),
    "portion": (1 << 40, "h.test", 1 << 40, b"data"),
    "output": ("logs/crawl.log", 1 << 40, 0xFFFFFFFF),
}


def flips(value):
    """All values of the same type that differ in one bit; text may become invalid UTF-8."""
    if isinstance(value, int):
        yield from (value ^ 1 << bit for bit in range(63))
    elif isinstance(value, float):
        (number,) = rowcrc.struct.unpack("<q", rowcrc.UNTIL.pack(value))
        yield from (
            rowcrc.UNTIL.unpack(rowcrc.struct.pack("<q", number ^ 1 << bit))[0] for bit in range(63)
        )
    else:
        data = value.encode("latin-1") if isinstance(value, str) else value
        for bit in range(len(data) * 8):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            yield changed.decode("latin-1") if isinstance(value, str) else bytes(changed)


class TestRows:
    @pytest.mark.parametrize("table", ROWS)
    def test_every_bit_counts(self, table):
        """A row that differs in one bit has another checksum, except for a state beyond 32 bits,
        which is invalid.
        """
        formula, row = FORMULAS[table][0], ROWS[table]
        crc = formula(*row)
        assert rowcrc.agrees(formula, (*row, crc))

        for at, value in enumerate(row):
            for other in flips(value):
                if table == "host" and at == 1 and not -(1 << 31) <= other < 1 << 31:
                    continue
                assert not rowcrc.agrees(formula, (*row[:at], other, *row[at + 1 :], crc)), (
                    at,
                    other,
                )
        assert not any(rowcrc.agrees(formula, (*row, other)) for other in flips(crc))

    @pytest.mark.parametrize("table", ROWS)
    @pytest.mark.parametrize("other", [None, 1, 1.5, "text", b"bytes", -1, "\ud800"])
    def test_a_value_of_another_type(self, table, other):
        """A value of the wrong type, as a flipped bit in a row's header can make it, disagrees
        without an error.
        """
        formula, row = FORMULAS[table][0], ROWS[table]

        for at in [at for at, value in enumerate(row) if type(value) is not type(other)]:
            assert not rowcrc.agrees(formula, (*row[:at], other, *row[at + 1 :], formula(*row)))

    @given(one=st.binary(), two=st.binary(), start=st.integers(0, 0xFFFFFFFF))
    @examples(50)
    def test_one_sum(self, one, two, start):
        """Both libraries compute the same crc32, and can continue each other's."""
        many, few = rowcrc.crc32_of_many, rowcrc.crc32

        assert many(two, few(one, start)) == few(one + two, start) == many(one + two, start)

    def test_all_tables(self):
        """Every table has a checksum, or its data has checksums of its own."""
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(TABLES)
            tables = {name: sql for kind, name, _, sql in db.execute(LAYOUT) if kind == "table"}

        assert {name for name, sql in tables.items() if "crc INTEGER" in sql} == set(ROWS)
        assert set(tables) - set(ROWS) == {"block", "run", "linked"}


class TestText:
    def test_a_value_that_became_text(self, tmp_path):
        """Text that is not UTF-8 is damage, although Python's error for it has no SQLite code."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("a", b"\xff")
            db.execute("UPDATE meta SET value = CAST(value AS TEXT)")
            with pytest.raises(DamagedFile, match="Could not decode to UTF-8"):
                db.get("a")

    def test_a_definition_that_is_no_text(self, tmp_path):
        """A damaged table definition is damage, even if SQLite's message is not UTF-8."""
        CrawlDB(tmp_path).close()
        path = tmp_path / "crawl.db"
        path.write_bytes(
            path.read_bytes().replace(b"seq INTEGER PRIMARY KEY", b"seq INTEGER PRIMARY K\xc5Y")
        )

        for read in (CrawlDB, Snapshot):
            with pytest.raises(DamagedFile, match=r"malformed|codec"):
                read(tmp_path)


class TestMeta:
    @pytest.mark.parametrize(
        "change", ["value = x'30'", "name = 'a.c'", "crc = crc + 1", "value = '1'"]
    )
    def test_a_damaged_value(self, tmp_path, change):
        """An altered small value raises DamagedFile with its name, read alone or with others."""
        with closing(CrawlDB(tmp_path)) as db:
            db.set("a.b", b"1")
            db.set("b", b"2")
            assert (db.get("a.b"), db.named("a.")) == (b"1", [("a.b", b"1")])
            db.execute(f"UPDATE meta SET {change} WHERE name = 'a.b'")
            ((name,),) = db.query("SELECT name FROM meta WHERE name GLOB 'a.*'")

            with pytest.raises(
                DamagedFile,
                match=f"crawl.db: damaged at byte 0: table meta, {name}: wrong checksum",
            ):
                db.get(name)
            with pytest.raises(DamagedFile, match=f"table meta, {name}: wrong checksum"):
                db.named("a.")
            assert db.get("b") == b"2"
