"""Where a response ends, and which responses are invalid."""

import pytest

from tests.support.net_answers import PAGE, WHOLE, chunked, head, read
from webcrawl.net import chunk_lines
from webcrawl.net.errors import BadHead, ConnectionLost, NotHttp, Upgraded
from webcrawl.net.http_answer import Answer


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
        assert read(head(b"Content-Length: 1", *fields, version=version) + b"x").reusable is reusable

    def test_chunks_override_the_length(self):
        """RFC 9112 6.3: with Transfer-Encoding, Content-Length is ignored."""
        message = read(head(b"Content-Length: 3", b"Transfer-Encoding: chunked") + chunked(b"0123456789"), close=False)

        assert message.forms()[1] == b"0123456789"

    @pytest.mark.parametrize("lengths", [[b"3", b"3"], [b"3, 3"], [b"3,03", b" 3 "], [b"", b"3"]])
    def test_lengths_that_agree(self, lengths):
        """RFC 9110 8.6: a length stated several times is that length."""
        message = read(head(*(b"Content-Length: " + length for length in lengths)) + b"abc", close=False)

        assert message.forms()[2] == b"abc"

    @pytest.mark.parametrize(
        "lengths", [[b"3", b"4"], [b"3, 4"], [b"-3"], [b"+3"], [b"3x"], [b"three"], [b"3 4"], [b"0x3"]]
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
        message = read(head(b"Transfer-Encoding: Identity", b"Content-Length: 3") + b"abc", close=False)

        assert (message.forms()[2], message.truncated, message.reusable) == (b"abc", "", True)

    def test_chunked_said_twice(self):
        """Chunked twice in the list is chunked once on the wire."""
        fields = (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked")

        assert read(head(*fields) + chunked(b"abc"), close=False).forms()[1] == b"abc"

    @pytest.mark.parametrize("cuts", [(), range(5000)], ids=["whole", "cut"])
    @pytest.mark.parametrize("name", ["length", "chunked", "trailer", "gzip chunked"])
    @pytest.mark.parametrize("second", ["length", "chunked", "close"])
    def test_an_answer_behind_the_answer_is_no_part_of_it(self, name, second, cuts):
        """A second response after the first, with its own body, is not part of the first."""
        message = read(WHOLE[name] + WHOLE[second], cuts, close=False)

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
    @pytest.mark.parametrize("cuts", [(), range(5000)], ids=["whole", "cut"])
    @pytest.mark.parametrize("extension", EXTENSIONS)
    def test_blanks_around_extensions(self, extension, cuts):
        """RFC 9112 7.1.1: an extension may have blanks around its signs; it is ignored."""
        body = b"5\r\nhello\r\n6%b\r\n world\r\n0%b\r\n\r\n" % (extension, extension)
        message = read(CHUNKED + body, cuts, close=False)

        assert message.forms() == (body, b"hello world", b"hello world")
        assert (message.truncated, message.flaws, message.reusable) == ("", [], True)

    @pytest.mark.parametrize("cuts", [(), range(5000)], ids=["whole", "cut"])
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
    def test_trailer_fields_change_nothing(self, trailer, cuts):
        """RFC 9112 7.1.2: trailers are no headers, whatever they say of framing; the page is whole."""
        message = read(CHUNKED + chunked(PAGE, trailer=trailer), cuts, close=False)

        assert message.forms()[2] == PAGE
        assert (message.truncated, message.flaws, message.reusable) == ("", [], True)
        assert message.head.headers == [(b"Transfer-Encoding", b"chunked")]

    @pytest.mark.parametrize("cuts", [(), range(5000)], ids=["whole", "cut"])
    @pytest.mark.parametrize(
        "junk", [b"\0", b"x", b"5 ; a=b\r\nhelloX", b"5 ;\r\nhello", b"5 ; a=b c\r\n", b"1" * 17 + b" ; a"]
    )
    def test_what_is_no_extension_breaks_the_chunks(self, junk, cuts):
        """Chunks that the grammar does not know are kept up to there; nobody waits for the rest of their line."""
        message = read(CHUNKED + b"3\r\nabc\r\n" + junk, cuts, close=False)

        assert (message.truncated, message.flaws) == ("unspecified", ["chunking"])
        assert message.forms()[1] in (b"abc", b"abchello")

    @pytest.mark.parametrize("chunk", [b"1\na\n", b"1 ; a\r\na\r\n"])
    @pytest.mark.parametrize("piece", [1000, 7])
    def test_chunks_read_line_by_line_are_bounded(self, monkeypatch, chunk, piece):
        """They cost more than llhttp's: a body of more than so many is broken there."""
        monkeypatch.setattr(chunk_lines, "MOST", 500)
        data = CHUNKED + chunk * 501 + b"0\r\n\r\n"
        message = read(data, range(0, len(data), piece), close=False)

        assert (message.forms()[1], message.flaws) == (b"a" * 500, ["chunking"])

    def test_a_trailer_that_is_no_field(self):
        """A line behind the last chunk that is no field spoils the end: it may be of another response."""
        message = read(CHUNKED + b"3\r\nabc\r\n0\r\nno field\r\n\r\n", close=False)

        assert (message.forms()[1], message.flaws, message.reusable) == (b"abc", ["chunking"], False)

    def test_the_end_without_its_empty_line(self):
        """The connection may take the place of the empty line after the last chunk, with extensions too."""
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
            Answer(1000).feed(b"<h")

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
        """A NUL in the head is refused: its context cannot be trusted."""
        with pytest.raises(BadHead):
            read(b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n")

    @pytest.mark.parametrize("fields", [(b"Connection: upgrade", b"Upgrade: h2c"), (b"Upgrade: h2c",), ()])
    def test_upgrades(self, fields):
        """An unrequested switch of protocols is refused; an offer of one is ignored."""
        with pytest.raises(Upgraded):
            read(head(*fields, status=b"101 Switching Protocols") + b"PRI *")

        assert read(head(b"Connection: upgrade", b"Upgrade: h2c", b"Content-Length: 1") + b"x").forms()[2] == b"x"

    @pytest.mark.parametrize("status", [b"200", b"200 ", b"999 No", b"200OK", b"600 ?", b"200 \xe4\xff"])
    def test_odd_status_lines_that_can_be_read(self, status):
        """A page with a missing or odd reason, or an unknown status, is kept."""
        assert read(head(b"Content-Length: 2", status=status) + b"ok").forms()[2] == b"ok"

    @pytest.mark.parametrize("version", [b"HTTP/2", b"http/1.1", b"Http/1.1", b"HTTP/1", b"HTTP/3"])
    def test_odd_versions(self, version):
        """A version in small letters or without its second number is read, as browsers do."""
        assert read(version + b" 200 OK\r\nContent-Length: 2\r\n\r\nok").forms()[2] == b"ok"
