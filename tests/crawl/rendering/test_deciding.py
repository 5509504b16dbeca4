"""Which pages of a crawl are rendered, and what is remembered of their hosts."""

from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.warc_crawl import exchange
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.rendering.deciding import Comparison, Deciding, Need, RenderPace
from webcrawl.store.crawldb import CrawlDB


def rendered(pace, pages, *, same):
    """The numbers of those pages that are rendered; of each it turns out that it is the same, or is
    not.
    """
    found = []
    for number in range(1, pages + 1):
        if pace.comes():
            found.append(number)
            pace.rendered(same=same(number) if callable(same) else same)
    return found


def test_pages_that_need_scripts_are_all_rendered():
    """As long as rendering changes them."""
    assert rendered(RenderPace(), 50, same=False) == [*range(1, 51)]


def test_pages_that_do_not_are_looked_at_less_and_less_often():
    """After four in a row one in two, then one in four, and so on."""
    assert rendered(RenderPace(), 70, same=True) == [1, 2, 3, 4, 6, 10, 18, 34, 66]


def test_they_are_looked_at_now_and_then_however_many_there_are():
    """One in 1024: a site may change."""
    found = rendered(RenderPace(), 10_000, same=True)

    assert {after - before for before, after in zip(found[-6:], found[-5:], strict=False)} == {1024}


def test_one_page_that_needs_them_begins_anew():
    """The pages behind it are rendered again, until four in a row are the same."""
    assert rendered(RenderPace(), 20, same=lambda number: number != 10) == [
        1,
        2,
        3,
        4,
        6,
        10,
        11,
        12,
        13,
        14,
        16,
        20,
    ]


def test_a_page_that_could_not_be_rendered_is_made_up_for():
    """The next one is rendered in its place."""
    pace = RenderPace(same=7)
    assert [pace.comes() for _ in range(18)] == [False] * 15 + [True] * 3


def test_shells_and_other_pages_are_learnt_of_apart():
    """A site may have text on some pages and an application on others."""
    need = Need()
    for _ in range(6):
        need.record_rendering(500, 100, is_shell=True, same=False)
        need.record_rendering(0, 100, is_shell=False, same=True)

    assert (need.shells.gap, need.others.gap) == (1, 8)
    assert need.in_words() == (
        "all shells, one in 8 of the others; 6 of 12 had more text or links than the server sent, "
        "in 1.2 s of browser time"
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.booleans(), st.booleans()),
        max_size=30,
    )
)
def test_it_is_packed(pages):
    """All of it comes back."""
    need = Need()
    for gained, milliseconds, is_shell, same in pages:
        need.pace(is_shell=not is_shell).comes()
        need.record_rendering(gained, milliseconds, is_shell=is_shell, same=same)

    assert Need.unpack(need.pack()) == need


URL = "http://a.test/page"
LONG = "<p>words that the server sends, which are many</p>" * 20


def gain(page, document):
    return Comparison().gain(page.encode(), document.encode(), "text/html; charset=utf-8", URL)


@pytest.mark.parametrize(
    ("page", "document"),
    [
        (LONG, LONG),
        (LONG, f"{LONG}<p>12:03:59</p>"),
        (LONG, "<p>please accept our cookies"),
        ("<div id=app></div>", "<div id=app>Loading...</div>"),
        (f"{LONG}<a href=/b>", f"{LONG}<a href='http://a.test/b#top'>"),
        (f"{LONG}", f"{LONG}<a href=https://share.test/a.test>share</a><a href='#top'>"),
        (LONG, f"{LONG}<a href=javascript:x()>x</a><a href='http://[x'>y</a>"),
    ],
    ids=["same", "clock", "less", "loading", "same link", "others' links", "no links"],
)
def test_the_page_says_the_same(page, document):
    """A line more or less, a place in the page, or what others put into it is no reason to render
    it.
    """
    assert gain(page, document).is_slight


@pytest.mark.parametrize(
    ("page", "document"),
    [
        ("<div id=app></div>", "<div id=app>words that only a script brings</div>"),
        (LONG, f"{LONG}{'<p>a reader said this' * 10}<p>{'more words ' * 20}"),
        (LONG, f"{LONG}<a href=/next>next</a>"),
        ("<div id=app></div>", "<div id=app><a href=1></a></div>"),
    ],
    ids=["text", "more text", "link", "link alone"],
)
def test_the_page_needs_scripts(page, document):
    """A tenth more text, or a link to another page of its host."""
    assert not gain(page, document).is_slight


def test_text_is_counted_once():
    """A line that is there many times is one."""
    assert gain("<p>a", "<p>a<p>new line<p>new line<p>other").text == len("new line") + len("other")


