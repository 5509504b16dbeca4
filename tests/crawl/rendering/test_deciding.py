"""Which pages of a crawl are rendered, and what is remembered of their hosts."""

from collections import Counter
from contextlib import closing

import pytest

from tests.support.warc_crawl import exchange
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.rendering.deciding import Deciding
from webcrawl.store.crawldb import CrawlDB

SHELL = b"<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>"
PAGE = b"<!doctype html><title>Page</title><p>" + b"words of a page, many of them. " * 40 + b"<script>x()</script>"
STILL = PAGE.replace(b"<script>x()</script>", b"")
MADE = b"<!doctype html><p>words that a script has made of nothing at all<a href=/more>more</a>"
WALL = (
    b"<!doctype html><title>Making sure you're not a bot!</title>"
    b"<link rel=stylesheet href=/.within.website/x/xess/xess.css><h1>Making sure you're not a bot!</h1>"
)
LOGIN = (
    b"<!doctype html><title>Sign in</title><h1>Sign in</h1><form><input type=password></form><script src=x.js></script>"
)


@pytest.fixture(name="deciding")
def _deciding(db):
    return Deciding(db, Counter(), recogniser())


def answer(body, host="a.test", path=""):
    return exchange(f"http://{host}/{path}", body=body)


def render(deciding, body, document, host="a.test"):
    """True if a page was rendered and has more than was sent."""
    one = answer(body, host)
    wanted = deciding.wanted(one)
    if wanted is None:
        return False
    one.body, one.rendered = document, True
    deciding._counters["browser/milliseconds"] += 1000
    return deciding.learn(wanted, body, one, 1000)


@pytest.mark.parametrize(("body", "kind"), [(SHELL, "shell"), (PAGE, ""), (WALL, "wall:unknown"), (LOGIN, "login")])
def test_what_a_page_is_is_noted(deciding, body, kind):
    """So nobody has to find it out again, unless a document takes the page's place."""
    one = answer(body)
    wanted = deciding.wanted(one)

    assert one.recognised == kind
    if wanted is not None:
        one.body, one.rendered = MADE, True
        assert deciding.learn(wanted, body, one, 1000)
        assert one.recognised is None


def test_a_host_without_shells_is_left_alone(deciding):
    """Its pages are not rendered, and nothing is remembered of it."""
    assert deciding.wanted(answer(PAGE)) is None
    assert deciding.told("a.test") == ""


def test_shells_are_rendered(deciding):
    """From the first of a host on, as long as that brings something."""
    assert [render(deciding, SHELL, MADE) for _ in range(10)] == [True] * 10
    assert deciding.told("a.test").startswith("all shells, ")


def test_a_hosts_other_pages_are_compared(deciding):
    """From its first shell on, those with scripts; as they are the same, more and more stay as they were sent."""
    assert deciding.wanted(answer(PAGE)) is None
    render(deciding, SHELL, MADE)

    rendered = [deciding.wanted(answer(PAGE)) is not None for _ in range(2)]
    assert rendered == [True, True]  # nothing was learnt of the first yet
    for _ in range(4):
        assert not render(deciding, PAGE, PAGE)
    assert deciding.wanted(answer(PAGE)) is None
    assert deciding.wanted(answer(STILL)) is None
    assert deciding.wanted(answer(PAGE, "b.test")) is None


@pytest.mark.parametrize("body", [WALL, LOGIN])
def test_what_is_no_page_is_never_rendered(deciding, body):
    """A browser might get past a wall, and that is not ours to do."""
    render(deciding, SHELL, MADE)

    assert [deciding.wanted(answer(body)) for _ in range(20)] == [None] * 20


def test_a_page_that_the_browser_failed_at_counts_as_the_same(deciding):
    """A host whose pages never render does not keep the browser busy."""
    for _ in range(4):
        one = answer(SHELL)
        assert not deciding.learn(deciding.wanted(one), SHELL, one, 20_000)

    assert deciding.wanted(answer(SHELL)) is None


def test_hosts_that_gain_most_are_worth_most(deciding):
    """By characters in the browser's time; one that nothing is known of yet is worth the mean."""
    render(deciding, SHELL, MADE, "good.test")
    render(deciding, SHELL, SHELL, "poor.test")

    worth = [deciding.wanted(answer(SHELL, host)).worth for host in ("good.test", "new.test", "poor.test")]
    assert worth == sorted(worth, reverse=True)
    assert worth[0] > worth[1] > worth[2] == 0


def test_what_is_known_is_part_of_the_checkpoint(tmp_path):
    """After a crash the crawl goes on with what the last checkpoint has."""
    with closing(CrawlDB(tmp_path)) as db:
        deciding = Deciding(db, Counter(), recogniser())
        for _ in range(3):
            render(deciding, SHELL, SHELL)
        db.checkpoint()
        told = deciding.told("a.test")
        for _ in range(5):
            render(deciding, SHELL, SHELL)
    with closing(CrawlDB(tmp_path)) as db:
        deciding = Deciding(db, Counter(), recogniser())
        assert deciding.told("a.test") == told
        render(deciding, SHELL, SHELL)
        assert deciding.wanted(answer(SHELL)) is None
