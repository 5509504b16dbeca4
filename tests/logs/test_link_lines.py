"""A page's lines of links.log are made all at once: they are those that would be made one by one."""

from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.logs.link_line import field, lines, page_lines
from webcrawl.text.credentials import url_without_credentials

STRANGE = ["a\tb", "\\", "\x7f", "\x00", "\x85", "\u2028", "\ud800", "\u00a0", "é", "http://u:p@a.test/x", "mailto:a@b"]
TEXTS = st.sampled_from(["/x", "two words", "", *STRANGE]) | st.text(max_size=20)
LINKS = st.lists(st.tuples(TEXTS, TEXTS, st.none() | TEXTS, TEXTS), min_size=1, max_size=6)


def one_by_one(page, links):
    rows = [(page, url_without_credentials(raw), url or "", kind, text) for kind, raw, url, text in links]
    return "".join(["\t".join(map(field, row)) + "\n" for row in rows]).encode()


@given(page=TEXTS, links=LINKS)
@example("p", [("a", "x", None, f"{strange}") for strange in STRANGE])
def test_one_join_says_what_fields_say(page, links):
    """Whatever is escaped in one field is escaped in all lines of the page."""
    kinds, addresses, targets, texts = zip(*links, strict=True)
    columns = kinds, addresses, [target or "" for target in targets], texts
    assert page_lines(page, *columns) == lines(page, links) == one_by_one(page, links)


def test_each_strange_character_alone():
    """In any of the fields, beside plain ones."""
    for strange in STRANGE:
        for place in range(4):
            row = ["a", "/x", "http://a.test/x", "text"]
            row[place] = strange
            links = [("a", "/y", None, "plain"), tuple(row)]

            assert lines("http://p.test/", links) == one_by_one("http://p.test/", links)
