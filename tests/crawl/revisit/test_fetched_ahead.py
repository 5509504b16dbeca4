"""Signals in the queue, and pages that they have had fetched: found again when the record's turn
comes.
"""

from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit import fetched_ahead as module
from webcrawl.crawl.revisit.fetched_ahead import KEPT_SECONDS, UNDER_WAY
from webcrawl.crawl.revisit.record import PageRecord
from webcrawl.crawl.revisit.revisits import FLOOR
from webcrawl.crawl.revisit.revisits import UNDER_WAY as WAIT
from webcrawl.store import rowcrc
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile

URL = page(1).url
LATER = NOW + 10 * DAY


@pytest.fixture(name="policy")
def _policy():
    return Told(after=5 * DAY)


@pytest.fixture(name="revisits")
def _revisits(db, policy):
    """One page is due in five days."""
    revisits = begun(db, policy)
    revisits.keep(page(1, NOW, etag=b'"old"', digest=1), NOW)
    return revisits


def begun(db, policy, rate=100.0):
    """The budget has run for a day, and pages rest for half a second only."""
    revisits = made(db, policy, rate=rate, floor=0.5)
    revisits.pop_due(NOW - DAY, 0)
    return revisits


def told(revisits, now, url=URL, **others):
    """A signal, and the record of the link that it leads to."""
    assert revisits.announce(url, now, **others)
    (record,) = revisits.pop_due(now, 9)
    return record


def found_ahead(revisits, now, **found):
    """A signal, and what its fetch found."""
    revisits.ahead.found(replace(told(revisits, now), fetched=now, **found))


def urls(revisits, now, most=9):
    return [record.url for record in revisits.pop_due(now, most)]


