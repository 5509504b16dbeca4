"""When a page is fetched again: its record is found among those that wait, in as many as may be
looked at.
"""

from contextlib import closing
from math import inf

import pytest

from tests.support.jobs import stopped
from tests.support.revisits import DAY, NOW, Told, made, page
from webcrawl.base.dates import iso
from webcrawl.crawl.revisit.buckets import Buckets
from webcrawl.frontier.fifo import BLOCK, Blocks, Pool
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import DamagedFile
from webcrawl.store.jobdir.snapshot import Snapshot
from webcrawl.tools.why import places
from webcrawl.tools.why.answer import WhyAnswer
from webcrawl.tools.why.places import waiting_revisits
from webcrawl.tools.why.why_text import text_of

PAGES = 3000


@pytest.fixture(name="state")
def _state(tmp_path):
    """Pages that are due at different times; the last one is not wanted."""
    with closing(CrawlDB(tmp_path / "state")) as db:
        policy = Told()
        policy.when = {page(number).url: NOW + number * 3600.0 for number in range(PAGES - 1)}
        policy.when[page(PAGES - 1).url] = inf
        revisits = made(db, policy)
        for number in range(PAGES):
            revisits.keep(page(number, NOW - DAY, visits=3, changes=1), NOW)
        revisits.pop_due(NOW, 1)
        db.checkpoint()
    return tmp_path / "state"


def looked_up(state, *numbers, **options):
    with Snapshot(state) as snapshot:
        return waiting_revisits(snapshot, [page(number).url for number in numbers], **options)


def test_a_record_is_found(state):
    """A page that waits has a due time, and what is known of its changes; one that is out has no
    record here.
    """
    found, partial = looked_up(state, 0, 1, 2000)
    assert set(found) == {page(1).url, page(2000).url}
    assert found[page(2000).url].to_json(10.0) == {
        "due": iso(NOW + 2000 * 3600.0 + 10.0),
        "fetched": iso(NOW - DAY + 10.0),
        "visits": 3,
        "changes": 1,
    }
    assert partial == []


def test_a_page_that_is_not_wanted(state):
    """It has a record without a due time."""
    found, _ = looked_up(state, PAGES - 1)
    assert found[page(PAGES - 1).url].to_json(0.0)["due"] is None


def test_a_bounded_look(state, monkeypatch):
    """Only some records are looked at, and it says of how many; a deep look goes through all."""
    monkeypatch.setattr(places, "REVISIT_BYTES", 5000)
    found, (line,) = looked_up(state, 0)
    assert found == {}
    assert line.endswith(f" of {PAGES - 1:,}")
    assert looked_up(state, 0, deep=True) == ({}, [])


def test_a_crawl_without_revisits(tmp_path):
    """Nothing is looked at."""
    stopped(tmp_path / "job")
    assert looked_up(tmp_path / "job/state", 1) == ({}, [])


def test_damage_is_named(state):
    """A record that is none raises what any damage does."""
    with closing(CrawlDB(state)) as db:
        buckets = Buckets(db, Pool(Blocks(db, "revisit"), 1 << 20, inline=BLOCK))
        buckets.push(b"\0\0\0\0\0\0junk http://h/junk")
        buckets.save()
        db.checkpoint()
    with Snapshot(state) as snapshot, pytest.raises(DamagedFile, match="record"):
        waiting_revisits(snapshot, ["http://h/junk"])


@pytest.mark.parametrize(
    ("due", "said"),
    [
        (
            "2027-01-15T08:00:00.000Z",
            "again      due 2027-01-15 08:00:00 UTC, earlier or later as the budget allows",
        ),
        (
            None,
            "again      not within the budget; the policy decides again once per month",
        ),
    ],
)
def test_it_is_told(due, said):
    """The answer for people has when that is, and what was seen so far."""
    again = {"due": due, "fetched": "2027-01-14T08:00:00.000Z", "visits": 3, "changes": 1}
    text = text_of(
        WhyAnswer(
            "http://h/1",
            "fetched",
            "",
            "",
            {"canonical": {"changes": []}, "again": again, "now": "", "as_of": None},
        )
    )
    assert said in text
    assert "last fetched 2027-01-14 08:00:00 UTC; changed at 1 of 3 visits since the first" in text
