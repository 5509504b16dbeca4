"""Pages that signals have had fetched ahead of their turns: found again when the record's turn comes."""

from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.crawl.revisit import fetched_ahead as module
from webcrawl.crawl.revisit.fetched_ahead import KEPT, UNDER_WAY
from webcrawl.crawl.revisit.record import PageRecord, is_ahead, record_of
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
    """One listed page is due in five days."""
    revisits = begun(db, policy)
    revisits.keep(page(1, NOW, etag=b'"old"', digest=1, listed=True), NOW)
    return revisits


def begun(db, policy, rate=100.0):
    """The budget has run for a day, and pages rest for half a second only."""
    revisits = made(db, policy, rate=rate, floor=0.5)
    revisits.take(NOW - DAY, 0)
    return revisits


def found_ahead(revisits, now, **found):
    """A signal, and what its fetch found."""
    link = revisits.foretold.announce(URL, now)
    revisits.foretold.ahead.found(replace(record_of(link), fetched=now, **found))


def test_a_signal_makes_a_link(revisits):
    """The link of a first signal has no validators, and says that its page's record is elsewhere."""
    link = revisits.foretold.announce(URL, NOW + 1)
    assert (link.url, link.path, is_ahead(link)) == (URL, "L", True)
    assert record_of(link).etag == b""
    assert len(revisits) == 1


def test_one_link_at_a_time(revisits):
    """While such a link is under way, another signal makes none; if it is never heard of again, a day later."""
    assert revisits.foretold.announce(URL, NOW + 1)
    assert revisits.foretold.announce(URL, NOW + UNDER_WAY) is None
    assert revisits.foretold.announce(URL, NOW + 1 + UNDER_WAY)


def test_the_second_one_has_validators(revisits):
    """A later signal asks with the validators of what was found before."""
    found_ahead(revisits, NOW + 1, etag=b'"new"')
    assert record_of(revisits.foretold.announce(URL, NOW + 2)).etag == b'"new"'


def test_the_record_takes_over_what_was_found(revisits, policy):
    """When its turn comes, the record has the newer fetch, and is not fetched; the policy is told what was seen."""
    found_ahead(revisits, NOW + DAY, etag=b'"new"', digest=2, text=3, modified=b"x")
    assert revisits.take(NOW + 5 * DAY, 1) == []
    assert policy.taken == []
    assert policy.observed == [(URL, DAY, True)]
    assert policy.spares == [1.0]
    (record,) = revisits.take(LATER, 1)
    assert (record.fetched, record.etag, record.modified, record.digest, record.text) == (
        NOW + DAY, b'"new"', b"x", 2, 3,
    )  # fmt: skip
    assert (record.visits, record.changes, record.listed) == (1, 1, True)
    assert policy.taken == [(URL, LATER, NOW + DAY + 5 * DAY)]  # its next turn is counted from that fetch
    assert len(revisits) == 0


def test_the_same_bytes_are_no_change(revisits, policy):
    """A signal that was wrong is a visit that found the page unchanged."""
    found_ahead(revisits, NOW + DAY, digest=1)
    revisits.take(NOW + 5 * DAY, 1)
    assert policy.observed == [(URL, DAY, False)]


def test_other_bytes_with_the_same_text_are_no_change(db, policy):
    """Nor is a page changed whose visible text is nearly the same, whatever its bytes."""
    revisits = begun(db, policy)
    revisits.keep(page(1, NOW, digest=1, text=0b1111 << 40, listed=True), NOW)
    found_ahead(revisits, NOW + DAY, digest=2, text=0b1110 << 40)
    revisits.take(NOW + 5 * DAY, 1)
    assert policy.observed == [(URL, DAY, False)]


def test_a_page_that_is_gone(revisits):
    """That it was not found counts for the record too, which knows of more: it is asked for in its turn."""
    found_ahead(revisits, NOW + DAY, gone=1, visits=1)
    (record,) = revisits.take(NOW + 5 * DAY, 1)
    assert (record.gone, record.fetched, record.digest) == (1, NOW, 1)


