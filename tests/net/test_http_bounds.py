"""The limits of a response, and the flaws that are recorded."""

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.net_answers import PAGE, WHOLE, ZIPPED, chunked, head, read, told
from webcrawl.base.zstd_frame import zstd
from webcrawl.net.errors import FetchError, HeadTooLong, TooManyInterim
from webcrawl.net.http_answer import AnswerParser
from webcrawl.net.http_framing import MAX_HEAD


class TestBounds:
    @pytest.mark.parametrize("fields", [(), (b"Content-Length: 5000",)])
    @given(splits=st.lists(st.integers(0, 5100), max_size=5))
    def test_a_plain_body_is_truncated_exactly(self, fields, splits):
        """A body that is too long is truncated at `truncate`, all three forms alike."""
        message = read(head(*fields) + b"x" * 5000, splits, truncate=1000)
        wire, payload, body = message.forms()

        assert message.truncated == "length"
        assert body == b"x" * 1000
        assert wire is payload is body

    def test_a_body_of_just_the_limit_is_whole(self):
        """A body of exactly `truncate` bytes is not truncated."""
        for raw in (
            head() + b"x" * 1000,
            head(b"Transfer-Encoding: chunked") + chunked(b"x" * 1000),
        ):
            message = read(raw, truncate=1000)

            assert (message.truncated, len(message.forms()[2])) == ("", 1000)

    def test_an_endless_body_is_left(self):
        """Once the limit is exceeded the message is done, though the server continues."""
        answer = AnswerParser(10_000)
        answer.feed(head(b"Transfer-Encoding: chunked"))
        fed = 0
        while answer.feed(chunked(b"x" * 1000)[:-5]) is None:
            fed += 1

        assert fed <= 10

    def test_a_coded_body_is_truncated_once_decoded(self):
        """The limit counts decoded bytes; the wire data is kept as received."""
        message = read(WHOLE["gzip"], truncate=100)
        wire, payload, body = message.forms()

        assert (message.truncated, body) == ("length", PAGE[:100])
        assert wire == payload == ZIPPED

    @pytest.mark.parametrize(
        "filler",
        [b"1;" + b"x" * 1000 + b"\r\n" + b"a\r\n", b"1\r\na\r\n"],
        ids=["extensions", "one byte each"],
    )
    def test_chunks_of_nothing_are_bounded(self, filler):
        """Chunk sizes and extensions count too: no server makes us read endlessly."""
        answer = AnswerParser(100_000)
        answer.feed(head(b"Transfer-Encoding: chunked"))
        piece, fed = filler * 100, 0
        while answer.feed(piece) is None:
            fed += len(piece)

        assert fed <= 2 * 100_000 + 65536

    def test_endless_trailers_are_bounded(self):
        """An endless trailer section is truncated like an endless body."""
        answer = AnswerParser(10_000)
        answer.feed(head(b"Transfer-Encoding: chunked") + b"0\r\n")
        fed = 0
        while (message := answer.feed(b"X-Trailer: and so on\r\n" * 100)) is None:
            fed += 1

        assert message.truncated == "length"
        assert fed < 100

    def test_a_coding_that_makes_nothing_is_bounded(self):
        """A coded stream without output is abandoned after twice the limit."""
        answer = AnswerParser(10_000)
        answer.feed(head(b"Content-Encoding: gzip"))
        answer.feed(b"\x1f\x8b\x08\x10\0\0\0\0\0\0")  # a gzip header with an endless comment
        fed = 0
        while (message := answer.feed(b"c" * 1000)) is None:
            fed += 1

        assert message.truncated == "length"
        assert fed < 100

    @pytest.mark.parametrize("separate", [True, False])
    def test_too_many_fields(self, separate):
        """A head of more than 200 fields is refused; one of 200 is not."""
        fields = [b"X-%d: y" % number for number in range(199)]
        raw = head(*fields, b"Content-Length: 0"), head(*fields, b"Content-Length: 0", b"X: y")
        splits = range(5000) if separate else ()

        assert read(raw[0], splits).head.status == 200
        with pytest.raises(HeadTooLong):
            read(raw[1], splits)

    @pytest.mark.parametrize(
        "filler",
        [b"X-Flood: y\r\n", b"x" * 100, b"\r\n", b"HTTP/1.1 100 Continue\r\nX: yyyyyyyyyyyyyyyyyy"],
    )
    def test_an_endless_head_ends(self, filler):
        """An endless head, in any shape, is refused after 64 KiB."""
        answer = AnswerParser(1000)
        start = b"" if filler == b"\r\n" else b"HTTP/1.1 200 OK\r\n"
        answer.feed(start)
        fed = []

        def flood():
            while answer.feed(filler * 50) is None:
                fed.append(len(filler) * 50)

        with pytest.raises(HeadTooLong):
            flood()
        assert 50_000 < sum(fed) <= 65536

    def test_interim_answers_without_end(self):
        """Ten responses of status 1xx are accepted, an eleventh is not."""
        interim = head(status=b"100 Continue")

        assert read(interim * 10 + head(b"Content-Length: 0")).head.status == 200
        with pytest.raises(TooManyInterim):
            read(interim * 11)


