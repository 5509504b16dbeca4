"""What listings say has changed, and whose word is worth a fetch."""

from contextlib import closing
from random import Random

import pytest

from tests.support.hostile import peak, reset_peak
from webcrawl.base.url_text import host_of
from webcrawl.crawl.revisit import signals as module
from webcrawl.crawl.revisit import since_read
from webcrawl.crawl.revisit.announcers import OLDER, QUIET, SILENT, TRY, Trust
from webcrawl.crawl.revisit.signals import Signals
from webcrawl.crawl.revisit.since_read import PATIENCE
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


def is_listed(signals, url):
    """Whether a listing of its site names this page with dates, so that a change may be announced."""
    return signals._naming(url, host_of(url)) != {}


def dated(urls, date):
    return [(url, date) for url in urls]


def believe(signals, host="a.test", times=20):
    for _ in range(times):
        signals.followed(f"http://{host}/", NOW, changed=True)


def disbelieve(signals, host="a.test", times=20):
    for _ in range(times):
        signals.followed(f"http://{host}/", NOW, changed=False)


class TestRead:
    def test_a_later_date_is_a_signal(self, signals):
        """The first reading has none."""
        assert signals.read(MAP, dated(pages(3), 100.0), NOW) == []
        assert signals.read(MAP, [*dated(pages(2), 100.0), ("http://a.test/2", 200.0)], NOW) == ["http://a.test/2"]

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
        count = module.TOLD + 500
        signals.read(MAP, dated(pages(count), 100.0), NOW)
        first = signals.read(MAP, dated(pages(count), 200.0), NOW)
        second = signals.read(MAP, dated(pages(count), 200.0), NOW)
        assert (len(first), len(second)) == (module.TOLD, 500)
        assert {*first, *second} == {*pages(count)}
        assert signals.read(MAP, dated(pages(count), 200.0), NOW) == []

    @pytest.mark.parametrize("room", [0, 3])
    def test_no_more_than_there_is_room_for(self, signals, room):
        """Where signals wait; the dates of the others are not taken as known, and come with a later reading."""
        believe(signals)
        signals.read(MAP, dated(pages(10), 100.0), NOW)
        signals.room = lambda _: room
        first = signals.read(MAP, dated(pages(10), 200.0), NOW)
        signals.room = lambda _: 100
        second = signals.read(MAP, dated(pages(10), 200.0), NOW)
        assert (len(first), len(second)) == (room, 10 - room)
        assert {*first, *second} == {*pages(10)}

    def test_a_liar_is_checked_now_and_then(self, signals):
        """With all dates now at each reading, once an hour for four weeks, it costs one fetch per week."""
        disbelieve(signals)
        hours = [NOW + 3600.0 * hour for hour in range(4 * 7 * 24)]
        told = [len(signals.read(MAP, dated(pages(100), now), now)) for now in hours]
        assert (set(told), sum(told)) == ({0, 1}, 4)

    @pytest.mark.parametrize("known", [True, False], ids=["entries without dates", "no entries"])
    def test_a_hub_that_lies_is_checked_now_and_then(self, signals, known):
        """Its news cost a fetch per week, too, whether it names pages without dates or names nothing."""
        signals.read(MAP, dated(pages(10), NOW - 100.0), NOW)
        assert signals.pushed(MAP, dated(pages(1), None) if known else [], NOW) == (pages(1) if known else [MAP])
        disbelieve(signals)
        hours = [NOW + 3600.0 * hour for hour in range(4 * 7 * 24)]
        told = [len(signals.pushed(MAP, dated(pages(10), None) if known else [], now)) for now in hours]
        assert (set(told), sum(told)) == ({0, 1}, 4)
        assert signals.counters["signals/ignored"] == (10 * len(hours) if known else len(hours)) - 4

    def test_a_host_that_mends_its_ways(self, signals):
        """What it does now counts more than what it did."""
        disbelieve(signals, times=1000)
        believe(signals, times=200)
        assert signals._trust("a.test").is_believed

    def test_hosts_are_apart(self, signals):
        """A feed may name pages of its whole domain: each host is believed or not."""
        believe(signals, "a.test")
        disbelieve(signals, "b.a.test")
        both = pages(50) + pages(50, "b.a.test")
        signals.read(MAP, dated(both, 100.0), NOW)
        assert {*pages(50)} <= {*signals.read(MAP, dated(both, 200.0), NOW)} <= {*pages(50), *pages(50, "b.a.test")}
        assert len(signals.read(MAP, dated(both, 300.0), NOW)) <= 51

    def test_missed_is_1_without_trust(self, signals):
        """Only of hosts that are believed it is less, as far as they announced what changed."""
        disbelieve(signals, "b.test")
        assert signals.missed("http://a.test/") == signals.missed("http://b.test/") == 1.0
        believe(signals, times=40)
        full = signals.missed("http://a.test/")
        trust = signals._trust("a.test")
        for _ in range(20):
            trust.found()
            trust.found()
            trust.tells()
        assert full < 0.1
        assert 0.3 < signals.missed("http://a.test/") < 0.8

    def test_a_host_that_falls_silent(self, signals):
        """A few changes in a row that it did not announce: it counts for nothing, until it announces one again."""
        believe(signals, times=100)
        trust = signals._trust("a.test")
        for _ in range(SILENT):
            assert signals.missed("http://a.test/") < 0.2
            trust.found()
        assert signals.missed("http://a.test/") == 1.0
        trust.tells()
        assert signals.missed("http://a.test/") < 0.2

    def test_listings_that_fall_silent(self, signals):
        """Readings that should have brought news and did not: so does the host, before its pages are looked at."""
        believe(signals, times=100)
        for _ in range(2):
            signals.expected(MAP, 0, 0.4 * QUIET)
            assert signals.missed("http://a.test/") < 0.2
        signals.expected(MAP, 0, 0.4 * QUIET)
        assert signals.missed("http://a.test/") == 1.0
        believe(signals, times=1)
        assert signals.missed("http://a.test/") < 0.2

    def test_a_reading_with_news_in_between(self, signals):
        """Then nothing was silent."""
        believe(signals, times=100)
        for _ in range(9):
            signals.expected(MAP, 0, 0.9 * QUIET)
            signals.expected(MAP, 1, 0.9 * QUIET)
        assert signals.missed("http://a.test/") < 0.2

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
        """It was announced all the same; and it is neither a true signal nor a false one."""
        believe(signals)
        self.read(signals, [1000.0, 1000.0])
        signals.visited(pages(1)[0], 3000.0, 1500.0, changed=True)
        assert self.read(signals, [2000.0, 2000.0]) == pages(2)[1:]
        trust = signals._trust("a.test")
        assert (trust.silent, signals.counters["signals/missed"], signals.counters["signals/true"]) == (0, 0, 20)

    def test_a_change_after_the_visit_is_news(self, signals):
        """Whatever the visit has found."""
        believe(signals)
        self.read(signals, [1000.0])
        signals.visited(pages(1)[0], 3000.0, 1500.0, changed=True)
        assert self.read(signals, [3001.0]) == pages(1)

    def test_a_date_without_a_time_of_day(self, signals):
        """A change on the day of the visit may be later: the page is fetched, and if it is the same, nobody lied."""
        believe(signals)
        self.read(signals, [1000.0, 1000.0])
        for page in pages(2):
            signals.visited(page, 90_000.0, 1500.0, changed=True)
        assert self.read(signals, [86_400.0, 86_400.0]) == pages(2)
        signals.followed(pages(2)[0], 95_000.0, changed=False)
        signals.followed(pages(2)[1], 95_000.0, changed=True)
        assert (signals.counters["signals/true"], signals.counters["signals/false"]) == (21, 0)

    def test_what_a_fetch_at_a_signal_has_seen_is_no_news(self, signals):
        """The page changed again between the reading and that fetch; and its feed says the same as its sitemap."""
        believe(signals)
        self.read(signals, [1000.0])
        self.read(signals, [1000.0], listing="http://a.test/feed")
        assert self.read(signals, [2000.0]) == pages(1)
        signals.followed(pages(1)[0], 3000.0, changed=True)
        assert self.read(signals, [2500.0]) == []
        assert self.read(signals, [2500.0], listing="http://a.test/feed") == []

    @pytest.mark.parametrize("how", ["read", "unread"])
    def test_a_change_that_is_not_announced(self, signals, how):
        """It counts once its listing was read again, or answered that it is as it was; and not before."""
        self.read(signals, [1000.0])
        signals.visited(pages(1)[0], 3000.0, 1500.0, changed=True)
        assert signals.counters["signals/missed"] == 0
        for _ in range(2):
            if how == "read":
                self.read(signals, [1000.0])
            else:
                signals.unread(MAP)
            assert signals.counters["signals/missed"] == 1

    def test_a_push_is_a_part(self, signals):
        """It tells nothing of pages that it does not name."""
        believe(signals)
        self.read(signals, [1000.0, 1000.0])
        for page in pages(2):
            signals.visited(page, 3000.0, 1500.0, changed=True)
        assert signals.pushed(MAP, dated(pages(1), 2000.0), NOW) == []
        assert (signals.counters["signals/missed"], signals._trust("a.test").silent) == (0, 0)
        self.read(signals, [2000.0, 1000.0])
        assert signals.counters["signals/missed"] == 1

    def test_a_page_of_two_listings(self, signals):
        """A change is missed when both were read again and neither tells of it."""
        for listing in (MAP, "http://a.test/feed"):
            self.read(signals, [1000.0, 1000.0], listing=listing)
        for page in pages(2):
            signals.visited(page, 3000.0, 1500.0, changed=True)
        signals.unread(MAP)
        assert signals.counters["signals/missed"] == 0
        self.read(signals, [2000.0, 1000.0], listing="http://a.test/feed")
        assert signals.counters["signals/missed"] == 1

    def test_a_signal_that_was_not_followed(self, signals):
        """The change that it announced was announced."""
        self.read(signals, [2000.0])
        signals.visited(pages(1)[0], 3000.0, 1500.0, changed=True)
        signals.unread(MAP)
        assert (signals.counters["signals/missed"], signals._trust("a.test").announced) == (0, 1)

    def test_a_first_fetch(self, signals):
        """An earlier date that is new after it is followed, for the site's clock may be wrong; it is no lie, though."""
        believe(signals)
        self.read(signals, [1000.0])
        signals.visited(pages(1)[0], 3000.0, 0.0, changed=False)
        assert self.read(signals, [2000.0]) == pages(1)
        signals.followed(pages(1)[0], 4000.0, changed=False)
        assert (signals.counters["signals/missed"], signals.counters["signals/false"]) == (0, 0)

    def test_a_listing_that_is_not_read_any_more(self, signals):
        """Changes of its pages count as missed in the end."""
        self.read(signals, [1000.0, 1000.0])
        for page, now in zip(pages(2), (3000.0, 3000.0 + PATIENCE + 1), strict=True):
            signals.visited(page, now, 1500.0, changed=True)
        assert signals.counters["signals/missed"] == 2

    def test_very_many_pages(self, signals, monkeypatch):
        """Memory is bounded: those of the listing that was not read for the longest are judged."""
        monkeypatch.setattr(since_read, "MOST", 10)
        for number in range(4):
            self.read(signals, [1000.0] * 20, listing=f"{MAP}?{number}")
        for page in pages(20):
            signals.visited(page, 3000.0, 1500.0, changed=True)
            assert signals._since.count <= 10 + 4
        assert len(signals._since._visits) <= signals._since.count

    def test_it_is_part_of_the_checkpoint(self, tmp_path):
        """A crawl may run for an hour each night."""
        with closing(CrawlDB(tmp_path)) as db:
            signals = signals_of(db)
            believe(signals)
            self.read(signals, [1000.0, 1000.0])
            for page in pages(2):
                signals.visited(page, 3000.0, 1500.0, changed=True)
            db.checkpoint()
            signals.unread(MAP)
        with closing(CrawlDB(tmp_path)) as db:
            signals = signals_of(db)
            assert self.read(signals, [2000.0, 1000.0]) == []
            assert signals._trust("a.test").silent == 1


