"""The line of robots.txt on which the rule stands that decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.robots import parse
from webcrawl.tools.why.facts import line_of

LINES = st.sampled_from(
    [
        *(
            "User-agent: *",
            "User-agent: webcrawl",
            "user-agent: WebCrawl/2",
            "User-agent: other",
            "Disallow: /a",
            "Allow: /a/b",
        ),
        *(
            "Disallow: /*c",
            "Disallow:",
            "# nothing",
            "",
            "Allow: /d/index.html",
            "Disallow: /",
            "disalow /x",
            "Crawl-delay: 3",
        ),
    ]
)
PATHS = st.sampled_from(["/", "/a", "/a/b", "/a/bc", "/d/", "/d/index.html", "/x", "/zzc"])


@given(lines=st.lists(LINES, max_size=14), path=PATHS, end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_line_gives_the_rule_that_decides(lines, path, end):
    """Whatever the file, the rule that decides stands on the line that is named."""
    body, url = end.join(lines).encode(), f"http://a.test{path}"
    rules = parse(body, "webcrawl").rules
    found = rules.deciding(url)

    if found is not None:
        pattern, allowed = found
        number, written = line_of(body, "webcrawl", pattern, allows=allowed)
        assert number > 0
        assert written == lines[number - 1].strip()
        assert written.lower().startswith("allow" if allowed else "disal")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_with_a_mark(encoding):
    """A byte order mark changes no line's number."""
    body = "User-agent: *\n\nDisallow: /é".encode(encoding)

    assert line_of(body, "webcrawl", "/%C3%A9", allows=False)[0] == 3


def test_a_rule_that_is_not_there():
    """Of another version of the file nothing is quoted."""
    assert line_of(b"User-agent: *\nDisallow: /b", "webcrawl", "/a", allows=False) == (0, "")


@given(st.binary(max_size=200))
def test_a_robots_txt_of_any_bytes_is_read(body):
    """A robots.txt of anything is read."""
    line_of(body, "webcrawl", "/a", allows=False)
