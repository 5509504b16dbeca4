"""Words of any language are found as they are written, with or without accents."""

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.record.fulltext.index_fields import MARK, normal, place, prepared, register, schema

SCHEMA = schema()


def found(text, query):
    """Whether a page with this text is found by this query."""
    index = tantivy.Index(SCHEMA)
    register(index)
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
    """Case, accents and the form of characters do not matter; writing without spaces is searched within."""
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
    """Characters of a query stand side by side; words are whole, nothing is stemmed; letters of their own remain."""
    assert not found(text, query)


def test_two_scripts_in_quotes():
    """A phrase may have words of both kinds of writing."""
    assert found("the 東京 tower", '"the 東京 tower"')
    assert not found("the tower 東京", '"the 東京 tower"')


@given(st.text(st.characters(codec="utf-8")))
def test_only_marks_are_added(text):
    """Each character of the normal text becomes one of the prepared text, and `place` finds it again."""
    made = prepared(text)

    assert len(made.replace(MARK, "")) == len(normal(text))
    for at, character in enumerate(made):
        if character != MARK and character.isascii() and character != " ":
            assert normal(text)[place(made, at)] == character


@given(st.text(st.characters(codec="utf-8")))
def test_once_is_enough(text):
    """A prepared text without its marks is prepared as the text was."""
    assert prepared(prepared(text).replace(MARK, "")) == prepared(text)