class TestBrought:
    def test_news(self, signals):
        """Pages that are new in a listing, and those that are fetched because of it, count once."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        assert signals.brought(MAP) == (0, 1)
        told = signals.read(MAP, [*dated(pages(4), 100.0), ("http://a.test/2", 200.0)], NOW)
        signals.told(MAP, len(told))
        assert signals.brought(MAP) == (2, 1)
        assert signals.brought(MAP) == (0, 1)
        assert signals.brought("http://a.test/1") is None

    def test_signals_of_a_liar_are_no_news(self, signals):
        """What tries it now and then is no reason to read it often."""
        disbelieve(signals)
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        signals.told(MAP, len(signals.read(MAP, dated(pages(3), 200.0), NOW)))
        assert signals.brought(MAP) == (0, 1)

    def test_a_push_is_no_reading(self, signals):
        """It says nothing of what a reading brings."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        signals.pushed(MAP, dated(pages(5), 200.0), NOW)
        assert signals.brought(MAP) == (0, 1)


class TestIsListed:
    def test_pages_of_a_listing_with_dates(self, signals):
        """Of their own host, and of others that a feed names."""
        signals.read(MAP, dated(pages(3) + pages(2, "b.a.test"), 100.0), NOW)
        assert all(is_listed(signals, url) for url in pages(3) + pages(2, "b.a.test"))
        assert not is_listed(signals, "http://a.test/9")
        assert not is_listed(signals, "http://c.test/1")

    def test_pages_that_are_listed_no_more(self, signals):
        """Nothing will announce their changes."""
        signals.read(MAP, dated(pages(3), 100.0), NOW)
        signals.read(MAP, dated(pages(2), 100.0), NOW)
        assert not is_listed(signals, "http://a.test/2")

    def test_a_host_with_very_many_listings(self, signals, monkeypatch):
        """All its pages count as listed."""
        monkeypatch.setattr(module, "SEARCHED_LISTINGS", 2)
        for number in range(3):
            signals.read(f"{MAP}?{number}", dated(pages(1), 100.0), NOW)
        assert is_listed(signals, "http://a.test/9")


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
        assert len(signals._announcers.get("a.test").listings) == 10


