"""Possessive groups match the same with every Python."""

import re

import pytest

from webcrawl.base.possessive import compile_possessive, mended

# Of Python's own test for https://github.com/python/cpython/issues/106052
CASES = [
    ("(?:ab?c)++", "aca", (0, 2)),
    ("(?:ab?c)*+", "aca", (0, 2)),
    ("(?:ab?c)?+", "a", (0, 0)),
    ("(?:ab?c){1,3}+", "aca", (0, 2)),
]


@pytest.mark.parametrize(("pattern", "text", "span"), CASES)
def test_what_a_failed_repetition_has_read_is_no_part_of_the_match(pattern, text, span):
    """Python 3.11.2, which Debian 12 has, would match `aca` as a whole."""
    assert compile_possessive(pattern).match(text).span() == span
    assert compile_possessive(pattern.encode()).match(text.encode()).span() == span
    assert re.match(mended(pattern), text).span() == span


@pytest.mark.parametrize(
    "pattern",
    [
        r"[)*+]",
        r"[^])*+]",
        r"[\])*+]",
        r"\)*+",
        r"(?:a)+",
        "a*+",
        "[^a]++",
        r"a{2}+",
        "(?:a)(?:b)*",
    ],
)
def test_what_is_no_possessive_group_stays(pattern):
    """Parentheses within a set of characters, or after a backslash, are no groups."""
    assert mended(pattern) == pattern