class TestInTheQueue:
    def test_a_signal_makes_a_page_due_now(self, revisits):
        """The record of a first signal has no validators; the page's own stays in the queue."""
        record = told(revisits, NOW + 1, path="XL", via="http://h/map")
        assert (record.url, record.path, record.signal, record.etag) == (
            URL,
            "XL",
            "http://h/map",
            b"",
        )
        assert len(revisits) == 1

    def test_it_goes_before_all_others(self, db):
        """Even if the queue is late, or ahead of the clock."""
        for due in (-3000.0, DAY):
            policy = Told()
            revisits = made(db, policy, rate=1.0)
            for number in range(100):
                policy.when[page(number).url] = NOW + due + number
                revisits.keep(page(number), NOW)
            revisits.pop_due(NOW, 2)
            assert revisits.announce(f"http://new/{due}", NOW)
            assert urls(revisits, NOW + 1) == [f"http://new/{due}"]
            revisits.release(200)

    def test_one_at_a_time(self, revisits):
        """While a signal waits, or its link is under way, another says nothing new; but a day later
        it does.
        """
        assert revisits.announce(URL, NOW + 1)
        assert not revisits.announce(URL, NOW + 2)
        assert urls(revisits, NOW + 3) == [URL]
        assert not revisits.announce(URL, NOW + UNDER_WAY)
        assert revisits.announce(URL, NOW + 4 + UNDER_WAY)

    def test_a_page_that_was_fetched_just_now(self, db):
        """Whether in its turn or at a signal, it rests for a minute."""
        revisits = made(db, Told(), rate=1.0)
        revisits.keep(page(1, NOW), NOW)
        assert revisits.announce(URL, NOW + 1)
        assert urls(revisits, NOW + FLOOR - 1) == []
        assert revisits.next_due(NOW + FLOOR - 1) == NOW + FLOOR
        assert urls(revisits, NOW + FLOOR) == [URL]
        revisits.note(URL, NOW + FLOOR)
        revisits.ahead.found(page(1, NOW + FLOOR, digest=1))
        assert revisits.announce(URL, NOW + FLOOR + 1)
        assert urls(revisits, NOW + 2 * FLOOR - 1) == []
        assert urls(revisits, NOW + 2 * FLOOR) == [URL]

    def test_a_turn_that_comes_before_is_enough(self, db, policy):
        """A fetch in the page's own turn comes after the signal."""
        revisits = begun(db, policy, rate=1.0)
        policy.when[URL] = NOW - 1
        revisits.keep(page(1), NOW)
        for number in range(2, 9):
            assert revisits.announce(page(number).url, NOW)
        assert revisits.announce(URL, NOW)  # behind the others
        found = [url for second in range(60) for url in urls(revisits, NOW + second)]
        assert sorted(found) == sorted(page(number).url for number in range(1, 9))

    def test_pages_have_half_of_the_budget(self, db):
        """However many signals there are."""
        policy = Told()
        revisits = made(db, policy, rate=1.0)
        for number in range(1000):
            policy.when[page(number).url] = NOW + number
            revisits.keep(page(number), NOW)
        for number in range(1000):
            assert revisits.announce(f"http://news/{number}", NOW)
        found = [url for second in range(500) for url in urls(revisits, NOW + second)]
        assert len(found) == pytest.approx(500, abs=2)
        # the queue is late, so far
        assert sum("news" in url for url in found) == pytest.approx(167, abs=3)

    def test_no_more_than_a_day_of_them_may_wait(self, db):
        """What comes beyond is counted."""
        counters = Counter()
        revisits = made(db, Told(), rate=0.1, counters=counters)
        told = sum(revisits.announce(f"http://news/{number}", NOW) for number in range(5000))
        assert told == pytest.approx(0.05 * DAY, abs=2)
        assert counters["signals/crowded_out"] == 5000 - told

    def test_a_kill_loses_and_doubles_none(self, tmp_path):
        """What waits at a checkpoint waits after it, and what was taken before it is not taken
        again.
        """
        with closing(CrawlDB(tmp_path)) as db:
            revisits = begun(db, Told(), rate=1.0)
            for number in range(20):
                revisits.announce(page(number).url, NOW)
            before = [url for second in range(10) for url in urls(revisits, NOW + second)]
            for _ in db.prepare():
                pass
            db.checkpoint()
            assert urls(revisits, NOW + 20) != []  # they are undone
            revisits.announce("http://h/late", NOW)
        with closing(CrawlDB(tmp_path)) as db:
            revisits = made(db, Told(), rate=1.0)
            after = [url for second in range(60) for url in urls(revisits, NOW + 20 + second)]
        assert sorted(before + after) == sorted(page(number).url for number in range(20))


