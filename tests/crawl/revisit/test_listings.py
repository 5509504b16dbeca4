"""What a listing says otherwise than before, and when it is read again."""

from contextlib import closing
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit.listings import (
    DATE_TOLERANCE,
    HOUR,
    LONGEST_INTERVAL,
    MAX_URLS,
    WEEK,
    Listed,
    date_stamp,
    learn_reading,
    wait_of_listing,
)
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

KEYS = st.integers(0, 2**64 - 1)


@pytest.fixture
def listed(db):
    return Listed(db)


def compare(listed, entries, listing=1, **options):
    """Keys that are new, and keys with a newer date."""
    keys, dates = [key for key, _ in entries], [date for _, date in entries]
    found = listed.compare(listing, keys, dates, options.pop("now", NOW), **options)
    return [keys[at] for at in found.new], [keys[at] for at in found.newer], found


class TestCompare:
    def test_a_first_date_later_than_the_last_look(self, listed):
        """A listing that begins to have dates signals only changes since it was read."""
        compare(listed, [(1, 0), (2, 0)], now=1000.0)
        assert compare(listed, [(1, 999), (2, 1001)])[:2] == ([], [2])

    @pytest.mark.parametrize("before", [0, 500])
    def test_more_newer_ones_than_may_be(self, listed, before):
        """The latest are given, and the others the next time, whether they had a date before or
        not.
        """
        entries = [(1, 1001), (2, 1002), (3, 1003)]
        compare(listed, [(key, before) for key, _ in entries], now=1000.0)

        assert compare(listed, entries, now=2000.0, most=2)[1] == [2, 3]
        assert compare(listed, entries, now=3000.0, most=2)[1] == [1]
        assert compare(listed, entries, now=4000.0, most=2)[1] == []

    def test_the_latest_date_of_a_url_that_is_listed_twice(self, listed):
        """It is one URL."""
        compare(listed, [(1, 50), (1, 100), (1, 70)])
        assert compare(listed, [(1, 100), (1, 99)])[:2] == ([], [])
        new, newer, found = compare(listed, [(1, 80), (1, 101), (2, 1), (2, 1)])
        assert (new, newer, found.kept) == ([2], [1], 2)

    def test_a_part_of_a_listing(self, listed):
        """What it does not name is not gone."""
        compare(listed, [(1, 100), (2, 100)])
        assert compare(listed, [(2, 200), (3, 5)], whole=False)[:2] == ([3], [2])
        new, newer, found = compare(listed, [(1, 100), (2, 200), (3, 5)])
        assert (new, newer, found.kept) == ([], [], 3)

    def test_listings_are_apart(self, listed):
        """Each is compared with itself only."""
        compare(listed, [(1, 100)], listing=2**64 - 1)
        assert compare(listed, [(1, 200)], listing=0)[2].first
        assert compare(listed, [(1, 200)], listing=2**64 - 1)[1] == [1]

    def test_room(self, listed):
        """What finds no room is new again the next time."""
        assert compare(listed, [(1, 1), (2, 1), (3, 1)], room=2)[2].kept == 2
        assert compare(listed, [(1, 1), (2, 1), (3, 1)], room=2)[0] == [3]
        assert compare(listed, [(key, 1) for key in range(MAX_URLS + 9)])[2].kept == MAX_URLS

    @given(
        st.lists(
            st.lists(st.tuples(KEYS | st.integers(0, 9), st.integers(0, 2**32 - 1))), max_size=5
        ),
        st.booleans(),
    )
    def test_any_entries(self, tmp_path_factory, versions, whole):
        """It says the same as a dict would."""
        with closing(CrawlDB(tmp_path_factory.mktemp("state"))) as db:
            listed, known = Listed(db), {}
            for entries in versions:
                latest = {
                    key: max(date for one, date in entries if one == key) for key, _ in entries
                }
                new, newer, found = compare(listed, entries, now=0.0, whole=whole)
                assert sorted(new) == sorted(latest.keys() - known.keys())
                assert sorted(newer) == sorted(
                    key for key in latest.keys() & known.keys() if latest[key] > known[key]
                )
                known = latest if whole else {**known, **latest}
                assert found.kept == len(known)
                assert listed.holds(1, [*known]) == [True] * len(known)


class TestStamp:
    @pytest.mark.parametrize(
        ("modified", "kept"),
        [
            (None, 0), (NOW, int(NOW)), (NOW + DATE_TOLERANCE, int(NOW + DATE_TOLERANCE)),
            (NOW + DATE_TOLERANCE + 1, 0), (253402300799.0, 0),
            (-5.0, 0), (0.0, 0), (1.5, 1), (float("inf"), 0), (float("nan"), 0),
        ],
    )  # fmt: skip
    def test_dates(self, modified, kept):
        """A date of the year 9999 is none, and neither is one before 1970."""
        assert date_stamp(modified, NOW) == kept

    def test_after_2106(self):
        """No date has more than 32 bits."""
        assert date_stamp(2**32 + 5.0, 2.0**33) == 0


