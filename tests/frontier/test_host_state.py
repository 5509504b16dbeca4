"""The states of hosts: where a host belongs, and what the page says of it."""

import re
from pathlib import Path

from tests.support.frontiers import OK, add, make
from webcrawl.base.model import Outcome
from webcrawl.frontier import host_state
from webcrawl.frontier.booking import Limits
from webcrawl.store.jobdir.host_row import HostState

LIMITS = Limits(2, 10)


def state_after(frontier, outcome, now=1.0):
    """The state of the only host, once a request to it has ended so."""
    frontier.done(frontier.take(now), outcome, now)
    with frontier.core.opened("a") as host:
        return host.state


def test_a_host_whose_last_url_has_ended_is_idle(db):
    """A host that has another URL keeps its place."""
    frontier = make(db, LIMITS)
    add(frontier, "http://a/1", "http://a/2")

    assert [state_after(frontier, OK, now) for now in (1.0, 100.0)] == [
        HostState.ACTIVE,
        HostState.IDLE,
    ]


def test_a_host_with_a_far_turn_is_deferred(db):
    """Whatever it waits for: here the server has asked for an hour."""
    frontier = make(db, LIMITS)
    add(frontier, "http://a/1", "http://a/2")

    assert state_after(frontier, Outcome(503, 0.1, wait=3600.0)) is HostState.DEFERRED


def test_a_host_of_another_crawl_is_moving(db):
    """It leaves the back-end as soon as nothing of it is in flight, however soon it would be due."""
    frontier = make(db, LIMITS)
    add(frontier, "http://a/1", "http://a/2")
    link = frontier.take(1.0)
    frontier.moves.guard({"a"}.__contains__, lambda record: None)
    frontier.moves.freeze()
    assert frontier.moves.busy()
    frontier.done(link, OK, 1.0)

    with frontier.core.opened("a") as host:
        assert (host.state, frontier.moves.busy(), len(frontier.core.back)) == (
            HostState.MOVING,
            False,
            0,
        )


def test_the_page_has_the_meanings_of_the_code():
    """docs/frontier-inside.md takes them from the docstring, as its picture takes the events."""
    page = Path("docs/frontier-inside.md").read_text()
    rows = dict(re.findall(r"^\| ([A-Z]+) \| (.+) \|$", page, re.MULTILINE))
    meanings = dict(re.findall(r"^ {4}([A-Z]+) +(\w.+)$", host_state.__doc__, re.MULTILINE))

    assert rows == meanings
    assert rows.keys() == {state.name for state in HostState}
