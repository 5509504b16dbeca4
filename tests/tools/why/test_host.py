"""How long `why` says that a host is left alone, and why so long."""

from types import SimpleNamespace

import pytest

from webcrawl.base.model import Status
from webcrawl.crawl.rules import limits_of, politeness_of
from webcrawl.frontier.booking import Booking
from webcrawl.frontier.host_facts import facts_of
from webcrawl.frontier.hosts import Host
from webcrawl.tools.why.answer import WhyAnswer
from webcrawl.tools.why.facts import pace_of
from webcrawl.tools.why.saved_settings import values_of
from webcrawl.tools.why.why_text import text_of


def paced(settings=(), live=None, **fields):
    """The pace of a host with this record, in a crawl with these settings."""
    values = values_of(
        {"POLITENESS_MIN_DELAY": "1", "POLITENESS_FACTOR": "10", **dict(settings)}, {}, (), []
    )
    book = Booking(politeness_of(values), limits_of(values))
    host = Host("a.test", SimpleNamespace(count=0), **{"times": [0.3], **fields})
    return pace_of(facts_of(host, book, record="on disk", is_paused=False), values, live)


@pytest.mark.parametrize(
    ("settings", "fields", "seconds", "because"),
    [
        ({}, {}, 3.0, "Mercator: its last download took 0.30 s, POLITENESS_FACTOR = 10"),
        ({}, {"times": [0.01]}, 1.0, "POLITENESS_MIN_DELAY = 1"),
        ({"POLITENESS_MAX_DELAY": "2"}, {}, 2.0, "POLITENESS_MAX_DELAY = 2"),
        (
            {"POLITENESS_POLICY": "webcrawl.frontier.politeness.fixed.Fixed"},
            {},
            70.0,
            "POLITENESS_POLICY = Fixed",
        ),
        ({}, {"crawl_delay": 5.0}, 5.0, "the Crawl-delay of its robots.txt is 5"),
        (
            {"CRAWL_DELAY_MAX": "4"},
            {"crawl_delay": 5.0},
            4.0,
            "the Crawl-delay of its robots.txt is 5, limited by CRAWL_DELAY_MAX = 4",
        ),
    ],
)
def test_what_makes_it_so_long(settings, fields, seconds, because):
    """The setting or the file that decides is named."""
    assert paced(settings, **fields) == (pytest.approx(seconds), because)


def test_a_host_that_is_slowed_down():
    """A crawl that runs knows how many times longer it leaves alone a host under strain."""
    slowed = paced(live={"wait": 12.0, "rule": "politeness"})
    assert slowed == (12.0, "slowed down, because it answers more slowly than before")


@pytest.mark.parametrize(
    "live", [None, {}, {"wait": 3.0, "rule": "politeness"}, {"wait": 60.0, "rule": "failure"}]
)
def test_a_host_that_is_not(live):
    """Without strain it is the wait of politeness, whatever the host is left alone for besides."""
    assert paced(live=live).seconds == pytest.approx(3)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.HOST_RETIRED, "answers 408, 429 or 5xx"),
        (Status.TIMEOUT, "no answer in time"),
    ],
)
def test_how_it_failed(status, words):
    """The last failure stands there in words. A host that reports errors is not given up."""
    host = {
        "host": "a.test",
        "paused": False,
        "health_in_words": "failing: 2 in a row",
        "pages": 1,
        "queued": 1,
        "connections": {"at_once": 1},
        "next_turn": None,
        "delay": {"seconds": 1, "because": "POLITENESS_MIN_DELAY = 1"},
        "protocol": None,
        "rendering": None,
        "last_failure": {"status": status, "at": "2026-11-29T10:00:00Z"},
        "origins": [],
    }

    details = {
        "canonical": {"url": "", "changes": []},
        "filters": [],
        "refused_by": None,
        "seen": {"known": True, "where": ""},
        "host": host,
        "now": "",
        "as_of": None,
    }

    text = text_of(WhyAnswer("http://a.test/", "queued", "", "", details))

    assert f"last failed at 2026-11-29 10:00:00 UTC: {words}\n" in text