class TestTable:
    @pytest.mark.parametrize("spread", [1, 365 * 86_400])
    def test_bytes_per_url(self, db, listed, spread):
        """12 bytes at the most, whatever the dates."""
        random = Random(1)
        entries = [
            (random.getrandbits(64), int(NOW) - random.randrange(spread)) for _ in range(10_000)
        ]
        compare(listed, entries)
        size = db.query("SELECT length(keys) + length(dates) FROM listed")[0][0]
        assert size / 10_000 < 12

    def test_it_is_part_of_the_checkpoint(self, tmp_path):
        """What was read since is read again."""
        with closing(CrawlDB(tmp_path)) as db:
            compare(Listed(db), [(1, 1)])
            db.checkpoint()
            compare(Listed(db), [(1, 2)])
        with closing(CrawlDB(tmp_path)) as db:
            assert compare(Listed(db), [(1, 2)])[1] == [1]

    @pytest.mark.parametrize(
        "change", ["count = 7", "read = 'x'", "keys = x'00'", "dates = ''", "crc = 1"]
    )
    def test_damage_is_found_when_the_listing_is_read(self, db, listed, change):
        """It is found when the row is read."""
        compare(listed, [(1, 1)])
        db.execute(f"UPDATE listed SET {change}")
        with pytest.raises(DamagedFile, match="table listed"):
            compare(listed, [(1, 1)])


def settled(brought, a_round=2 * DAY):
    """The wait_of_listing of a listing whose every reading brings so much."""
    record, seconds = PageRecord("http://h/sitemap.xml"), DAY
    for _ in range(60):
        learn_reading(record, seconds, brought(seconds), changed=True)
        seconds = wait_of_listing(record, a_round)
    return seconds


def test_a_listing_that_brings_nothing():
    """It is read once a week, or once a round if that is longer; after a month in any case."""
    assert settled(lambda _: 0) == WEEK
    assert settled(lambda _: 0, 20 * DAY) == 20 * DAY
    assert settled(lambda _: 0, 400 * DAY) == LONGEST_INTERVAL


def test_the_more_it_brings_the_sooner_it_is_read():
    """In proportion to the root of what it brings per day."""
    few, many = (settled(lambda seconds, per=per: per * seconds / DAY) for per in (1, 16))
    assert few / many == pytest.approx(4, rel=0.2)


def test_an_hour_at_least():
    """However much it brings."""
    assert settled(lambda _: 10_000) == HOUR


def listing(number):
    """One that is to be read every hour."""
    return PageRecord(f"http://h/map{number}", "L", NOW - DAY, shape=1e9, span=1.0)


def crawl(revisits, hours, step=10.0):
    """How often listings and pages were fetched, if all that is taken comes back at once."""
    listings = pages = 0
    for at in range(int(hours * HOUR / step)):
        now = NOW + at * step
        for record in revisits.pop_due(now, 10):
            record.fetched = now
            if "map" in record.url:
                listings += 1
                revisits.keep_listing(record, now)
            else:
                pages += 1
                revisits.keep(record, now)
    return listings, pages


def test_readings_have_a_quarter_of_the_budget(db):
    """However many listings want to be read."""
    revisits = made(db, Told(after=DAY), rate=0.1)
    for number in range(100):
        revisits.keep_listing(listing(number), NOW)
        revisits.keep(page(number), NOW)
    listings, pages = crawl(revisits, 48)
    assert listings + pages == pytest.approx(0.1 * 48 * HOUR, rel=0.01)
    assert listings == pytest.approx(0.025 * 48 * HOUR, rel=0.1)


@pytest.mark.campaign
def test_listings_that_must_wait_stop_nobody(db):
    """All pages are due much later than listings that are not allowed: these are passed, and the
    queue goes on.
    """
    revisits = made(db, Told(after=20 * DAY), rate=0.02)
    for number in range(10):
        revisits.keep_listing(listing(number), NOW)
        revisits.keep(page(number), NOW)
    listings, pages = crawl(revisits, 30 * 24, 25.0)
    assert pages > 0.7 * 0.02 * 30 * DAY
    assert listings < 0.26 * 0.02 * 30 * DAY


def test_with_fixed_times_a_listing_is_a_page(db):
    """Where no page is taken early, it has its due time from the policy."""
    revisits = made(db, Told(after=2 * HOUR, early=False), rate=1.0)
    revisits.keep_listing(listing(1), NOW)
    assert revisits.next_due(NOW) == NOW + 2 * HOUR


def test_it_stays_a_listing(db):
    """What waits in a checkpoint is one afterwards."""
    revisits = made(db, Told(), rate=0.1)
    revisits.keep_listing(listing(1), NOW)
    revisits.keep(page(1), NOW)
    revisits.save()
    again = made(db, Told(), rate=0.1)
    taken = [record for at in range(100) for record in again.pop_due(NOW + 25 * HOUR + 10 * at, 9)]
    assert {record.url: record.listing for record in taken} == {
        "http://h/1": False,
        "http://h/map1": True,
    }
