"""What listings say has changed, and whose word is worth a fetch."""

import struct
from contextlib import closing
from random import Random

import msgpack
import pytest

from tests.support.hostile import peak, reset_peak
from webcrawl.crawl.revisit import signals as module
from webcrawl.crawl.revisit.signals import DISTRUSTED_FOLLOWED_SHARE, TRY, Announcer, Signals
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.url_fingerprint import Fingerprints

NOW = 1_800_000_000.0
MAP = "http://a.test/sitemap.xml"


def signals_of(db):
    return Signals(db, Fingerprints(bytes(16)), Random(1))


@pytest.fixture
def signals(db):
    return signals_of(db)


def pages(count, host="a.test"):
    return [f"http://{host}/{number}" for number in range(count)]


def dated(urls, date):
    return [(url, date) for url in urls]


def believe(signals, host="a.test", times=20):
    for _ in range(times):
        signals.followed(f"http://{host}/", changed=True)


def disbelieve(signals, host="a.test", times=20):
    for _ in range(times):
        signals.followed(f"http://{host}/", changed=False)


class TestRead:
    def test_a_later_date_is_a_signal(self, signals):
        """The first reading has none."""
        assert signals.read(MAP, dated(pages(3), 100.0), NOW) == []
        assert signals.read(MAP, [*dated(pages(2), 100.0), ("http://a.test/2", 200.0)], NOW) == [
            "http://a.test/2"
        ]

    def test_a_new_url_is_no_signal(self, signals):
        """It is a link like any other."""
        signals.read(MAP, [], NOW)
        assert signals.read(MAP, dated(pages(3), 100.0), NOW) == []

    def test_the_latest_comes_first(self, signals):
        """By the dates that the listing gives."""
        believe(signals)
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        entries = list(zip(pages(3), (150.0, 250.0, 200.0), strict=True))
        assert signals.read(MAP, entries, NOW) == [f"http://a.test/{n}" for n in (1, 2, 0)]

    def test_dates_in_the_future(self, signals):
        """They say nothing, however far."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        assert signals.read(MAP, dated(pages(3), 253402300799.0), NOW) == []

    def test_a_listing_without_dates_is_not_remembered(self, db, signals):
        """It can never signal anything; a small one may be a feed, whose hub will push entries."""
        signals.read(MAP, dated(pages(module.SMALL + 1), None), NOW)
        assert db.query("SELECT count(*) FROM listed") == [(0,)]
        signals.read(MAP, dated(pages(module.SMALL), None), NOW)
        assert db.query("SELECT count(*) FROM listed") == [(1,)]


class TestTrust:
    def test_an_unknown_host_is_tried_with_a_few(self, signals):
        """Some at random."""
        signals.read(MAP, dated(pages(500), 100.0), NOW)
        told = signals.read(MAP, dated(pages(500), 200.0), NOW)
        assert len(told) == len(set(told)) == TRY
        assert signals.counters["signals/ignored"] == 500 - TRY

    def test_a_host_that_was_right_is_believed(self, signals):
        """All of its signals are followed."""
        believe(signals)
        signals.read(MAP, dated(pages(500), 100.0), NOW)
        assert len(signals.read(MAP, dated(pages(500), 200.0), NOW)) == 500

    def test_very_many_signals_come_in_parts(self, signals):
        """The others come with the next reading."""
        believe(signals)
        count = module.SIGNALS_PER_READING + 500
        signals.read(MAP, dated(pages(count), 100.0), NOW)
        first = signals.read(MAP, dated(pages(count), 200.0), NOW)
        second = signals.read(MAP, dated(pages(count), 200.0), NOW)
        assert (len(first), len(second)) == (module.SIGNALS_PER_READING, 500)
        assert {*first, *second} == {*pages(count)}
        assert signals.read(MAP, dated(pages(count), 200.0), NOW) == []

    def test_a_liar_is_checked_now_and_then(self, signals):
        """With all dates now at each reading, a few readings have one fetch."""
        disbelieve(signals)
        hours = [NOW + 3600.0 * hour for hour in range(1000)]
        told = [len(signals.read(MAP, dated(pages(100), now), now)) for now in hours]
        assert (set(told), sum(told)) == (
            {0, 1},
            pytest.approx(1000 * DISTRUSTED_FOLLOWED_SHARE, rel=0.3),
        )

    @pytest.mark.parametrize("known", [True, False], ids=["entries without dates", "no entries"])
    def test_a_hub_that_lies_is_checked_now_and_then(self, signals, known):
        """So do a few of its news, whether it names pages without dates or names nothing."""
        signals.read(MAP, dated(pages(10), NOW - 100.0), NOW)
        assert signals.pushed(MAP, dated(pages(1), None) if known else [], NOW) == (
            pages(1) if known else [MAP]
        )
        disbelieve(signals)
        told = [
            len(signals.pushed(MAP, dated(pages(10), None) if known else [], NOW))
            for _ in range(1000)
        ]
        assert (set(told), sum(told)) == (
            {0, 1},
            pytest.approx(1000 * DISTRUSTED_FOLLOWED_SHARE, rel=0.3),
        )
        assert signals.counters["signals/ignored"] == (10_000 if known else 1000) - sum(told)

    def test_a_host_that_mends_its_ways(self, signals):
        """What it does now counts more than what it did."""
        disbelieve(signals, times=1000)
        believe(signals, times=200)
        signals.read(MAP, dated(pages(500), 100.0), NOW)
        assert len(signals.read(MAP, dated(pages(500), 200.0), NOW)) == 500

    def test_hosts_are_apart(self, signals):
        """A feed may name pages of its whole domain: each host is believed or not."""
        believe(signals, "a.test")
        disbelieve(signals, "b.a.test")
        both = pages(50) + pages(50, "b.a.test")
        signals.read(MAP, dated(both, 100.0), NOW)
        assert (
            {*pages(50)}
            <= {*signals.read(MAP, dated(both, 200.0), NOW)}
            <= {*pages(50), *pages(50, "b.a.test")}
        )
        assert len(signals.read(MAP, dated(both, 300.0), NOW)) <= 51

    def test_counters(self, signals):
        """What came of signals."""
        believe(signals, times=3)
        disbelieve(signals, times=2)
        assert signals.counters == {"signals/true": 3, "signals/false": 2}


class TestSinceTheLastReading:
    """What visits in their turns have found, beside what listings say afterwards."""

    def read(self, signals, dates, now=NOW, listing=MAP):
        return signals.read(listing, list(zip(pages(len(dates)), dates, strict=True)), now)

    def test_a_change_that_a_visit_has_found_is_no_news(self, signals):
        """It is neither a true signal nor a false one."""
        believe(signals)
        self.read(signals, [1000.0, 1000.0])
        signals.changed(pages(1)[0], 3000.0)
        assert self.read(signals, [2000.0, 2000.0]) == pages(2)[1:]
        assert signals.counters["signals/true"] == 20

    def test_a_change_after_the_visit_is_news(self, signals):
        """Whatever the visit has found."""
        believe(signals)
        self.read(signals, [1000.0])
        signals.changed(pages(1)[0], 3000.0)
        assert self.read(signals, [3001.0]) == pages(1)

    def test_a_date_without_a_time_of_day(self, signals):
        """A change on the day of the visit may be later: the page is fetched."""
        believe(signals)
        self.read(signals, [1000.0])
        signals.changed(pages(1)[0], 90_000.0)
        assert self.read(signals, [86_400.0]) == pages(1)

    def test_changes_that_are_remembered_are_bounded(self, signals, monkeypatch):
        """The latest ones; and none of hosts without listings."""
        monkeypatch.setattr(module, "NOTED", 10)
        believe(signals)
        self.read(signals, [1000.0] * 20)
        for page in [*pages(20), *pages(20, "b.test")]:
            signals.changed(page, 3000.0)
        assert {*self.read(signals, [2000.0] * 20)} == {*pages(10)}


class TestBrought:
    def test_news(self, signals):
        """Pages that are new in a listing, and those that are fetched because of it, count once."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        assert signals.brought(MAP) == (0, 1)
        told = signals.read(MAP, [*dated(pages(4), 100.0), ("http://a.test/2", 200.0)], NOW)
        signals.count_news(MAP, len(told))
        assert signals.brought(MAP) == (2, 1)
        assert signals.brought(MAP) == (0, 1)
        assert signals.brought("http://a.test/1") is None

    def test_signals_of_a_liar_are_no_news(self, signals):
        """What tries it now and then is no reason to read it often."""
        disbelieve(signals)
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        signals.count_news(MAP, len(signals.read(MAP, dated(pages(3), 200.0), NOW)))
        assert signals.brought(MAP) == (0, 1)

    def test_a_push_is_no_reading(self, signals):
        """It says nothing of what a reading brings."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        signals.pushed(MAP, dated(pages(5), 200.0), NOW)
        assert signals.brought(MAP) == (0, 1)


class TestBounds:
    def test_urls_of_one_host(self, db, signals, monkeypatch):
        """No more are remembered, whatever the number of its listings."""
        monkeypatch.setattr(module, "PER_HOST", 1500)
        for number in range(5):
            signals.read(f"{MAP}?{number}", dated(pages(1000), 100.0), NOW)
        assert db.query("SELECT count(*), sum(count) FROM listed") == [(2, 1500)]
        signals.read(f"{MAP}?0", dated(pages(200), 100.0), NOW)
        signals.read(f"{MAP}?7", dated(pages(1000), 100.0), NOW)
        assert db.query("SELECT sum(count) FROM listed") == [(1500,)]

    def test_full_sitemaps(self, signals):
        """Full sitemaps in random order take memory for one of them at a time."""
        random, urls = Random(1), [f"http://a.test/some/page/{number}" for number in range(50_000)]
        before = reset_peak()
        for number in range(4):
            random.shuffle(urls)
            for date in (100.0, 200.0):
                entries = [(f"{url}?{number}", date) for url in urls]
                assert len(signals.read(f"{MAP}?{number}", entries, NOW)) in (0, TRY)
        assert peak() - before < 48 * 1024

    def test_listings_of_one_host(self, db, signals, monkeypatch):
        """An index may have ten thousand sitemaps."""
        monkeypatch.setattr(module, "LISTINGS", 10)
        for number in range(50):
            signals.read(f"{MAP}?{number}", dated(pages(2), 100.0), NOW)
        assert db.query("SELECT count(*) FROM listed") == [(10,)]
        db.checkpoint()
        ((announcer,),) = db.query("SELECT data FROM announcer")
        assert len(Announcer.unpack(announcer).listings) == 10


class TestPushed:
    def test_known_pages_without_a_date(self, signals):
        """A hub sends what has news."""
        feed = "http://a.test/feed"
        signals.read(
            feed,
            [("http://a.test/1", None), ("http://a.test/2", 100.0), ("http://a.test/3", 100.0)],
            NOW,
        )
        entries = [("http://a.test/1", None), ("http://a.test/2", 100.0), ("http://a.test/4", None)]
        assert signals.pushed(feed, entries, NOW) == ["http://a.test/1"]
        assert signals.pushed(feed, [("http://a.test/2", 200.0)], NOW) == ["http://a.test/2"]


class TestAnnouncers:
    def test_they_are_part_of_the_checkpoint(self, tmp_path):
        """A crash returns to what was known then."""
        with closing(CrawlDB(tmp_path)) as db:
            signals = signals_of(db)
            believe(signals)
            signals.read(MAP, dated(pages(3), 100.0), NOW)
            db.checkpoint()
            disbelieve(signals)
        with closing(CrawlDB(tmp_path)) as db:
            signals = signals_of(db)
            assert signals.has_listing("a.test")
            assert signals.read(MAP, dated(pages(3), 200.0), NOW) == pages(3)

    def test_it_is_packed(self):
        """As far as four bytes go."""
        announcer = Announcer(1.0, 2.0, {2**64 - 1: 7})
        assert Announcer.unpack(announcer.pack()) == announcer

    def test_a_row_of_an_earlier_crawl(self):
        """It has more numbers."""
        packed = msgpack.packb((struct.pack("<4fdf", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), {3: 4}))
        assert Announcer.unpack(packed) == Announcer(1.0, 2.0, {3: 4})