def test_what_is_older_than_the_record_is_dropped(revisits, policy):
    """A record that was fetched since has nothing to learn from it."""
    found_ahead(revisits, NOW - DAY, digest=2)
    assert len(revisits.take(NOW + 5 * DAY, 1)) == 1
    assert policy.observed == []
    assert len(revisits._ahead) == 0


def test_a_page_that_was_listed_since(db, policy):
    """A record that came here before a listing named its page learns of it too."""
    revisits = begun(db, policy)
    revisits.keep(page(1, NOW), NOW)
    found_ahead(revisits, NOW + DAY, digest=2)
    assert revisits.take(NOW + 5 * DAY, 1) == []
    assert len(revisits) == 1


def test_the_record_waits_while_a_link_is_under_way(revisits):
    """A page that is being fetched because of a signal is not fetched again at the same time."""
    now = NOW + 5 * DAY
    revisits.foretold.announce(URL, now - 1)
    assert revisits.take(now, 1) == []
    assert len(revisits) == 1
    assert len(revisits.take(now + UNDER_WAY + WAIT, 1)) == 1


def test_a_fetch_that_failed(revisits):
    """If the link ends without an answer, the record is taken in its turn, and the next signal makes a link at once."""
    revisits.foretold.announce(URL, NOW + 1)
    revisits.foretold.ahead.give_up(URL)
    assert len(revisits._ahead) == 0
    found_ahead(revisits, NOW + 2, etag=b'"new"', digest=2)
    assert revisits.foretold.announce(URL, NOW + 3)
    revisits.foretold.ahead.give_up(URL)
    assert record_of(revisits.foretold.announce(URL, NOW + 4)).etag == b'"new"'
    revisits.foretold.ahead.give_up(URL)
    revisits.foretold.ahead.give_up("http://h/never-told")
    assert revisits.take(NOW + 5 * DAY, 1) == []  # it has what was found before


def test_signals_use_the_budget(db, policy):
    """Pages fetched because of signals are saved on half of the others."""
    revisits = begun(db, policy, rate=1.0)
    for number in range(100):
        revisits.keep(page(number), NOW, NOW - 1)
    assert len(revisits.take(NOW, 10)) == 5
    for number in range(30):
        assert revisits.foretold.announce(page(100 + number).url, NOW)
    assert revisits.next_take(NOW) == NOW + 2
    assert sum(len(revisits.take(NOW + second, 10)) for second in range(1, 61)) == 30
    assert sum(len(revisits.take(NOW + second, 10)) for second in range(61, 81)) == 20


def test_rows_are_dropped_in_the_end(revisits):
    """What no record has come for after a long time is forgotten, whether fetched or under way."""
    revisits.take(NOW, 0)
    for number in range(2, 6):
        revisits.foretold.announce(page(number).url, NOW)
    revisits.foretold.ahead.found(page(2, NOW))
    revisits.take(NOW + KEPT - 10, 0)
    assert len(revisits._ahead) == 4
    revisits.take(NOW + KEPT + DAY, 0)
    assert len(revisits._ahead) == 0


def test_their_number_is_bounded(revisits, monkeypatch):
    """With very many rows, no new ones are made; those that are there go on."""
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(2, 5):
        found_ahead_of = revisits.foretold.announce(page(number).url, NOW)
        revisits.foretold.ahead.found(replace(record_of(found_ahead_of), fetched=NOW))
    assert revisits.foretold.announce(URL, NOW + 1) is None
    assert revisits.foretold.announce(page(3).url, NOW + 1)
    assert len(revisits._ahead) == 3


def test_a_record_that_leaves_takes_it_along(revisits, policy):
    """Another crawl that gets the record does not find a change again that a signal's fetch has found here."""
    found_ahead(revisits, NOW + 1, etag=b'"new"', digest=2, holds=9)

    (record,) = revisits.release(10)
    assert (record.digest, record.etag, record.fetched, record.holds) == (2, b'"new"', NOW + 1, 9)
    assert policy.observed == [(URL, 1, True)]
    assert len(revisits._ahead) == 0


