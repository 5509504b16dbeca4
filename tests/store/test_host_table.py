"""A table with one small value per host, few of which are in memory."""

from contextlib import closing
from dataclasses import dataclass

import pytest

from webcrawl.store import host_table
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.host_table import HostTable


@dataclass
class Number:
    value: int = 0

    def pack(self):
        return b"%d" % self.value

    @classmethod
    def unpack(cls, data):
        return cls(int(data))


def table_of(db):
    return HostTable(db, "announcer", Number, Number.unpack)


def test_few_are_in_memory(db, monkeypatch):
    """The others come back from their rows; a host that was only asked for has none."""
    monkeypatch.setattr(host_table, "CACHED", 10)
    table = table_of(db)
    for number in range(100):
        table.change(f"h{number}.test").value = number
        # a changed value is written when it leaves memory
        assert db.query("SELECT count(*) FROM announcer") == [(max(number - 9, 0),)]

    assert [table.get(f"h{number}.test").value for number in range(100)] == [*range(100)]
    assert table.get("x.test") is None


def test_values_are_those_of_the_last_checkpoint(tmp_path):
    """What came after it is gone with a crash."""
    with closing(CrawlDB(tmp_path)) as db:
        table = table_of(db)
        table.change("a.test").value = 1
        db.checkpoint()
        table.change("a.test").value = 2
    with closing(CrawlDB(tmp_path)) as db:
        assert table_of(db).get("a.test").value == 1


@pytest.mark.parametrize("change", ["data = x''", "crc = 5"])
def test_damage_is_found_when_the_row_is_read(db, change):
    """Not before: a table may have millions of rows."""
    table = table_of(db)
    table.change("a.test")
    table.save()
    db.execute(f"UPDATE announcer SET {change}")

    with pytest.raises(DamagedFile, match=r"table announcer, a\.test: wrong checksum"):
        table_of(db).get("a.test")
