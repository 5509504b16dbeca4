"""Responses as bytes, without a network: in any pieces, up to any end."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.net_answers import PAGE, WHOLE, ZIPPED, chunked, head, read, told
from webcrawl.net import http_framing
from webcrawl.net.errors import (
    BadAnswer,
    BadHead,
    ConnectionLost,
    EmptyAnswer,
    NotHttp,
    TimedOut,
    Upgraded,
)
from webcrawl.net.http_answer import AnswerParser


@pytest.mark.parametrize("name", WHOLE)
class TestSplits:
    @given(splits=st.lists(st.integers(0, 5000), max_size=12))
    def test_any_split_gives_the_same_message(self, name, splits):
        """However a response is split into pieces, the message is the same."""
        assert told(read(WHOLE[name], splits)) == told(read(WHOLE[name]))


class TestForms:
    @pytest.mark.parametrize("name", ["length", "close", "1.0"])
    def test_without_codings_there_is_one_body(self, name):
        """A body without codings is stored once for all its forms."""
        message = read(WHOLE[name])
        wire, payload, body = message.forms()

        assert wire is payload is body
        assert body == PAGE
        assert not message.truncated

    def test_the_three_forms_of_a_coded_body(self):
        """Wire is as received, payload without chunks, body decoded."""
        wire, payload, body = read(WHOLE["gzip chunked"]).forms()

        assert (wire, payload, body) == (chunked(ZIPPED, 7), ZIPPED, PAGE)

    def test_the_head_is_kept_exactly(self):
        """The head's bytes are kept exactly, oddities included, from the status line to the empty
        line.
        """
        raw = b"HTTP/1.1  200   Fine thanks\nX-A:b \n  folded\nNo colon here\ncontent-LENGTH : 3\n\r\n"
        message = read(raw + b"abc")

        assert message.head.raw == raw
        assert message.head.headers == [(b"X-A", b"b folded"), (b"Content-Length", b"3")]
        assert message.forms()[2] == b"abc"

    def test_blank_lines_before_the_head_are_no_part_of_it(self):
        """RFC 9112 2.2: empty lines before the status line are ignored."""
        assert read(WHOLE["blank lines first"]).head.raw == head(b"Content-Length: 3")

    def test_interim_answers_are_passed_over(self):
        """Only the final head counts."""
        assert read(WHOLE["interim"]).head.raw == head(b"Content-Length: 3")

    def test_repeated_and_empty_fields_stay(self):
        """Header fields keep order, repetition, case and non-ASCII bytes."""
        fields = [
            (b"Set-Cookie", b"a=1"),
            (b"X-Empty", b""),
            (b"set-cookie", b"b=\xe4"),
            (b"Content-Length", b"0"),
        ]
        message = read(head(*(b"%b: %b" % field for field in fields)))

        assert message.head.headers == fields


class TestEnds:
    @pytest.mark.parametrize("name", ["length", "chunked", "gzip", "gzip chunked"])
    @given(data=st.data())
    def test_an_early_end_is_noticed(self, name, data):
        """A body with framing that ends early is truncated by disconnection; a partial head is
        lost.
        """
        whole = WHOLE[name]
        truncated = whole[: data.draw(st.integers(1, len(whole) - 1))]
        if b"\r\n\r\n" not in truncated:
            with pytest.raises(ConnectionLost):
                read(truncated)
            return
        message = read(truncated)
        body = message.forms()[2]

        # the last chunk is there
        all_but_a_line = truncated.endswith((b"\n0\r", b"\n0\r\n", b"\n0\r\n\r"))
        assert message.truncated == ("" if "chunked" in name and all_but_a_line else "disconnect")
        assert not message.reusable
        assert PAGE.startswith(body)
        assert body == PAGE or message.truncated
        assert message.flaws == []

    def test_no_byte_at_all(self):
        """A connection that ends without a byte has its own error: it may have been stale."""
        with pytest.raises(EmptyAnswer):
            read(b"")

    def test_a_reset_is_no_end_of_a_body(self):
        """A body that lasts until the close is not complete if the connection was reset."""
        answer = AnswerParser(1000)
        answer.feed(WHOLE["close"][:100])

        assert answer.lost(reset=True).truncated == "disconnect"

    def test_the_deadline(self):
        """At the deadline there is a truncated message if the head is complete, else an error."""
        answer = AnswerParser(1000)
        with pytest.raises(TimedOut):
            answer.expire()
        answer.feed(WHOLE["length"][:60])

        assert answer.expire().truncated == "time"


class TestAnyBytes:
    @given(
        data=st.lists(
            st.sampled_from(
                [b"HTTP/1.1 200 OK", b"HTTP/1.0 301 x", b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\0", b"5", b"0",
                 b"a", b"Content-Length", b"Transfer-Encoding", b"chunked", b"Content-Encoding", b"gzip", b",",
                 b"close", b"Connection", ZIPPED[:20], b"ffffffffffffffff", b"\xff", b"Upgrade", b"100"],
            ) | st.binary(max_size=5),
            max_size=40,
        ).map(b"".join),
        prefix=st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", head(b"Transfer-Encoding: chunked")]),
        splits=st.lists(st.integers(0, 100), max_size=5),
    )  # fmt: skip
    @example(data=b"", prefix=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", splits=[])
    def test_any_bytes_end_in_a_message_or_a_named_error(self, data, prefix, splits):
        """Whatever a server sends is a message or a FetchError, and the same however it is split."""

        def outcome(splits):
            try:
                status, raw, headers, _, payload, body, *rest = told(read(prefix + data, splits))
            except (BadAnswer, ConnectionLost) as error:
                return type(error)
            return status, raw, headers, payload, body, *rest[:2]

        assert outcome(range(1, 2000)) == outcome(splits) == outcome(())


class TestFraming:
    @pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
    def test_answers_without_body(self, status):
        """RFC 9112 6.3: 204 and 304 end with their head, whatever length they state."""
        message = read(head(b"Content-Length: 5", status=status), close=False)

        assert message.reusable
        assert message.forms() == (b"", b"", b"")

    def test_a_body_where_none_may_be_spoils_the_connection(self):
        """Data after a 204 belongs to nothing: the connection is not reused."""
        message = read(head(status=b"204 No Content") + b"surprise", close=False)

        assert not message.reusable
        assert message.forms()[2] == b""

    def test_the_answer_to_head_has_no_body(self):
        """A response to HEAD ends with its head, though it states a length."""
        message = read(head(b"Content-Length: 500"), bodiless=True, close=False)

        assert (message.forms()[2], message.truncated, message.reusable) == (b"", "", True)

    @pytest.mark.parametrize(
        ("fields", "version", "reusable"),
        [
            ((), b"1.1", True),
            ((b"Connection: close",), b"1.1", False),
            ((b"Connection: x, CLOSE",), b"1.1", False),
            ((), b"1.0", False),
            ((b"Connection: Keep-Alive",), b"1.0", True),
            ((b"Connection: keep-alive, close",), b"1.1", False),
        ],
    )
    def test_when_a_connection_lives_on(self, fields, version, reusable):
        """RFC 9112 9.3: 1.1 persists unless closed, 1.0 closes unless kept alive."""
        assert (
            read(head(b"Content-Length: 1", *fields, version=version) + b"x").reusable is reusable
        )

    def test_chunks_override_the_length(self):
        """RFC 9112 6.3: with Transfer-Encoding, Content-Length is ignored."""
        message = read(
            head(b"Content-Length: 3", b"Transfer-Encoding: chunked") + chunked(b"0123456789"),
            close=False,
        )

        assert message.forms()[1] == b"0123456789"

    @pytest.mark.parametrize("lengths", [[b"3", b"3"], [b"3, 3"], [b"3,03", b" 3 "], [b"", b"3"]])
    def test_lengths_that_agree(self, lengths):
        """RFC 9110 8.6: a length stated several times is that length."""
        message = read(
            head(*(b"Content-Length: " + length for length in lengths)) + b"abc", close=False
        )

        assert message.forms()[2] == b"abc"

    @pytest.mark.parametrize(
        "lengths",
        [[b"3", b"4"], [b"3, 4"], [b"-3"], [b"+3"], [b"3x"], [b"three"], [b"3 4"], [b"0x3"]],
    )
    def test_lengths_that_make_no_sense(self, lengths):
        """A contradictory or non-numeric length is an error: its framing cannot be trusted."""
        with pytest.raises(BadHead):
            read(head(*(b"Content-Length: " + length for length in lengths)) + b"abc")

    def test_a_length_beyond_all_numbers_tells_nothing(self):
        """An impossibly large length is ignored: the body ends with the connection."""
        message = read(head(b"Content-Length: 36893488147419103232") + b"abc")

        assert (message.forms()[2], message.truncated) == (b"abc", "")

    def test_identity_is_no_transfer_coding(self):
        """RFC 2616 3.6: beside it the length counts, and the connection is kept."""
        message = read(
            head(b"Transfer-Encoding: Identity", b"Content-Length: 3") + b"abc", close=False
        )

        assert (message.forms()[2], message.truncated, message.reusable) == (b"abc", "", True)

    def test_chunked_said_twice(self):
        """Chunked twice in the list is chunked once on the wire."""
        fields = (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked")

        assert read(head(*fields) + chunked(b"abc"), close=False).forms()[1] == b"abc"

    @pytest.mark.parametrize("splits", [(), range(5000)], ids=["whole", "split"])
    @pytest.mark.parametrize("name", ["length", "chunked", "trailer", "gzip chunked"])
    @pytest.mark.parametrize("second", ["length", "chunked", "close"])
    def test_an_answer_behind_the_answer_is_no_part_of_it(self, name, second, splits):
        """A second response after the first, with its own body, is not part of the first."""
        message = read(WHOLE[name] + WHOLE[second], splits, close=False)

        assert message.forms()[2] == PAGE
        assert (message.truncated, message.flaws) == ("", [])

    def test_bytes_after_the_message_spoil_the_connection(self):
        """A connection with excess data is not reused."""
        for name in ("length", "chunked"):
            message = read(WHOLE[name] + b"HTTP/1.1 200 OK\r\n", close=False)

            assert message.forms()[1] == PAGE
            assert not message.reusable


CHUNKED = head(b"Transfer-Encoding: chunked")
EXTENSIONS = [b" ; a=b", b"; a", b";a = b", b';a = "x;y"', b'\t;\ta\t=\t"\\"\xc3\xa4" ; b ;c']


class TestChunks:
    @pytest.mark.parametrize("splits", [(), range(5000)], ids=["whole", "split"])
    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_blanks_around_extensions(self, extension, splits):
        """RFC 9112 7.1.1: an extension may have blanks around its signs; it is ignored."""
        body = b"5\r\nhello\r\n6%b\r\n world\r\n0%b\r\n\r\n" % (extension, extension)
        message = read(CHUNKED + body, splits, close=False)

        assert message.forms() == (body, b"hello world", b"hello world")
        assert (message.truncated, message.flaws, message.reusable) == ("", [], True)

    @pytest.mark.parametrize("splits", [(), range(5000)], ids=["whole", "split"])
    @pytest.mark.parametrize(
        "trailer",
        [
            b"Content-Length: 7\r\n",
            b"Content-Length: x\r\n",
            b"Transfer-Encoding: gzip\r\nContent-Length: 7\r\nContent-Length: 8\r\n",
            b"X: folded\r\n once\r\nConnection: upgrade\r\nUpgrade: h2c\r\n",
            b"Content-Encoding: gzip\r\n",
        ],
    )
    def test_trailer_fields_change_nothing(self, trailer, splits):
        """RFC 9112 7.1.2: trailers are no headers, whatever they say of framing; the page is whole."""
        message = read(CHUNKED + chunked(PAGE, trailer=trailer), splits, close=False)

        assert message.forms()[2] == PAGE
        assert (message.truncated, message.flaws, message.reusable) == ("", [], True)
        assert message.head.headers == [(b"Transfer-Encoding", b"chunked")]

    @pytest.mark.parametrize("splits", [(), range(5000)], ids=["whole", "split"])
    @pytest.mark.parametrize(
        "junk",
        [b"\0", b"x", b"5 ; a=b\r\nhelloX", b"5 ;\r\nhello", b"5 ; a=b c\r\n", b"1" * 17 + b" ; a"],
    )
    def test_what_is_no_extension_breaks_the_chunks(self, junk, splits):
        """Chunks that the grammar does not know are kept up to there; nobody waits for the rest of
        their line.
        """
        message = read(CHUNKED + b"3\r\nabc\r\n" + junk, splits, close=False)

        assert (message.truncated, message.flaws) == ("unspecified", ["chunking"])
        assert message.forms()[1] in (b"abc", b"abchello")

    @pytest.mark.parametrize("chunk", [b"1\na\n", b"1 ; a\r\na\r\n"])
    @pytest.mark.parametrize("piece", [1000, 7])
    def test_chunks_read_line_by_line_are_bounded(self, monkeypatch, chunk, piece):
        """They cost more than llhttp's: a body of more than so many is broken there."""
        monkeypatch.setattr(http_framing, "MOST_CHUNKS", 500)
        data = CHUNKED + chunk * 501 + b"0\r\n\r\n"
        message = read(data, range(0, len(data), piece), close=False)

        assert (message.forms()[1], message.flaws) == (b"a" * 500, ["chunking"])

    def test_a_trailer_that_is_no_field(self):
        """A line behind the last chunk that is no field spoils the end: it may be of another
        response.
        """
        message = read(CHUNKED + b"3\r\nabc\r\n0\r\nno field\r\n\r\n", close=False)

        assert (message.forms()[1], message.flaws, message.reusable) == (
            b"abc",
            ["chunking"],
            False,
        )

    def test_the_end_without_its_empty_line(self):
        """The connection may take the place of the empty line after the last chunk, with extensions
        too.
        """
        message = read(CHUNKED + b"3 ; a\r\nabc\r\n0 ; a\r\n")

        assert (message.forms()[1], message.truncated) == (b"abc", "")

    def test_a_second_answer_behind_extensions(self):
        """What follows the last chunk is another message, also where extensions have blanks."""
        message = read(CHUNKED + b"3 ; a\r\nabc\r\n0\r\n\r\n" + WHOLE["chunked"], close=False)

        assert (message.forms()[1], message.truncated, message.reusable) == (b"abc", "", False)


