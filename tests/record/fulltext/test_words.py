"""Words of any language are found as they are written, with or without accents."""

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fulltext import Texts, page
from webcrawl.record.fulltext.index_fields import (
    MARK,
    composed,
    parse_query,
    position_in_composed,
    prepared,
    quote_code,
    register_analyzers,
    schema,
)
from webcrawl.record.fulltext.text_search import IndexSearch

SCHEMA = schema()


def found(text, query):
    """Whether a page with this text is found by this query."""
    index = tantivy.Index(SCHEMA)
    register_analyzers(index)
    writer = index.writer(15_000_000, 1)
    writer.add_document(tantivy.Document.from_dict({"body": prepared(text)}, SCHEMA))
    writer.commit()
    index.reload()
    parsed = index.parse_query(prepared(query), ["body"], conjunction_by_default=True)
    return bool(index.searcher().search(parsed).hits)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The naïve Ångström", "naive ANGSTROM"),
        ("naive", "naïve"),
        ("cafe\u0301", "café"),
        ("Straße", "strasse"),
        ("στην Ελλάδα είναι", "Ελλαδα ΕΙΝΑΙ"),  # noqa: RUF001
        ("ещё раз", "еще"),
        ("أهلا وسهلا", "اهلا"),
        ("私は東京タワーに行った", "東京タワー"),
        ("私は東京タワーに行った", "タワー 私"),
        ("中华人民共和国", "人民"),
        ("한국은 아름답다", "한국"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("東京2020大会", "東京2020"),
        ("don't stop", "don\u2019t"),
        ("a\u200bb", "a b"),
    ],
)
def test_found(text, query):
    """Case, accents and the form of characters do not matter; writing without spaces is searched
    within.
    """
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("私は東京タワーに行った", "京東"),
        ("東は京ではない", "東京"),
        ("walking", "walk"),
        ("мой", "мои"),
        ("stop don't", '"stop t don"'),
    ],
)
def test_not_found(text, query):
    """Characters of a query stand side by side; words are whole, nothing is stemmed; letters of
    their own remain.
    """
    assert not found(text, query)


def test_two_scripts_in_quotes():
    """A phrase may have words of both kinds of writing."""
    assert found("the 東京 tower", '"the 東京 tower"')
    assert not found("the tower 東京", '"the 東京 tower"')


@given(st.text(st.characters(codec="utf-8")))
def test_only_marks_are_added(text):
    """Each character of the normal text becomes one of the prepared text, and its place is found
    again.
    """
    made = prepared(text)

    assert len(made.replace(MARK, "")) == len(composed(text))
    for at, character in enumerate(made):
        if character != MARK and character.isascii() and character != " ":
            assert composed(text)[position_in_composed(made, at)] == character


@given(st.text(st.characters(codec="utf-8")))
def test_once_is_enough(text):
    """A prepared text without its marks is prepared as the text was."""
    assert prepared(prepared(text).replace(MARK, "")) == prepared(text)


# -- What becomes of a query before tantivy reads it.

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
    assert parse_query(query, ["en"]).others == [found]


def test_of_many_words_each_is_by_itself():
    """What must be there or must not be there is apart from words of which most suffice."""
    found = parse_query('one two +three four -five site:a.test "six seven"', [])

    assert found.words == ["one", "two", "four"]
    assert found.others == ["+three", "-five", 'site:"a.test"^0', '"six seven"']


@pytest.fixture(name="search", scope="module")
def _search(tmp_path_factory):
    texts = Texts(tmp_path_factory.mktemp("words"))
    texts.add(page("http://a.test/", "<html lang=en><p>a lamp in 東京"))
    texts.stop()
    return IndexSearch(texts.root)


@given(st.lists(st.sampled_from([*PARTS, *MORE]) | st.text(max_size=3), max_size=12).map("".join))
def test_any_query_is_answered(search, query):
    """Whatever is typed, pages are searched for; no remark shows what the query is expanded to."""
    list(search.find(query, 3)[1])

    assert "stems_" not in search.read(query).remark


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
    """In a query that has any, and that is not understood; signs, filters and operators keep their
    meaning.
    """
    assert quote_code(query) == found