def test_a_record_that_leaves_knows_that_its_page_is_gone(revisits):
    """Another crawl that gets the record knows what pipelines have heard here."""
    link = revisits.foretold.announce(URL, NOW + 1)
    revisits.foretold.gone_ahead(record_of(link), NOW + 1)

    (record,) = revisits.release(10)
    assert (record.gone, record.digest, record.fetched) == (1, 1, NOW)


def test_they_are_part_of_the_checkpoint(tmp_path):
    """After a kill the rows are those of the checkpoint."""
    with closing(CrawlDB(tmp_path)) as db:
        revisits = begun(db, Told())
        found_ahead(revisits, NOW, etag=b'"1"')
        db.checkpoint()
        found_ahead(revisits, NOW + 1, etag=b'"2"')
        revisits.foretold.announce(page(2).url, NOW)
    with closing(CrawlDB(tmp_path)) as db:
        revisits = begun(db, Told())
        assert len(revisits._ahead) == 1
        assert record_of(revisits.foretold.announce(URL, NOW + 2)).etag == b'"1"'


def test_a_damaged_row_is_noticed(db, revisits):
    """A flipped bit never becomes a page's record."""
    found_ahead(revisits, NOW + 1)
    db.execute("UPDATE ahead SET since = since + 1")
    with pytest.raises(DamagedFile, match="checksum"):
        revisits.foretold.announce(URL, NOW + 2)


def test_a_row_that_is_no_record_is_damage(db, revisits):
    """Nor does anything else."""
    found_ahead(revisits, NOW + 1)
    ((key,),) = db.query("SELECT key FROM ahead")
    row = (key, 5, b"junk")
    db.execute("UPDATE ahead SET since = ?, data = ?, crc = ?", (5, b"junk", rowcrc.ahead(*row)))
    with pytest.raises(DamagedFile, match="record"):
        revisits.foretold.announce(URL, NOW + 2)


def test_pages_without_a_record(db, revisits, monkeypatch):
    """What is noted of them is told once, is nothing of other pages, and is bounded."""
    monkeypatch.setattr(module, "LACKING", 3)
    assert not revisits.foretold.ahead.fill("http://h/2")
    found_ahead(revisits, NOW + 1, digest=2)
    for number in (1, 2, 3, 4):
        revisits.foretold.ahead.lack(f"http://h/{number}", "L", NOW)
    assert record_of(revisits.foretold.announce("http://h/2", NOW + DAY)).digest == 0
    revisits.foretold.ahead.give_up("http://h/2")
    assert [revisits.foretold.ahead.fill(f"http://h/{number}") for number in (1, 2, 2, 3, 4)] == [
        False,
        True,
        False,
        True,
        False,
    ]
    assert len(revisits._ahead) == 1


def test_a_page_that_was_gone_in_its_turn(revisits, monkeypatch):
    """A signal before its next turn gets a link with all that is known of it; and these, too, are bounded."""
    monkeypatch.setattr(module, "LACKING", 2)
    known = page(5, NOW - DAY, digest=7, etag=b'"x"', shape=3.0, span=9.0, gone=2)
    revisits.foretold.gone(known, NOW)
    revisits.foretold.gone(page(6, gone=1), NOW)
    revisits.foretold.gone(page(7, gone=1), NOW)
    assert len(revisits._ahead) == 2
    assert revisits.foretold.announce(known.url, NOW + 0.3) is None  # it rests
    (link,) = revisits.foretold.told_before(NOW + DAY, 9)
    assert (record_of(link).gone, record_of(link).digest) == (2, 7)
    assert (known.shape, known.span) == (3.0, 9.0)


def test_a_page_that_is_gone_while_a_signal_fetches_it(revisits):
    """There is one link ahead of its turn still."""
    assert revisits.foretold.announce(URL, NOW + 1)
    revisits.foretold.gone(PageRecord(URL, "L", NOW - DAY, digest=7, gone=1), NOW + 2)
    assert revisits.foretold.announce(URL, NOW + 100) is None