class TestRefusals:
    @pytest.mark.parametrize(
        "start",
        [
            b"<html>",
            b"SSH-2.0-OpenSSH",
            b"\x15\x03\x01",
            b"ICY 200 OK\r\n\r\n",
            b"H",
            b"\0",
            b"220 ftp",
            b"RTSP/1.0 200 OK",
        ],
    )
    def test_what_is_no_http(self, start):
        """A response without a status line is refused at its first bytes."""
        with pytest.raises((NotHttp, ConnectionLost)):
            read(start)

    def test_refusal_does_not_wait_for_the_end(self):
        """Data that cannot become a status line is refused while the connection is still open."""
        with pytest.raises(NotHttp):
            AnswerParser(1000).feed(b"<h")

    @pytest.mark.parametrize(
        "line",
        [
            b"HTTP/1.1 2 OK",
            b"HTTP/1.1 20000 OK",
            b"HTTP/1.1 099 OK",
            b"HTTP/1.1 OK",
            b"HTTP/one 200 OK",
            b"HTTP/1.1",
            b"HTTP/01.1 200",
        ],
    )
    def test_status_lines_that_say_nothing(self, line):
        """A status line without a three-digit status is refused."""
        with pytest.raises(BadHead):
            read(line + b"\r\nContent-Length: 0\r\n\r\n")

    def test_a_nul_in_the_head(self):
        """A the head contains a NUL byte is refused: its context cannot be trusted."""
        with pytest.raises(BadHead):
            read(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n")

    @pytest.mark.parametrize(
        "fields", [(b"Connection: upgrade", b"Upgrade: h2c"), (b"Upgrade: h2c",), ()]
    )
    def test_upgrades(self, fields):
        """An unrequested switch of protocols is refused; an offer of one is ignored."""
        with pytest.raises(Upgraded):
            read(head(*fields, status=b"101 Switching Protocols") + b"PRI *")

        assert (
            read(
                head(b"Connection: upgrade", b"Upgrade: h2c", b"Content-Length: 1") + b"x"
            ).forms()[2]
            == b"x"
        )

    @pytest.mark.parametrize(
        "status", [b"200", b"200 ", b"999 No", b"200OK", b"600 ?", b"200 \xe4\xff"]
    )
    def test_odd_status_lines_that_can_be_read(self, status):
        """A page with a missing or odd reason, or an unknown status, is kept."""
        assert read(head(b"Content-Length: 2", status=status) + b"ok").forms()[2] == b"ok"

    @pytest.mark.parametrize("version", [b"HTTP/2", b"http/1.1", b"Http/1.1", b"HTTP/1", b"HTTP/3"])
    def test_odd_versions(self, version):
        """A version in small letters or without its second number is read, as browsers do."""
        assert read(version + b" 200 OK\r\nContent-Length: 2\r\n\r\nok").forms()[2] == b"ok"
