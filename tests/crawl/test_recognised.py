"""What the visitor makes of an answer that is not the page: it is recognised, noted and counted once.

Of a robots.txt, which also decides what is allowed.
"""

from collections import Counter
from types import SimpleNamespace

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.visitor import Visitor
from webcrawl.net.robots_entry import Meaning, meaning


class Recogniser:
    """Takes all for one kind, and counts how often it is asked."""

    def __init__(self, kind):
        self.kind, self.asked = kind, 0

    def recognise(self, *_, **__):
        self.asked += 1
        return self.kind


def visitor(kind):
    made = Visitor.__new__(Visitor)
    made._recogniser, made._parts = Recogniser(kind), SimpleNamespace(counters=Counter())
    made._read_most = 1 << 21
    return made


@pytest.mark.parametrize("before", [None, "soft404"])
def test_it_is_noted_and_counted_once(before):
    """Also if somebody else has recognised it, who has noted nothing."""
    one, looking = exchange("http://a.test/", recognised=before), visitor("soft404")

    assert [looking._recognise(one) for _ in range(3)] == ["soft404"] * 3
    assert one.notes == ("soft404",)
    assert looking._parts.counters == {"recognised/soft404": 1}
    assert looking._recogniser.asked == (before is None)


@pytest.mark.parametrize("before", [None, ""])
def test_a_page_has_no_note(before):
    """And is recognised no second time."""
    one, looking = exchange("http://a.test/", recognised=before), visitor("")

    assert [looking._recognise(one) for _ in range(2)] == ["", ""]
    assert (one.notes, one.recognised) == ((), "")
    assert looking._recogniser.asked == (before is None)


def test_a_document_has_all_that_its_scripts_make():
    """It is no shell any more; one that stayed as it was sent is."""
    rendered = exchange("http://a.test/", rendered=True)

    assert visitor("shell")._recognise(rendered) == ""
    assert visitor("")._recognise(exchange("http://a.test/", recognised="shell")) == "shell"


CUT_ROBOTS = [
    ("disconnect", 200, 0, Meaning.SHUT),
    ("time", 200, 1, Meaning.SHUT),
    ("disconnect", 200, 2, Meaning.READ),
    ("length", 200, 0, Meaning.READ),
    ("disconnect", 404, 0, Meaning.OPEN),
]


@pytest.mark.parametrize(("truncated", "status", "tries", "expected"), CUT_ROBOTS)
def test_a_robots_txt_of_which_a_part_is_missing(truncated, status, tries, expected):
    """It may forbid what the part does not, so it is asked for again; what comes at the third try is read."""
    told = []
    looking = visitor("")
    looking._sitemaps, looking._parts.clock = None, lambda: 0.0
    looking._parts.robots = SimpleNamespace(book=SimpleNamespace(tries=lambda _: tries))
    looking._parts.robots_answers = SimpleNamespace(answered=lambda _link, status, *_: told.append(meaning(status)))
    one = exchange("http://a.test/robots.txt", b"User-agent: *", status=status)
    one.truncated = truncated
    looking._robots(None, Link("http://a.test/robots.txt", "P"), one, "")

    assert told == [expected]


PAID = [
    (402, [], Meaning.OPEN),
    (402, [(b"crawler-price", b"USD 0.01")], Meaning.SHUT),
    (402, [(b"PAYMENT-REQUIRED", b"eyJ4NDAyVmVyc2lvbiI6Mn0=")], Meaning.SHUT),
    (402, [(b"WWW-Authenticate", b'L402 version="0", token="x", invoice="y"')], Meaning.SHUT),
    (402, [(b"WWW-Authenticate", b'Payment id="x", realm="y"')], Meaning.SHUT),
    (401, [(b"WWW-Authenticate", b'License error="invalid_request"')], Meaning.SHUT),
    (401, [(b"WWW-Authenticate", b"Basic")], Meaning.OPEN),
    (403, [], Meaning.OPEN),
    (403, [(b"cf-mitigated", b"challenge")], Meaning.SHUT),
    (451, [], Meaning.OPEN),
    (999, [], Meaning.SHUT),
    (999, [(b"X-Li-Pop", b"prod-x")], Meaning.SHUT),
]


@pytest.mark.parametrize(("status", "headers", "expected"), PAID)
def test_what_a_robots_txt_behind_a_wall_means(status, headers, expected):
    """An error of the owner's allows everything; a challenge, a demand for payment or a 999 is no word on that."""
    told = []
    looking = visitor("")
    looking._recogniser, looking._sitemaps = recogniser(), None
    looking._parts.clock = lambda: 0.0
    looking._parts.robots_answers = SimpleNamespace(answered=lambda _link, status, *_: told.append(meaning(status)))
    one = exchange("http://a.test/robots.txt", b"no", status=status, headers=headers)
    looking._robots(None, Link("http://a.test/robots.txt", "P"), one, "")

    assert told == [expected]


@pytest.mark.parametrize(("status", "expected"), [(200, Meaning.SHUT), (403, Meaning.OPEN)])
def test_a_robots_txt_that_looks_like_a_wall_is_no_word_of_the_owners(status, expected):
    """It came in place of the file, whoever put it there. An error is the server's own, which allows everything."""
    told = []
    looking = visitor("wall:unknown")
    looking._sitemaps, looking._parts.clock = None, lambda: 0.0
    looking._parts.robots_answers = SimpleNamespace(answered=lambda _link, status, *_: told.append(meaning(status)))
    one = exchange("http://a.test/robots.txt", b"Are you a robot?", status=status)
    looking._robots(None, Link("http://a.test/robots.txt", "P"), one, "")

    assert told == [expected]
