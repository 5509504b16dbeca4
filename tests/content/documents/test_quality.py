"""What others judge texts by: each measure on a text of which its value is plain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.documents.quality import COLUMNS, plain, quality

LINES = "A line that ends well.\nno end\n- a bullet, and more of it behind\nto be continued...\nno end"


def measured(text):
    return dict(zip(COLUMNS, quality(text), strict=True))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("words", "one two three", 3),
        ("words", "\u4e2d\u6587 word", 3),  # a character of Chinese is a word
        ("mean_word_length", "a bcd", 2.0),
        ("symbol_share", "a # b #", 0.5),
        ("symbol_share", "a b... c\u2026 d", 0.5),
        ("alphabetic_words", "a 1 2 b3", 0.5),
        ("stop_words", "The cat and the hat, to be", 4),
        ("bullet_lines", LINES, 0.2),
        ("ellipsis_lines", LINES, 0.2),
        ("punctuated_lines", LINES, 0.4),
        ("short_lines", LINES, 0.8),
        ("repeated_lines", LINES, 0.2),
        ("repeated_line_characters", "abc\nabc\nab\n", 3 / 8),
        ("repeated_paragraphs", "a\nb\n\nc\n\na\nb\n\nd", 0.25),
        ("top_2_grams", "a b c a b", 0.8),
        ("top_2_grams", "a b c d", 0.0),
        ("top_3_grams", "a b c a b c d d", 0.75),
        ("top_4_grams", "a b c d a b c d", 1.0),
        ("repeated_5_grams", "a b c d e a b c d e", 0.5),
        ("repeated_5_grams", "a a a a a a a a a a a", 10 / 11),  # of two runs that overlap, one is counted
        ("repeated_6_grams", "a b c d e a b c d e", 0.0),
        ("repeated_10_grams", "a b c d e f g h i j a b c d e f g h i j", 0.5),
        ("curly_brackets", "function() {", True),
        ("lorem_ipsum", "Lorem Ipsum dolor", True),
        ("lorem_ipsum", "dolor", False),
    ],
)
def test_a_measure(name, text, value):
    """Shares are of words, lines, paragraphs, characters or letters, as docs/outputs.md says."""
    assert measured(text)[name] == pytest.approx(value)


def test_what_nobody_reads_is_left_out():
    """Addresses of links, and marks of headings."""
    assert plain("## About [us](http://a.test/us)\n\n- C# is [one] (two)") == "About us\n\n- C# is [one] (two)"


@given(st.text(max_size=300) | st.text("a b\n#-.", max_size=300))
def test_any_text_has_all_measures(text):
    """Each of its kind; shares are between 0 and 1."""
    found = measured(text)

    assert {name: type(value) for name, value in found.items()} == COLUMNS
    others = {"words", "mean_word_length", "symbol_share", "stop_words"}
    assert all(0 <= found[name] <= 1 for name in found.keys() - others)


def test_as_datatrove_counts():
    """Runs that come again are counted as datatrove's Gopher filter counts them, but for its blanks."""
    filters = pytest.importorskip("datatrove.pipeline.filters.gopher_repetition_filter", reason="needs datatrove")
    words = (
        "the lamp is lit and the lamp is bright and the lamp is lit and so is the lamp that is lit and bright " * 3
    ).split()
    letters = sum(map(len, words))

    found = measured(" ".join(words))
    assert [round(found[f"repeated_{size}_grams"] * letters) for size in range(5, 11)] == [
        filters.find_all_duplicate(words, size) for size in range(5, 11)
    ]
