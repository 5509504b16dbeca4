"""What a request from outside may hold: a closed form."""

from base64 import urlsafe_b64encode

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link
from webcrawl.crawl.request_word import UnfitRequest, check_link, check_meta, check_word

WHOLE = {
    "callback": "page",
    "errback": "failed",
    "method": "POST",
    "headers": {b"Accept": [b"text/plain"]},
    "body": b"a=1",
    "cookies": {"a": "b"},
    "meta": {
        "job": [1, {"two": 3.5}],
        "cookiejar": 1,
        "playwright": True,
        "handle_httpstatus_list": [404],
    },
    "cb_kwargs": {"n": 1},
    "encoding": "latin-1",
    "priority": 5,
    "dont_filter": True,
    "flags": ["a"],
}
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.binary(), inner),
    max_leaves=6,
)


def word(**given):
    return urlsafe_b64encode(msgpack.packb(given)).decode()


def has_all(*_):
    """A spider that has every method."""
    return True


def why(text, takes=has_all):
    with pytest.raises(UnfitRequest) as raised:
        check_word(text, takes)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_whole_request():
    """All that a request of a spider may have passes, with and without a priority before it."""
    check_word(word(**WHOLE), has_all)
    check_word(f"-5.{word(**WHOLE)}", has_all)


@pytest.mark.parametrize(
    "text", ["playwright_\n2026-11-24 INFO: forged", "playwright_\x1b[2J", "playwright_\u2028"]
)
def test_why_is_one_harmless_line(text):
    """What is refused begins no line of a log, and moves no terminal."""
    assert why(word(meta={text: 1})).isprintable()
    assert why(word(**{text: 1})).isprintable()


def test_a_class_is_refused():
    """No request from outside names a class to be loaded."""
    assert "_class" in why(word(**WHOLE, _class="os.system"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("url", "http://a/"),
            ("unknown", 1),
            ("callback", 1),
            ("callback", "__init__"),
            ("callback", "a.b"),
        ),
        *(("method", "GET / HTTP/1.1\r\nX:"), ("method", "get"), ("method", 1), ("headers", [1])),
        *(
            ("headers", {b"A": [b"b\r\nC: d"]}),
            ("headers", {b"A\n": [b"b"]}),
            ("headers", {b"A": b"b"}),
        ),
        *(
            ("body", "text"),
            ("cookies", 7),
            ("cookies", [["a"]]),
            ("cookies", {"a": []}),
            ("meta", [1]),
        ),
        *(
            ("meta", {1: 2}),
            ("cb_kwargs", {1: 2}),
            ("encoding", "no-such"),
            ("encoding", "../x"),
            ("priority", "5"),
        ),
        *(("dont_filter", 1), ("flags", "abc"), ("flags", [1])),
    ],
)
def test_fields_of_another_type(name, value):
    """A field that is unknown, or of the wrong type, is refused by its name."""
    assert name in why(word(**{name: value}))


def test_words_that_are_none():
    """Bytes that are no word, and words that hold no fields, are refused."""
    for text in (
        "x.eA==",
        "5.",
        "e A==",
        "====",
        "A",
        urlsafe_b64encode(b"\xc1").decode(),
        word()[:-1] + "\0",
    ):
        why(text)
    why(urlsafe_b64encode(msgpack.packb([1, 2])).decode())
    why(urlsafe_b64encode(b"\x91" * 5000).decode())


def test_methods_that_the_spider_lacks():
    """A callback is taken with its arguments, an errback without; either may be refused."""
    asked = []

    def takes(*what):
        asked.append(what)
        return what[0] == "callback"

    assert "no errback failed" in why(word(**WHOLE), takes)
    assert asked == [("callback", "page", {"n": 1}), ("errback", "failed", {})]


@pytest.mark.parametrize(
    "key",
    [
        *("proxy", "_auth_proxy", "bindaddress", "ftp_local_filename", "playwright_context_kwargs"),
        *("playwright_page_init_callback", "webcrawl", "webcrawl_private", "depth"),
    ],
)
def test_meta_of_the_spider_alone(key):
    """Where a connection goes, what is loaded, and what the crawl itself notes, nobody outside
    says.
    """
    with pytest.raises(UnfitRequest, match=key):
        check_meta({"job": 1, key: "x"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("download_timeout", "soon"),
        ("max_retry_times", []),
        ("handle_httpstatus_list", 404),
        ("cookiejar", []),
    ],
)
def test_options_of_another_type(key, value):
    """Options that the crawl computes with have the type that it expects."""
    with pytest.raises(UnfitRequest, match=key):
        check_meta({key: value})


def test_what_travels_beside():
    """A chain of redirects with cookies that cannot be read, and a robots.txt for nobody, are
    refused.
    """
    check_link(Link("http://a/", chain="1f.2a~"), has_all)
    check_link(Link("http://a/robots.txt", "P", history="http://b:81"), has_all)
    for link in (
        Link("http://a/", chain="1f~AAAA"),
        Link("http://a/", chain="x y"),
        Link("http://a/robots.txt", "P"),
        Link("http://a/robots.txt", "P", history="b"),
    ):
        with pytest.raises(UnfitRequest):
            check_link(link, has_all)


@given(st.dictionaries(st.sampled_from([*WHOLE, "_class"]) | st.text(), values))
def test_any_fields(fields):
    """Whatever the fields are, a word passes or is refused; nothing else is raised."""
    try:
        packed = msgpack.packb(fields)
    except (ValueError, OverflowError):
        return
    try:
        check_word(urlsafe_b64encode(packed).decode(), has_all)
    except UnfitRequest:
        return
    assert fields.keys() <= WHOLE.keys()
