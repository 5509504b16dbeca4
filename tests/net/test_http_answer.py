"""Responses as bytes, without a network: in any pieces, up to any end."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.net_answers import PAGE, WHOLE, ZIPPED, chunked, head, read, told
from webcrawl.net.errors import BadAnswer, ConnectionLost, EmptyAnswer, TimedOut
from webcrawl.net.http_answer import Answer


@pytest.mark.parametrize("name", WHOLE)
class TestSplits:
    @given(cuts=st.lists(st.integers(0, 5000), max_size=12))
    def test_any_split_gives_the_same_message(self, name, cuts):
        """However a response is cut into pieces, the message is the same."""
        assert told(read(WHOLE[name], cuts)) == told(read(WHOLE[name]))

    def test_byte_by_byte(self, name):
        """A response that arrives byte by byte is the same."""
        assert told(read(WHOLE[name], range(5000))) == told(read(WHOLE[name]))


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
        """The head's bytes are kept exactly, oddities included, from the status line to the empty line."""
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
        fields = [(b"Set-Cookie", b"a=1"), (b"X-Empty", b""), (b"set-cookie", b"b=\xe4"), (b"Content-Length", b"0")]
        message = read(head(*(b"%b: %b" % field for field in fields)))

        assert message.head.headers == fields


class TestEnds:
    @pytest.mark.parametrize("name", ["length", "chunked", "gzip", "gzip chunked"])
    @given(data=st.data())
    def test_an_early_end_is_noticed(self, name, data):
        """A body with framing that ends early is truncated by disconnection; a partial head is lost."""
        whole = WHOLE[name]
        cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
        if b"\r\n\r\n" not in cut:
            with pytest.raises(ConnectionLost):
                read(cut)
            return
        message = read(cut)
        body = message.forms()[2]

        all_but_a_line = cut.endswith((b"\n0\r", b"\n0\r\n", b"\n0\r\n\r"))  # the last chunk is there
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
        answer = Answer(1000)
        answer.feed(WHOLE["close"][:100])

        assert answer.lost(reset=True).truncated == "disconnect"

    def test_the_deadline(self):
        """At the deadline there is a truncated message if the head is complete, else an error."""
        answer = Answer(1000)
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
        cuts=st.lists(st.integers(0, 100), max_size=5),
    )  # fmt: skip
    @example(data=b"", prefix=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", cuts=[])
    def test_any_bytes_end_in_a_message_or_a_named_error(self, data, prefix, cuts):
        """Whatever a server sends is a message or a FetchError, and the same however it is cut."""

        def outcome(cuts):
            try:
                status, raw, headers, _, payload, body, *rest = told(read(prefix + data, cuts))
            except (BadAnswer, ConnectionLost) as error:
                return type(error)
            return status, raw, headers, payload, body, *rest[:2]

        assert outcome(range(1, 2000)) == outcome(cuts) == outcome(())
