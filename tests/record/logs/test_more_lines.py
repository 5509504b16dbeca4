"""Lines of the logs that OUTPUTS names: exactly one line each, whatever a page contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.base.model import Link
from webcrawl.record import pagefiles
from webcrawl.store.jobdir.log_lines import SHAPES, request_line, skipped_lines

AT = 1308849128.802
NASTY = "http://u:secret@a.test/ \t\n\x1f\x85\u2028\ud800é"
texts = st.text(max_size=20) | st.sampled_from([NASTY])


def test_a_skipped_url():
    """Time, reason, URL without credentials, page."""
    found = skipped_lines(AT, "length", ["http://u:p@a.test/x", "a\tb"], "http://a.test/")

    assert found == (
        b"2011-06-23T17:12:08.802Z\tlength\thttp://a.test/x\thttp://a.test/\n"
        b"2011-06-23T17:12:08.802Z\tlength\ta\\tb\thttp://a.test/\n"
    )


def test_a_request():
    """Time, method, URL, discovery path, how often it was tried, whoever was at fault; the wait before it, and why."""
    again = Link("http://a.test/", "LP", attempt=1, struck=2)

    assert (
        request_line(AT, "GET", again.url, again)
        == b"2011-06-23T17:12:08.802Z\tGET\thttp://a.test/\tLP\t3\t-\t0.000\t-\n"
    )
    assert request_line(AT, "GET", "http://u:p@a.test/", None).endswith(b"\tGET\thttp://a.test/\t-\t0\t-\t0.000\t-\n")
    waited = request_line(AT, "GET", again.url, again, 1.5, 1.0, "politeness")
    assert waited.endswith(b"\t3\t1.500\t1.000\tpoliteness\n")


@pytest.mark.parametrize("name", ["skipped", "requests", "store"])
@given(one=texts.filter(bool), other=texts)
def test_any_text_has_its_line(name, one, other):
    """Each line has the form that `scrapy verify` wants, and names no password."""
    link = Link(one, via=other)
    line = {
        "skipped": lambda: skipped_lines(AT, "length", [other], "http://a.test/"),
        "requests": lambda: request_line(AT, "GET", one, link),
        "store": lambda: pagefiles.line(link, pagefiles.About(one, 200, other, other), 1, 2, 3),
    }[name]()

    assert SHAPES[f"logs/{name}.log"].fullmatch(line)
    assert name == "store" or b"secret@" not in line
