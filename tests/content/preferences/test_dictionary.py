"""Dictionaries of RFC 9651, as far as tokens are wanted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content.preferences.structured_fields import tokens


class TestTokens:
    @pytest.mark.parametrize(
        ("value", "found"),
        [
            (b"", {}),
            (b"a=b", {b"a": b"b"}),
            (b"  a=b ,\t c=d ", {b"a": b"b", b"c": b"d"}),
            (b"a=b;p=1;q, c", {b"a": b"b", b"c": b""}),
            (b'a=1, b=1.5, c="x\\"y", d=?1, e=:YQ==:, f=@7, g=%"%c3%a9", h=(1 a;x "b");y=2', dict.fromkeys("abcdefgh")),
            (b"a=b, a=c", {b"a": b"c"}),
            (b"a=b, a", {b"a": b""}),
            (b"*x.y_z-1=T/o:k", {b"*x.y_z-1": b"T/o:k"}),
        ],
    )
    def test_what_is_a_dictionary(self, value, found):
        """Of each key the last value counts; what is no token is empty."""
        expected = {key.encode(): b"" for key in found} if None in found.values() else found

        assert tokens(value) == expected

    @pytest.mark.parametrize(
        "value",
        [
            *(b"a=b,", b",a=b", b"a=b,,c=d", b"A=b", b"1=b", b"a=", b"a =b", b"a= b", b"a=b c=d", b"\ta=b"),
            *(
                b'a="x',
                b"a=1.",
                b"a=1.2345",
                b"a=1234567890123456",
                b"a=?2",
                b"a=(1 2",
                b"a=b;P",
                b"a=\xe9",
                b"a=b\x00",
            ),
        ],
    )
    def test_one_mistake_makes_all_of_it_nothing(self, value):
        """One mistake makes all of it nothing."""
        assert tokens(value) is None

    @given(st.binary(max_size=200) | st.text('ab=,;"()? \t1.*yn-', max_size=60).map(str.encode))
    def test_any_bytes_are_a_dictionary_or_none(self, value):
        """Whatever comes, it is a dictionary or none."""
        found = tokens(value)

        assert found is None or all(value.count(key) for key in found)

    @given(
        st.dictionaries(st.from_regex(r"[a-z*][a-z0-9_.*-]{0,5}", fullmatch=True), st.sampled_from("yn"), max_size=5)
    )
    def test_what_is_written_is_read(self, values):
        """A dictionary of tokens is read as it was meant."""
        written = ", ".join(f"{key}={token}" for key, token in values.items()).encode()

        assert tokens(written) == {key.encode(): token.encode() for key, token in values.items()}

    def test_a_long_one_takes_no_time(self):
        """Time grows with the length: a megabyte of mistakes is read in a blink."""
        for piece in (b"a;", b"a=(", b'a="', b"a=b,", b"a=(1 ", b"a;a=1;"):
            tokens(piece * (1_000_000 // len(piece)))
