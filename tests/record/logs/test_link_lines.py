"""A page's lines of links.log are made all at once: they are those that would be made one by one."""

from hypothesis import example, given
from hypothesis import strategies as st

from webcrawl.base.readable import url_without_credentials
from webcrawl.base.row_bound import FEW
from webcrawl.store.jobdir.log_lines import MOST, field, link_lines, page_lines, unlogged

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
    assert page_lines(page, *columns) == link_lines(page, links) == one_by_one(page, links)


def test_each_strange_character_alone():
    """In any of the fields, beside plain ones."""
    for strange in STRANGE:
        for place in range(4):
            row = ["a", "/x", "http://a.test/x", "text"]
            row[place] = strange
            links = [("a", "/y", None, "plain"), tuple(row)]

            assert link_lines("http://p.test/", links) == one_by_one("http://p.test/", links)


def test_a_page_of_equal_links_below_a_long_url():
    """Two hundred thousand links below a long URL get so many lines as there is room for, and one with the rest."""
    page, count = f"http://a.test/{'x' * 1980}", 209_000
    columns = ["a"] * count, ["y"] * count, [f"{page}y"] * count, [""] * count

    data = page_lines(page, *columns)

    assert len(data) < MOST + 10_000
    *first, last = data.decode().splitlines()
    assert set(first) == {f"{page}\ty\t{page}y\ta\t"}
    assert last == f"{page}\t\t\tcut\t{count - len(first)}"
    assert unlogged(page, *columns) == count - len(first)


def test_a_page_with_thousands_of_links():
    """An ordinary page has a line for each of its links, however many they are."""
    count = 20_000
    addresses = [f"/articles/2026/11/{number}.html" for number in range(count)]
    targets = [f"http://www.newspaper.example{address}" for address in addresses]
    texts = [f"Headline {number}, as newspapers have them" for number in range(count)]

    page = "http://www.newspaper.example/archive/2026/11/index.html"
    data = page_lines(page, ["a"] * count, addresses, targets, texts)

    assert data.count(b"\n") == count
    assert b"\tcut\t" not in data


def test_a_thousand_links_are_always_there():
    """The first thousand links of a page have lines, however long they are."""
    count, long = 3000, f"http://a.test/{'x' * 1980}"

    data = page_lines(long, ["a"] * count, [long * 2] * count, [long] * count, ["t" * 500] * count)

    assert data.count(b"\n") == FEW + 1
    assert data.endswith(b"\t\t\tcut\t2000\n")