class TestPushed:
    def test_known_pages_without_a_date(self, signals):
        """A hub sends what has news."""
        feed = "http://a.test/feed"
        signals.read(feed, [("http://a.test/1", None), ("http://a.test/2", 100.0), ("http://a.test/3", 100.0)], NOW)
        entries = [("http://a.test/1", None), ("http://a.test/2", 100.0), ("http://a.test/4", None)]
        assert signals.pushed(feed, entries, NOW) == ["http://a.test/1"]
        assert signals.pushed(feed, [("http://a.test/2", 200.0)], NOW) == ["http://a.test/2"]

    def test_what_it_does_not_name_stays_listed(self, signals):
        """A push is only a part of the feed."""
        feed = "http://a.test/feed"
        signals.read(feed, dated(pages(3), 100.0), NOW)
        signals.pushed(feed, dated(pages(1), 100.0), NOW)
        assert all(is_listed(signals, url) for url in pages(3))


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
            assert signals._trust("a.test").is_believed
            assert is_listed(signals, "http://a.test/2")

    def test_trust_is_packed(self):
        """As far as four bytes go."""
        trust = Trust(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        assert Trust.unpack(trust.pack()) == trust

    def test_trust_of_an_older_state(self):
        """It does not say how many changes in a row were not announced."""
        assert Trust.unpack(OLDER.pack(1.0, 2.0, 3.0, 4.0, 5.0)) == Trust(1.0, 2.0, 3.0, 4.0, 5.0, 0.0)
