"""What becomes of a query before tantivy reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fulltext import Texts, page
from webcrawl.record.fulltext.index_fields import BadQuery, as_code, asked
from webcrawl.record.fulltext.text_search import Search

PARTS = [
    "lamp",
    "東京",
    "don't",
    "a-b",
    '"',
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "+",
    "-",
    "*",
    "^2",
    "~1",
    ":",
    "\\",
    "/",
    " ",
]
MORE = [
    "AND ",
    "OR ",
    "NOT ",
    " IN ",
    " TO ",
    "site:",
    "after:",
    "before:2020",
    "title:",
    "nofield:",
    "a.test",
    "2026-02-30",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("lamps", "(lamps OR stems_en:lamps^1.0)"),
        ("two lamps", "(two OR stems_en:two^1.0) (lamps OR stems_en:lamps^1.0)"),
        ('"two lamps" title:lamps lamp* don\u2019t', '"two lamps" title:lamps lamp* don\u2019t'),
        ("lamps AND -dim", "(lamps OR stems_en:lamps^1.0) AND -dim"),
        ("title: IN [a b]", "title: IN [a b]"),
        ("ordinal:[1 TO 2]", "ordinal:[1 TO 2]"),
        ("site:A.test", 'site:"a.test"^0'),
        ("-site:http://a.test:81/", '-site:"a.test"^0'),
        ("site:b\u00fccher.test", 'site:"xn--bcher-kva.test"^0'),
        ("after:2026-11", "fetched_at:[2026-11-01T00:00:00Z TO *]"),
        ("before:2026", "fetched_at:{* TO 2026-01-01T00:00:00Z}"),
    ],
)
def test_few_words_are_a_whole(query, found):
    """Words get their stems; three filters are put in tantivy's words; all else stays as it is."""
    assert asked(query, ["en"]).others == [found]


def test_of_many_words_each_is_by_itself():
    """What must be there or must not be there is apart from words of which most suffice."""
    found = asked('one two +three four -five site:a.test "six seven"', [])

    assert found.words == ["one", "two", "four"]
    assert found.others == ["+three", "-five", 'site:"a.test"^0', '"six seven"']


@pytest.fixture(name="search", scope="module")
def _search(tmp_path_factory):
    texts = Texts(tmp_path_factory.mktemp("words"))
    texts.add(page("http://a.test/", "<html lang=en><p>a lamp in 東京"))
    texts.stop()
    return Search(texts.root)


@given(st.lists(st.sampled_from([*PARTS, *MORE]) | st.text(max_size=3), max_size=12).map("".join))
def test_any_query_is_answered_or_refused(search, query):
    """Whatever is typed, there are pages or a BadQuery, and nothing else."""
    try:
        list(search.find(query, 3)[1])
    except BadQuery:
        return


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Vec::new", '"Vec::new"'),
        ("vec![1, 2]", '"vec![1," "2]"'),
        ("fn main() {", 'fn "main()"'),
        ("#[derive(Debug)] site:a.test", '"#[derive(Debug)]" site:a.test'),
        ("lifetime 'a", 'lifetime "\'a"'),
        ("Vec::new OR +String::new -lamp -x()", '"Vec::new" OR +"String::new" -lamp -"x()"'),
        ('"two lamps" len()', '"two lamps" "len()"'),
        ("(lamp OR", None),
        ("no such:", None),
    ],
)
def test_words_of_code_are_phrases(query, found):
    """In a query that has any, and that is not understood; signs, filters and operators keep their meaning."""
    assert as_code(query) == found