SHELL = b"<!doctype html><title>App</title><div id=root></div><script src=/app.js></script>"
PAGE = (
    b"<!doctype html><title>Page</title><p>"
    + b"words of a page, many of them. " * 40
    + b"<script>x()</script>"
)
STILL = PAGE.replace(b"<script>x()</script>", b"")
MADE = b"<!doctype html><p>words that a script has made of nothing at all<a href=/more>more</a>"
BLOCK_PAGE = (
    b"<!doctype html><title>Making sure you're not a bot!</title>"
    b"<link rel=stylesheet href=/.within.website/x/xess/xess.css><h1>Making sure you're not a bot!</h1>"
)
LOGIN = (
    b"<!doctype html><title>Sign in</title><h1>Sign in</h1><form><input "
    b"type=password></form><script src=x.js></script>"
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
    return deciding.record_rendering(wanted, body, one, 1000)


@pytest.mark.parametrize(
    ("body", "kind"), [(SHELL, "shell"), (PAGE, ""), (BLOCK_PAGE, "wall:unknown"), (LOGIN, "login")]
)
def test_what_a_page_is_is_noted(deciding, body, kind):
    """So nobody has to find it out again, unless a document takes the page's place."""
    one = answer(body)
    wanted = deciding.wanted(one)

    assert one.state.recognised == kind
    if wanted is not None:
        one.body, one.rendered = MADE, True
        assert deciding.record_rendering(wanted, body, one, 1000)
        assert one.state.recognised is None


def test_a_host_without_shells_is_left_alone(deciding):
    """Its pages are not rendered, and nothing is remembered of it."""
    assert deciding.wanted(answer(PAGE)) is None
    assert deciding.in_words("a.test") == ""


def test_shells_are_rendered(deciding):
    """From the first of a host on, as long as that brings something."""
    assert [render(deciding, SHELL, MADE) for _ in range(10)] == [True] * 10
    assert deciding.in_words("a.test").startswith("all shells, ")


def test_a_hosts_other_pages_are_compared(deciding):
    """From its first shell on, those with scripts; as they are the same, more and more stay as they
    were sent.
    """
    assert deciding.wanted(answer(PAGE)) is None
    render(deciding, SHELL, MADE)

    rendered = [deciding.wanted(answer(PAGE)) is not None for _ in range(2)]
    assert rendered == [True, True]  # nothing was learnt of the first yet
    for _ in range(4):
        assert not render(deciding, PAGE, PAGE)
    assert deciding.wanted(answer(PAGE)) is None
    assert deciding.wanted(answer(STILL)) is None
    assert deciding.wanted(answer(PAGE, "b.test")) is None


@pytest.mark.parametrize("body", [BLOCK_PAGE, LOGIN])
def test_what_is_no_page_is_never_rendered(deciding, body):
    """A browser might get past a block page, and that is not ours to do."""
    render(deciding, SHELL, MADE)

    assert [deciding.wanted(answer(body)) for _ in range(20)] == [None] * 20


def test_a_page_that_the_browser_failed_at_counts_as_the_same(deciding):
    """A host whose pages never render does not keep the browser busy. They are not rendered pages."""
    for _ in range(4):
        one = answer(SHELL)
        assert not deciding.record_rendering(deciding.wanted(one), SHELL, one, 20_000)

    assert deciding.wanted(answer(SHELL)) is None
    assert deciding._counters["rendering/pages"] == 0


def test_hosts_that_gain_most_are_worth_most(deciding):
    """By characters in the browser's time; one that nothing is known of yet is worth the mean."""
    render(deciding, SHELL, MADE, "good.test")
    render(deciding, SHELL, SHELL, "poor.test")

    worth = [
        deciding.wanted(answer(SHELL, host)).worth
        for host in ("good.test", "new.test", "poor.test")
    ]
    assert worth == sorted(worth, reverse=True)
    assert worth[0] > worth[1] > worth[2] == 0


def test_what_is_known_is_part_of_the_checkpoint(tmp_path):
    """After a crash the crawl goes on with what the last checkpoint has."""
    with closing(CrawlDB(tmp_path)) as db:
        deciding = Deciding(db, Counter(), recogniser())
        for _ in range(3):
            render(deciding, SHELL, SHELL)
        db.checkpoint()
        told = deciding.in_words("a.test")
        for _ in range(5):
            render(deciding, SHELL, SHELL)
    with closing(CrawlDB(tmp_path)) as db:
        deciding = Deciding(db, Counter(), recogniser())
        assert deciding.in_words("a.test") == told
        render(deciding, SHELL, SHELL)
        assert deciding.wanted(answer(SHELL)) is None
