"""Structured fields, as far as signatures use them (RFC 9651)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.identity.structured_fields import InnerList, Item, dictionary


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ('a="b"', {"a": Item("b", {}, '"b"')}),
        ("a=1, b=?0,c", {"a": Item(1, {}, "1"), "b": Item(False, {}, "?0"), "c": Item(True, {}, "")}),
        ("a=:AAEC:", {"a": Item(b"\0\1\2", {}, ":AAEC:")}),
        ('a="\\"\\\\";x;y=-2', {"a": Item('"\\', {"x": True, "y": -2}, '"\\"\\\\";x;y=-2')}),
        ("a=token/1", {"a": Item("token/1", {}, "token/1")}),
        (
            'a=("b" "c";k="d");e=1',
            {
                "a": InnerList(
                    [Item("b", {}, '"b"'), Item("c", {"k": "d"}, '"c";k="d"')], {"e": 1}, '("b" "c";k="d");e=1'
                )
            },
        ),
        ("a=()", {"a": InnerList([], {}, "()")}),
        ("a=1, a=2", {"a": Item(2, {}, "2")}),
    ],
)
def test_what_is_read(text, found):
    """A dictionary's members by name, each with the text that stood there; the last of a name counts."""
    assert dictionary(text) == found


WRONG = ['"b"', "A=1", "a=1,", "a=", 'a="b', "a=(1", 'a=("b""c")', "a=:A:", "a=?2", "a=1.5", "a=1 b=2", 'a="\u00e9"']


@pytest.mark.parametrize("text", [*WRONG, "a=1" * 30_000], ids=[*WRONG, "too long"])
def test_what_is_no_dictionary(text):
    """Anything else is refused, be it a field of another type."""
    with pytest.raises(ValueError, match=r"\S"):
        dictionary(text)


@given(st.text(alphabet='abA=(),;:"\\?- 019\té', max_size=40))
def test_any_text_is_read_or_refused(text):
    """No text does anything but be read or be refused with a ValueError."""
    try:
        dictionary(text)
    except ValueError:
        return
