"""Statistics of another number of URLs than crawl.log has lines are damage."""

from collections import Counter

import msgpack
import pytest

from tests.support.tampering import tampered
from webcrawl.record.statistics.statistics import Statistics
from webcrawl.tools.verify.verify_crawl import verify


def told(root, value):
    """What verify says of a crawl with this value for statistics."""
    sql = f"INSERT OR REPLACE INTO meta VALUES ('statistics', x'{value.hex()}', 0)"
    tampered(root / "state/crawl.db", sql)
    found = Counter()
    return [str(damage).replace(f"{root}/", "") for damage in verify(root, found)], found["logs/crawl.log"]


def saved(**more):
    return msgpack.packb(Statistics(bytes(16)).save() | more)


def test_as_many_urls_as_lines(copy):
    """Statistics of as many URLs as the log has lines are sound; others are not."""
    _, lines = told(copy, saved(lines=0, since=1))
    assert lines > 0

    assert told(copy, saved(lines=lines)) == ([], lines)
    (damage,), _ = told(copy, saved(lines=lines + 1))
    assert f"table meta, statistics: of {lines + 1} URLs, logs/crawl.log has {lines} lines" in damage


def test_statistics_of_a_part(copy):
    """Those that were kept from later on are of fewer URLs."""
    assert told(copy, saved(lines=3, since=1000))[0] == []


@pytest.mark.parametrize("value", [b"\xc1", b"\x05", b"\x80", msgpack.packb({"lines": "x", "since": 0})])
def test_no_statistics(copy, value):
    """A value that is no statistics is damage."""
    (damage,), _ = told(copy, value)
    assert "table meta, statistics: " in damage


def test_a_damaged_log(copy):
    """Where the log itself is damaged, that is reported alone."""
    _, lines = told(copy, saved(lines=0, since=1))
    log = copy / "logs/crawl.log"
    log.write_bytes(log.read_bytes()[:-5])

    damages, _ = told(copy, saved(lines=lines))
    assert damages
    assert all("logs/crawl.log: damaged" in damage for damage in damages)
