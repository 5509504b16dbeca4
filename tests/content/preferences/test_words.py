"""Each vocabulary by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.content import stated_preferences
from webcrawl.content.purpose_bits import (
    LARGEST,
    PURPOSES,
    allows,
    combined,
    directives,
    forbidden,
    forbids,
    mask,
    names,
    words,
)
from webcrawl.content.stated_preferences import address, tokens

MINING = ("research", "train-ai", "ai-input")


def said(*parts):
    """A statement from words such as `search=n`."""
    found = 0
    for part in parts:
        purpose, _, word = part.partition("=")
        found |= (allows if word == "y" else forbids)(purpose)
    return found


class TestUsage:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (b"train-ai=n", ["train-ai=n"]),
            (b"train-ai=y, search=n", ["train-ai=y", "search=n"]),  # vocab-08, 6
            (b"ai-use=n", ["ai-input=n"]),
            (
                b'train-ai=y, train-ai, search=n, search="n"',
                [],
            ),  # 6.5.1: the last of equal keys counts, and is no token
            (b"train-ai;allow=n, train-ai=y", ["train-ai=y"]),  # 6.5.2
            (b"train-ai=N", []),
            (b"train-ai=no", []),
            # 6.4: unknown labels
            (b"bots=n, all=n, tdm=n, train-genai=n, genai=n, ai-output=n", []),
            (b"search=n, other=y", ["search=n"]),
            (b"search=n; x", ["search=n"]),
        ],
    )
    def test_the_drafts_syntax(self, value, expected):
        """A dictionary of y and n; what is anything else is unknown."""
        assert stated_preferences.usage_statement(value) == said(*expected)

    @pytest.mark.parametrize(
        "value",
        [
            # 6.5.2 has it, though RFC 9651 wants a key behind a semicolon
            b'train-ai;has;parameters="?";',
            b"Train-AI=n",  # 6.1: labels are case-sensitive, and a key is in lower case
            b"search=n,",
            b"search=n, \xff",
        ],
    )
    def test_what_is_no_dictionary(self, value):
        """It says nothing at all, which is not the same as a dictionary that says nothing."""
        assert stated_preferences.usage_statement(value) is None


class TestSignal:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (b"search=yes,ai-train=no,use=reference", ["search=y", "train-ai=n"]),
            (b"ai-train=no, search=yes, ai-input=no", ["train-ai=n", "search=y", "ai-input=n"]),
            (b"Search = YES", ["search=y"]),
            (b"search=y, ai-train", []),
            (b"search=no, search=yes", ["search=n"]),
        ],
    )
    def test_cloudflares_words(self, value, expected):
        """Yes and no for three signals; of two words the stricter one holds."""
        assert forbidden(stated_preferences.signal_statement(value)) == forbidden(said(*expected))
        assert stated_preferences.signal_statement(value) & said(*expected) == said(*expected)


class TestRobotsWords:
    @pytest.mark.parametrize(
        ("given_", "purposes", "kept"),
        [
            ("noindex", ["search"], {"noindex"}),
            ("none", ["search"], {"noindex", "nofollow"}),
            ("noindex nofollow", ["search"], {"noindex", "nofollow"}),
            ("max-snippet: 20; noindex", ["search"], {"noindex"}),
            ("noarchive", ["archive"], {"noarchive"}),
            ("nocache", ["archive"], {"noarchive"}),
            ("nofollow", [], {"nofollow"}),
            ("noai", ["train-ai", "ai-input"], set()),
            ("noimageai", [], {"noimageai"}),
            ("index", [], set()),
            ("nosnippet", [], set()),
        ],
    )
    def test_what_each_forbids(self, given_, purposes, kept):
        """What a word forbids, and which words are kept as they are."""
        found = stated_preferences.robots_statement([given_])

        assert names(forbidden(found)) == tuple(purposes)
        assert directives(found) == kept

    @pytest.mark.parametrize(
        ("line", "ours"),
        [
            ("noindex", True),
            ("*: noindex", True),
            ("webcrawl: noindex", True),
            ("WebCrawl/1.0: noindex", True),
            ("webcrawler/1.0: noindex", False),
            ("otherbot: nofollow, *: noindex", True),
            ("*: nofollow, otherbot: noindex", False),
            (": noindex", False),
        ],
    )
    def test_whom_a_header_names(self, line, ours):
        """What stands behind another crawler's name is not ours; `*` is everybody, and a version
        says nothing.
        """
        assert (
            "noindex"
            in stated_preferences.robots_tag_directives(
                [(b"X-Robots-Tag", line.encode())], "webcrawl"
            )
        ) is ours

    @pytest.mark.parametrize(
        "date",
        [
            "Saturday, 25-Jun-10 15:00:00 PST",
            "25 Jun 2010 15:00:00 PST",
            "Fri, 25 Jun 2010 15:00:00 GMT",
            "Friday, June 25 2010 15:00:00 GMT",
            "Fri Jun 25 2010, 15:00:00 GMT",
            "2010-06-25T15:00:00+00:00",
        ],
    )
    def test_a_date_names_nobody(self, date):
        """No part of a date, in whatever form, is taken for another crawler's name: what follows it
        is ours.
        """
        line = f"unavailable_after: {date}, noindex"

        assert "noindex" in stated_preferences.robots_tag_directives(
            [(b"X-Robots-Tag", line.encode())], "webcrawl"
        )

    @pytest.mark.parametrize("line", ["/1.0: noindex", ": noindex", "webcrawl: noindex"])
    def test_a_name_without_ours(self, line):
        """Where no crawler is named, as in `page.robots`, what stands behind any name is left out."""
        assert (
            stated_preferences.robots_tag_directives([(b"X-Robots-Tag", line.encode())])
            == frozenset()
        )

    def test_of_an_image(self):
        """Noimageai is about images: in the answer of one it forbids what noai does."""
        assert names(forbidden(stated_preferences.robots_statement(["noimageai"], image=True))) == (
            "train-ai",
            "ai-input",
        )


class TestTdm:
    @pytest.mark.parametrize(
        ("value", "no", "yes"), [("1", MINING, ()), (" 1 ", MINING, ()), ("0", (), MINING)]
    )
    def test_reservation(self, value, no, yes):
        """1 reserves mining of every kind, 0 does not."""
        assert (
            names(forbidden(stated_preferences.tdm_statement(value))),
            names(stated_preferences.tdm_statement(value) & mask(PURPOSES)),
        ) == (no, yes)

    @pytest.mark.parametrize("value", ["", "2", "true", "1;x", "10", "\u0661"])
    def test_errors(self, value):
        """Any other value is an error, and counts as none."""
        assert stated_preferences.tdm_statement(value) == 0


class TestStatements:
    @given(st.lists(st.integers(0, LARGEST), max_size=6))
    def test_the_most_restrictive_applies(self, statements):
        """What one statement forbids is forbidden, in whatever order and company."""
        together = combined(statements)

        assert forbidden(together) == combined(map(forbidden, statements))
        assert combined(reversed(statements)) == together

    @given(st.integers(0, LARGEST))
    def test_as_text(self, statement):
        """A statement is written in words, and forbids what they say."""
        text = list(words(statement))
        bits = mask(word[:-2] for word in text if word.endswith("=n"))
        bits |= mask(["search"] * ("noindex" in text)) | mask(["archive"] * ("noarchive" in text))

        assert bits == forbidden(statement)

    @given(st.binary(max_size=100))
    def test_any_bytes_give_statements(self, value):
        """No parser raises, and all give statements."""
        text = value.decode("latin-1")
        usages = [
            stated_preferences.usage_statement(value) or 0,
            stated_preferences.usage_of_lines([value, b""]),
            stated_preferences.usage_of_lines([value, value]),
        ]
        found = [
            *usages,
            stated_preferences.signal_statement(value),
            stated_preferences.tdm_statement(text),
            stated_preferences.robots_statement([text]),
        ]

        assert all(0 <= one <= LARGEST for one in found)
        assert isinstance(address(text), str)


class TestAddresses:
    @pytest.mark.parametrize(
        "value",
        [
            "",
            "/license.xml",
            "ftp://a/",
            "javascript:x",
            "https://a/ b",
            "https://a/\nb",
            "https://" + "a" * 500,
        ],
    )
    def test_only_absolute_web_addresses_count(self, value):
        """Only absolute addresses on the web, of a bounded length."""
        assert address(value) == ""

    def test_what_is_one(self):
        """It is kept as it was written."""
        assert address(" HTTPS://a.test/l.xml ") == "HTTPS://a.test/l.xml"


class TestTokens:
    @pytest.mark.parametrize(
        ("value", "found"),
        [
            (b"", {}),
            (b"a=b", {b"a": b"b"}),
            (b"  a=b ,\t c=d ", {b"a": b"b", b"c": b"d"}),
            (b"a=b;p=1;q, c", {b"a": b"b", b"c": b""}),
            (
                b'a=1, b=1.5, c="x\\"y", d=?1, e=:YQ==:, f=@7, g=%"%c3%a9", h=(1 a;x "b");y=2',
                dict.fromkeys("abcdefgh"),
            ),
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
            *(
                b"a=b,",
                b",a=b",
                b"a=b,,c=d",
                b"A=b",
                b"1=b",
                b"a=",
                b"a =b",
                b"a= b",
                b"a=b c=d",
                b"\ta=b",
            ),
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
        st.dictionaries(
            st.from_regex(r"[a-z*][a-z0-9_.*-]{0,5}", fullmatch=True),
            st.sampled_from("yn"),
            max_size=5,
        )
    )
    def test_what_is_written_is_read(self, values):
        """A dictionary of tokens is read as it was meant."""
        written = ", ".join(f"{key}={token}" for key, token in values.items()).encode()

        assert tokens(written) == {key.encode(): token.encode() for key, token in values.items()}

    def test_a_long_one_takes_no_time(self):
        """Time grows with the length: a megabyte of mistakes is read in a blink."""
        for piece in (b"a;", b"a=(", b'a="', b"a=b,", b"a=(1 ", b"a;a=1;"):
            tokens(piece * (1_000_000 // len(piece)))
