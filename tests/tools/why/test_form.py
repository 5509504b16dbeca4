"""The canonical form of what somebody asks for, and what is said of the way there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.tools.why.url_rules import form_of, shown_text
from webcrawl.urls.canonical import InvalidUrl, canonical
from webcrawl.urls.foldings import no_index, sorted_query


@pytest.mark.parametrize(
    ("asked", "url", "said"),
    [
        ("http://a.test/x", "http://a.test/x", ""),
        ("http://a.test/x#top", "http://a.test/x", "fragment"),
        ("http://a.test/#", "http://a.test/", "fragment"),
        ("http://joe:secret@a.test/", "http://a.test/", "user name and password: removed"),
        ("http://a.test:80/x", "http://a.test/x", "host: a.test"),
        ("HTTP://A.test/X", "http://a.test/X", "host: a.test"),
        ("http://a.test", "http://a.test/", "path: /"),
        ("http://a.test/a/../b/./c?", "http://a.test/b/c?", "path: /b/c"),
        ("http://bücher.test/", "http://xn--bcher-kva.test/", "host: xn--bcher-kva.test"),
        ("http://a.test/?ä b", "http://a.test/?%C3%A4%20b", "query: %C3%A4%20b"),
        ("http:\\\\a.test\\x", "http://a.test/x", "host: a.test path: /x"),
        ("  http://a.test/x\n", "http://a.test/x", "in the URL standard's form"),
    ],
)
def test_what_changed(asked, url, said):
    """Each step is named, and an URL in canonical form has none."""
    form = form_of(asked, 2000, [])

    assert form.url == form.compared == url
    assert said in " ".join(form.changes) if said else form.changes == []


@pytest.mark.parametrize(
    ("asked", "invalid"),
    [
        ("mailto:joe@a.test", "scheme"),
        ("/relative/page.html", "syntax"),
        ("", "syntax"),
        ("http:///", "syntax"),
        ("http://a..test/", "host"),
        ("http://a.test/" + "x" * 10_000_000, "length"),
        ("http://a.test/\udc80", "encoding"),
    ],
)
def test_what_is_no_url(asked, invalid):
    """It has no form, and the reason is the filters' own."""
    form = form_of(asked, 2000, [])

    assert (form.url, form.invalid) == ("", invalid)
    assert form.to_json()["why"]


def test_foldings():
    """Each folding that changes something is named, and the last form is the one that counts."""
    form = form_of("http://a.test/index.html?b=1&a=2", 2000, [no_index, sorted_query])

    assert form.url == "http://a.test/index.html?b=1&a=2"
    assert form.compared == "http://a.test/?a=2&b=1"
    assert [change.partition(":")[0] for change in form.changes] == ["no_index", "sorted_query"]


@given(st.text() | st.text("htp:/a.tes#?%@[]\\ \n0", max_size=30))
def test_any_text_has_the_crawls_form(text):
    """Nothing that somebody asks for raises; the form is that of the crawl."""
    form = form_of(text, 2000, [])

    try:
        right = canonical(text), ""
    except InvalidUrl as error:
        right = "", error.reason
    assert (form.url, form.invalid) == right


def test_what_is_shown_of_a_long_one():
    """Ten megabytes are not printed, nor are credentials."""
    assert len(shown_text("http://a.test/" + "x" * 10_000_000)) < 2100
    assert shown_text("http://joe:secret@a.test/") == "http://a.test/"
