"""The facts about a host are the same of a crawl that runs, and of its checkpoint, which is only
read.
"""

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from tests.support.frontiers import OK, POLITENESS, add, make
from tests.support.saving import prepared
from webcrawl.base.model import Outcome, Status
from webcrawl.frontier.allowances.reputed import ByReputation
from webcrawl.frontier.booking import Booking, Limits
from webcrawl.frontier.core import Rules, Shape
from webcrawl.frontier.host_facts import facts_of
from webcrawl.frontier.host_inspection import HostInspection
from webcrawl.frontier.hosts import Host
from webcrawl.frontier.prioritizers.depth import ByDepth
from webcrawl.frontier.state import read_core
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.host_row import BlockPageRow
from webcrawl.store.jobdir.snapshot import SavedDB, Snapshot

DOWN = Outcome(Status.CONNECT_FAILED, 0.1)
SHUT = Outcome(503, 0.1, wait=500.0)
BLOCK_PAGE = Outcome(403, 0.1, blocked_by="anubis")
LIMITS = Limits(queues=2, max_queues=100, host_pages=6)


def read(snapshot):
    rules = Rules(ByDepth(3), POLITENESS, LIMITS, allowance=ByReputation(100))
    return read_core(SavedDB(snapshot), Shape(3, 2.0, 1 << 20), rules)


@pytest.mark.parametrize("seed", range(5))
def test_a_checkpoint_says_what_the_crawl_says(tmp_path, seed):
    """Whatever has become of hosts: of those that are well, fail, are blocked, or have given
    all their pages.
    """
    chance = Random(seed)
    db = CrawlDB(tmp_path / "state")
    frontier = make(db, LIMITS, allowance=ByReputation(100))
    names = [f"{letter}.test" for letter in "abcdefgh"]
    kinds = {name: chance.choice([OK, OK, DOWN, SHUT, BLOCK_PAGE]) for name in names}
    add(frontier, *(f"http://{name}/{number}" for name in names for number in range(9)))
    now = 0.0
    for _ in range(60):
        link = frontier.take(now)
        if link is None:
            now = max(now, frontier.next_ready() or now)
        else:
            frontier.done(link, kinds[link.url.split("/")[2]], now)
    prepared(db)
    db.checkpoint()

    with Snapshot(tmp_path / "state") as snapshot:
        look = HostInspection(read(snapshot))
        facts = {name: look.facts(name) for name in (*names, "nobody.test")}
        live = {name: frontier.look.facts(name) for name in facts}
        domains = {name: (look.domain(name), frontier.look.domain(name)) for name in names}
    db.close()

    assert {name: replace(one, record="") for name, one in facts.items()} == {
        name: replace(one, record="") for name, one in live.items()
    }
    assert [name for name, one in facts.items() if not one.is_known] == ["nobody.test"]
    assert len({one.health for one in facts.values()}) > 1
    assert all(saved == of_crawl for saved, of_crawl in domains.values())


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({}, "healthy"),
        # it may have been requested, and given up by command since
        ({"times": []}, "healthy: no answer yet"),
        ({"retired": Status.HOST_BUDGET}, "spent: it has given all its pages (HOST_MAX_PAGES)"),
        ({"failures": 7}, "deferred: 7 in a row"),
        ({"block_pages": BlockPageRow("anubis", 1.0, 3)}, "blocked: anubis, 3 in a row"),
        ({"block_pages": BlockPageRow("anubis", 1.0, 2)}, "healthy"),
        ({"retired": -1, "failures": 7}, "given up: its URLs end with -1"),
    ],
)
def test_words(record, words):
    """The first words of a host's health are the ones that every command has."""
    host = Host("a.test", SimpleNamespace(count=0), **{"times": [1.0], "pages": 3, **record})
    facts = facts_of(host, Booking(POLITENESS, LIMITS), record="on disk", is_paused=False)

    assert facts.health_in_words == words
    assert words.startswith(facts.health.value)


def test_a_checkpoint_that_is_read_cannot_be_changed(tmp_path):
    """Whoever tries is told so."""
    CrawlDB(tmp_path / "state").close()
    with (
        Snapshot(tmp_path / "state") as snapshot,
        pytest.raises(StoreError, match="for reading only"),
    ):
        SavedDB(snapshot).set("name", b"value")
