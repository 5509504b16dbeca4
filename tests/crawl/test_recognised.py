"""What the visitor makes of an answer that is not the page: it is recognised, noted and counted
once.

Of a robots.txt, which also decides what is allowed.
"""

import pytest

from tests.crawl.test_portions import crawling
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.net.robots_book import RobotsDecision

MISSING = b"<!doctype html><title>Page not found</title><h1>Page not found</h1>"
SHELL = b'<!doctype html><title>a</title><div id="root"></div><script src=/app.js></script>'
BLOCK_PAGE = (
    b"<title>Verify you are human</title><p>Please enable JavaScript and cookies to continue"
)


def visited(tmp_path, body, **changes):
    """An answer that was visited, and the crawl's counters of what was recognised."""
    one = exchange("http://a.test/", body, **changes)
    with crawling(tmp_path) as (crawl, visitor):
        visitor.follow(visitor.visit(Link(one.url), one))
        found = {
            name: many
            for name, many in crawl.stats().items()
            if name.startswith("recognised/") and many
        }
    return one, found


@pytest.mark.parametrize("before", [None, "soft404"])
def test_it_is_noted_and_counted_once(tmp_path, before):
    """Also if somebody else has recognised it, who has noted nothing."""
    one, found = visited(tmp_path, MISSING, recognised=before)

    assert (one.state.recognised, one.state.notes) == ("soft404", ("soft404",))
    assert found == {"recognised/soft404": 1}


@pytest.mark.parametrize(("before", "body"), [(None, b"<p>hello"), ("", MISSING)])
def test_a_page_has_no_note(tmp_path, before, body):
    """And what somebody has found to be a page is recognised no second time."""
    one, found = visited(tmp_path, body, recognised=before)

    assert (one.state.recognised, one.state.notes, found) == ("", (), {})


def test_a_document_has_all_that_its_scripts_make(tmp_path):
    """It is no shell any more; one that stayed as it was sent is."""
    assert visited(tmp_path / "sent", SHELL)[0].state.recognised == "shell"
    assert visited(tmp_path / "rendered", SHELL, rendered=True)[0].state.recognised == ""


OPEN, READ, SHUT = RobotsDecision.ALLOWED, RobotsDecision.FORBIDDEN, RobotsDecision.WAIT


def meant(tmp_path, *, body=b"User-agent: *\nDisallow: /\n", times=1, **changes):
    """What a robots.txt, if it is read, forbids, and otherwise is allowed, or has to wait."""
    origin = "http://a.test"
    with crawling(tmp_path) as (crawl, visitor):
        for _ in range(times):
            one = exchange(f"{origin}/robots.txt", body, **changes)
            visitor.follow_robots(visitor.visit(Link(one.url, "P", history=origin), one))
        return crawl.parts.robots.book.verdict(f"{origin}/page", crawl.parts.clock())


@pytest.mark.parametrize(
    ("truncated", "status", "times", "expected"),
    [
        ("disconnect", 200, 1, SHUT),
        ("time", 200, 2, SHUT),
        ("disconnect", 200, 3, READ),
        ("length", 200, 1, READ),
        ("disconnect", 404, 1, OPEN),
        ("disconnect", 304, 2, SHUT),
        ("disconnect", 304, 3, OPEN),
    ],
)
def test_a_robots_txt_of_which_a_part_is_missing(tmp_path, truncated, status, times, expected):
    """It may forbid what the part does not, so it is requested again; what comes at the third try
    is read. Of a 304 without a condition all is missing.
    """
    assert meant(tmp_path, truncated=truncated, status=status, times=times) == expected


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (402, [], OPEN),
        (402, [(b"crawler-price", b"USD 0.01")], SHUT),
        (402, [(b"PAYMENT-REQUIRED", b"eyJ4NDAyVmVyc2lvbiI6Mn0=")], SHUT),
        (402, [(b"WWW-Authenticate", b'L402 version="0", token="x", invoice="y"')], SHUT),
        (402, [(b"WWW-Authenticate", b'Payment id="x", realm="y"')], SHUT),
        (401, [(b"WWW-Authenticate", b'License error="invalid_request"')], SHUT),
        (401, [(b"WWW-Authenticate", b"Basic")], OPEN),
        (403, [], OPEN),
        (403, [(b"cf-mitigated", b"challenge")], SHUT),
        (451, [], OPEN),
        (999, [], SHUT),
        (999, [(b"X-Li-Pop", b"prod-x")], SHUT),
    ],
)
def test_what_a_block_page_in_place_of_a_robots_txt_means(tmp_path, status, headers, expected):
    """An error of the owner's allows everything; a challenge, a demand for payment or a 999 is no
    word on that.
    """
    assert meant(tmp_path, body=b"no", status=status, headers=headers) == expected


@pytest.mark.parametrize(("status", "expected"), [(200, SHUT), (403, OPEN)])
def test_a_robots_txt_that_looks_like_a_block_page_is_no_word_of_the_owners(
    tmp_path, status, expected
):
    """It came in place of the file, whoever put it there.

    An error is the server's own, which allows everything.
    """
    assert meant(tmp_path, body=BLOCK_PAGE, status=status) == expected