def _interim(size):
    """A 1xx head of so many bytes."""
    least = len(head(b"X: ", status=b"103 Early Hints"))
    return head(b"X: " + b"y" * (size - least), status=b"103 Early Hints")


def _around_the_bound(past, sizes, lines, between, rest):
    """1xx heads of these sizes and one more, empty lines, and a response whose head ends `past` the
    bound.
    """
    last, start = head(b"Content-Length: 3"), b"".join(map(_interim, sizes))
    before = b"\r\n" * lines + between
    return (
        start + _interim(MAX_HEAD + past - len(start + before + last)) + before + last + b"a" * rest
    )


class TestAllHeads:
    @pytest.mark.parametrize(
        "splits", [(), range(0, 70_000, 1000), (MAX_HEAD,), (MAX_HEAD + 1,)], ids=str
    )
    def test_heads_count_together(self, splits):
        """Heads of status 1xx count with the final one: 64 KiB in all are accepted, one byte more
        is not.
        """
        last = head(b"Content-Length: 3")
        for over in (0, 1):
            raw = _interim(40_000) + _interim(MAX_HEAD - 40_000 - len(last) + over) + last + b"abc"
            if over:
                with pytest.raises(HeadTooLong):
                    read(raw, splits)
            else:
                assert read(raw, splits).forms()[2] == b"abc"

    @given(
        past=st.integers(-60, 100),
        sizes=st.lists(st.integers(100, 15_000), max_size=3),
        lines=st.integers(0, 40),
        between=st.sampled_from([b"", b"<html>", b"HTx", b"H"]),
        rest=st.sampled_from([0, 3, 70_000]),
        splits=st.lists(st.integers(-60, 60), max_size=6),
    )
    def test_any_split_around_the_bound_gives_the_same(
        self, past, sizes, lines, between, rest, splits
    ):
        """Near the bound too, the response or error is the same however it is split."""
        raw = _around_the_bound(past, sizes, lines, between, rest)

        def outcome(splits):
            try:
                return told(read(raw, splits))[:-1]  # the rest may not have been requested
            except FetchError as error:
                return type(error)

        each_byte = range(MAX_HEAD - 100, MAX_HEAD + 100)
        assert outcome(()) == outcome([MAX_HEAD + split for split in splits]) == outcome(each_byte)