class TestTakenOver:
    def test_the_second_one_has_validators(self, revisits):
        """A later signal asks with the validators of what was found before."""
        found_ahead(revisits, NOW + 1, etag=b'"new"')
        assert told(revisits, NOW + 2).etag == b'"new"'

    def test_the_record_takes_over_what_was_found(self, revisits, policy):
        """When its turn comes, the record has the newer fetch, and is not fetched; the policy is
        told what was seen.
        """
        found_ahead(revisits, NOW + DAY, etag=b'"new"', digest=2, text=3, modified=b"x")
        assert revisits.pop_due(NOW + 5 * DAY, 1) == []
        assert policy.observed == [(URL, DAY, True)]
        # its next turn is counted from that fetch
        assert revisits.pop_due(LATER - 4 * DAY - 1, 1) == []
        (record,) = revisits.pop_due(LATER, 1)
        assert (record.fetched, record.etag, record.modified, record.digest, record.text) == (
            NOW + DAY, b'"new"', b"x", 2, 3,
        )  # fmt: skip
        assert (record.visits, record.changes) == (1, 1)
        assert len(revisits) == 0

    @pytest.mark.parametrize("found", [{"digest": 1}, {"digest": 2, "text": 0b1110 << 40}])
    def test_what_is_no_change(self, db, policy, found):
        """A signal was wrong if the same bytes came, or nearly the same visible text."""
        revisits = begun(db, policy)
        revisits.keep(page(1, NOW, digest=1, text=0b1111 << 40), NOW)
        found_ahead(revisits, NOW + DAY, **found)
        revisits.pop_due(NOW + 5 * DAY, 1)
        assert policy.observed == [(URL, DAY, False)]

    def test_a_page_that_is_gone(self, revisits):
        """That it was not found counts for the record too, which knows of more: it is asked for in
        its turn.
        """
        found_ahead(revisits, NOW + DAY, gone=1, visits=1)
        (record,) = revisits.pop_due(NOW + 5 * DAY, 1)
        assert (record.gone, record.fetched, record.digest) == (1, NOW, 1)

    def test_what_is_older_than_the_record_is_dropped(self, revisits, policy):
        """A record that was fetched since has nothing to learn from it."""
        told(revisits, NOW + 1)
        revisits.ahead.found(page(1, NOW - DAY, digest=2))
        assert len(revisits.pop_due(NOW + 5 * DAY, 1)) == 1
        assert policy.observed == []
        assert len(revisits.ahead) == 0

    def test_announced_again_before_its_turn(self, revisits, monkeypatch):
        """It takes over what was found, and is fetched all the same; the signal is of no use any
        more.
        """
        found_ahead(revisits, NOW + DAY, etag=b'"new"', digest=2)
        monkeypatch.setattr("webcrawl.crawl.revisit.revisits.BACKLOG", 9 * DAY)
        revisits._signalled = NOW + 5.5 * DAY  # the signal waits
        assert revisits.announce(URL, NOW + 5 * DAY - 1)
        (record,) = revisits.pop_due(NOW + 5 * DAY, 9)
        assert (record.signal, record.etag) == (None, b'"new"')
        assert revisits.pop_due(NOW + 7 * DAY, 9) == []

    def test_the_record_waits_while_a_link_is_under_way(self, revisits):
        """A page that is being fetched because of a signal is not fetched again at the same time."""
        now = NOW + 5 * DAY
        told(revisits, now - 1)
        assert revisits.pop_due(now, 1) == []
        assert len(revisits) == 1
        assert len(revisits.pop_due(now + UNDER_WAY + WAIT, 1)) == 1

    def test_a_fetch_that_failed(self, revisits):
        """If the link ends without an answer, the record is taken in its turn, and the next signal
        makes a link.
        """
        told(revisits, NOW + 1)
        revisits.ahead.give_up(URL)
        assert len(revisits.ahead) == 0
        found_ahead(revisits, NOW + 2, etag=b'"new"', digest=2)
        told(revisits, NOW + 3)
        revisits.ahead.give_up(URL)
        assert told(revisits, NOW + 4).etag == b'"new"'
        revisits.ahead.give_up(URL)
        revisits.ahead.give_up("http://h/never-told")
        assert revisits.pop_due(NOW + 5 * DAY, 1) == []  # it has what was found before