class TestFlaws:
    @pytest.mark.parametrize(
        "junk", [b"zz\r\nabc", b"-1\r\n", b"FFFFFFFFFFFFFFFFFF\r\n", b"\0", b"<html>plain</html>"]
    )
    def test_broken_chunks(self, junk):
        """A body with broken chunks is kept up to there, with a flaw."""
        message = read(head(b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n" + junk, close=False)

        assert (message.truncated, message.flaws) == ("unspecified", ["chunking"])
        assert message.forms()[1] == b"abc"
        assert not message.reusable

    @pytest.mark.parametrize("splits", [(), range(5000)], ids=["whole", "split"])
    def test_chunks_with_line_ends_of_lf_alone(self, splits):
        """A chunked body without CRs is read, and known to be complete without the end of the
        connection.
        """
        message = read(
            head(b"Transfer-Encoding: chunked") + chunked(PAGE).replace(b"\r", b""),
            splits,
            close=False,
        )

        assert message.forms()[1] == PAGE
        assert (message.truncated, message.reusable) == ("", True)

    def test_a_wrong_label_leaves_the_body_as_it_is(self):
        """A body that is not coded as its label says is kept as received, with a flaw."""
        for coding in (b"gzip", b"deflate", b"br", b"zstd"):
            message = read(
                head(b"Content-Encoding: " + coding, b"Content-Length: %d" % len(PAGE)) + PAGE
            )

            assert message.forms()[2] == PAGE
            assert (message.flaws, message.truncated) == (["coding"], "")

    @pytest.mark.parametrize("page", [b"ok", b"<p>hello", b"hello j> tac/"])
    def test_short_text_under_a_wrong_label_is_not_truncated(self, page):
        """What is too short to tell a wrong label from the beginning of a coded stream is kept as
        received.
        """
        for coding in (b"gzip", b"br", b"zstd"):
            message = read(
                head(b"Content-Encoding: " + coding, b"Content-Length: %d" % len(page)) + page
            )

            assert (message.forms()[2], message.flaws, message.truncated) == (page, ["coding"], "")

    def test_a_coded_stream_of_which_nothing_can_be_decoded(self):
        """A stream that ends before anything can be decoded is truncated too."""
        truncated = brotli.compress(b" ".join(b"%d" % (number * 7919) for number in range(9000)))[
            :100
        ]
        message = read(
            head(b"Content-Encoding: br", b"Content-Length: %d" % len(truncated)) + truncated
        )

        assert message.forms()[2] == truncated
        assert (message.flaws, message.truncated) == (["coding"], "disconnect")

    def test_a_wrong_label_does_not_lift_the_limit(self):
        """A body kept as received is truncated like any other."""
        message = read(head(b"Content-Encoding: gzip") + b"x" * 5000, truncate=1000)

        assert (len(message.forms()[2]), message.truncated) == (1000, "length")

    def test_an_unknown_coding(self):
        """A body in an unknown coding is kept as received, with a flaw."""
        message = read(head(b"Content-Encoding: compress", b"Content-Length: 3") + b"abc")

        assert (message.forms()[2], message.flaws) == (b"abc", ["unknown_coding"])

    @pytest.mark.parametrize("coding", [b"dcb", b"dcz", b"dcz, gzip", b"br, dcb"])
    def test_a_coding_that_needs_a_dictionary(self, coding):
        """One of RFC 9842 is unknown like any other, alone or beside others, even if its stream
        could be decoded.
        """
        body = b"\x5e\x2a\x4d\x18\x20\0\0\0" + bytes(32) + zstd.compress(PAGE)
        message = read(
            head(b"Content-Encoding: " + coding, b"Content-Length: %d" % len(body)) + body
        )

        assert (message.forms()[2], message.flaws) == (body, ["unknown_coding"])

    def test_a_coding_around_nothing(self):
        """An empty body with a coding is an empty body."""
        message = read(head(b"Content-Encoding: gzip", b"Content-Length: 0"))

        assert (message.forms()[2], message.flaws) == (b"", [])

    def test_a_coded_stream_without_its_end(self):
        """A complete message with an incomplete coded stream gives what can be decoded, and is
        truncated.
        """
        truncated = ZIPPED[:-20]
        message = read(
            head(b"Content-Encoding: gzip", b"Content-Length: %d" % len(truncated)) + truncated
        )

        assert PAGE.startswith(message.forms()[2])
        assert (message.flaws, message.truncated) == (["coding"], "disconnect")

    @pytest.mark.parametrize("missing", range(1, 9))
    def test_a_coded_stream_without_its_checksum(self, missing):
        """Where only the checksum at the end of gzip is missing, in part or whole, the body is
        whole, with a flaw.
        """
        truncated = ZIPPED[:-missing]
        message = read(
            head(b"Content-Encoding: gzip", b"Content-Length: %d" % len(truncated)) + truncated
        )

        assert message.forms()[2] == PAGE
        assert (message.flaws, message.truncated) == (["coding"], "")