class TestRows:
    def test_they_are_dropped_in_the_end(self, revisits):
        """What no record has come for after a long time is forgotten, whether fetched or under way."""
        for number in range(2, 6):
            told(revisits, NOW + number, page(number).url)
        revisits.ahead.found(page(2, NOW))
        revisits.pop_due(NOW + KEPT_SECONDS - 10, 0)
        assert len(revisits.ahead) == 4
        revisits.pop_due(NOW + KEPT_SECONDS + DAY, 0)
        assert len(revisits.ahead) == 0

    def test_their_number_is_bounded(self, revisits, monkeypatch):
        """With very many rows, no new ones are made; those that are there go on."""
        monkeypatch.setattr(module, "MOST_ROWS", 3)
        for number in range(2, 5):
            revisits.ahead.found(
                replace(told(revisits, NOW + number, page(number).url), fetched=NOW)
            )
        assert not revisits.announce(URL, NOW + 9)
        assert revisits.announce(page(3).url, NOW + 9)
        assert len(revisits.ahead) == 3

    @pytest.mark.parametrize("gone", [False, True])
    def test_a_record_that_leaves_takes_it_along(self, revisits, gone):
        """Another crawl that gets the record knows what a signal's fetch has found here."""
        found = {"gone": 1, "visits": 1} if gone else {"etag": b'"new"', "digest": 2, "holds": 9}
        found_ahead(revisits, NOW + 1, **found)
        (record,) = revisits.release(10)
        known = (record.gone, record.digest, record.etag, record.fetched, record.holds)
        assert known == ((1, 1, b'"old"', NOW, 0) if gone else (0, 2, b'"new"', NOW + 1, 9))
        assert len(revisits.ahead) == 0

    def test_a_signal_that_leaves(self, revisits):
        """It is one there, too."""
        revisits.announce("http://h/2", NOW, via="http://h/map")
        assert {record.url: record.signal for record in revisits.release(10)} == {
            URL: None,
            "http://h/2": "http://h/map",
        }
        assert len(revisits.ahead) == 0

    def test_they_are_part_of_the_checkpoint(self, tmp_path):
        """After a kill the rows are those of the checkpoint."""
        with closing(CrawlDB(tmp_path)) as db:
            revisits = begun(db, Told())
            found_ahead(revisits, NOW, etag=b'"1"')
            db.checkpoint()
            found_ahead(revisits, NOW + 1, etag=b'"2"')
            revisits.announce(page(2).url, NOW)
        with closing(CrawlDB(tmp_path)) as db:
            revisits = begun(db, Told())
            assert len(revisits.ahead) == 1
            assert told(revisits, NOW + 2).etag == b'"1"'

    def test_damage_is_noticed(self, db, revisits):
        """A flipped bit, or anything else that is no record, never becomes one."""
        found_ahead(revisits, NOW + 1)
        db.execute("UPDATE ahead SET since = since + 1")
        with pytest.raises(DamagedFile, match="checksum"):
            revisits.announce(URL, NOW + 2)
        ((key,),) = db.query("SELECT key FROM ahead")
        db.execute(
            "UPDATE ahead SET since = ?, data = ?, crc = ?",
            (5, b"junk", rowcrc.ahead(key, 5, b"junk")),
        )
        with pytest.raises(DamagedFile, match="record"):
            revisits.announce(URL, NOW + 2)

    def test_pages_without_a_record(self, revisits, monkeypatch):
        """What is noted of them is told once, is nothing of other pages, and is bounded."""
        monkeypatch.setattr(module, "MOST_ROWS_OF_UNKNOWN", 3)
        assert not revisits.ahead.fill("http://h/2")
        found_ahead(revisits, NOW + 1, digest=2)
        for number in (1, 2, 3, 4):
            revisits.ahead.lack(f"http://h/{number}", "L", NOW)
        assert told(revisits, NOW + DAY, "http://h/2").digest == 0
        revisits.ahead.give_up("http://h/2")
        filled = [revisits.ahead.fill(f"http://h/{number}") for number in (1, 2, 2, 3, 4)]
        assert filled == [False, True, False, True, False]
        assert len(revisits.ahead) == 1

    def test_a_page_that_was_gone_in_its_turn(self, revisits, monkeypatch):
        """A signal before its next turn gets a link with all that is known of it; and these, too,
        are bounded.
        """
        monkeypatch.setattr(module, "MOST_ROWS_OF_UNKNOWN", 2)
        known = page(5, NOW - DAY, digest=7, etag=b'"x"', gone=2)
        revisits.ahead.gone(known, NOW)
        revisits.ahead.gone(page(6, gone=1), NOW)
        revisits.ahead.gone(page(7, gone=1), NOW)
        assert len(revisits.ahead) == 2
        record = told(revisits, NOW + 1, known.url)
        assert (record.gone, record.digest) == (2, 7)

    def test_a_page_that_is_gone_while_a_signal_fetches_it(self, revisits):
        """There is one link ahead of its turn still."""
        told(revisits, NOW + 1)
        revisits.ahead.gone(PageRecord(URL, "L", NOW - DAY, digest=7, gone=1), NOW + 2)
        assert not revisits.announce(URL, NOW + 100)
