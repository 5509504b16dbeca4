"""An exchange made of a parsed answer: what is exact, what is put together, and its bounds."""

import gzip

import pytest

from webcrawl.net.parsed_answer import SLACK, ParsedAnswer


def made(payload=b"<p>hello", headers=(), status=200, truncate=1000, **more):
    answer = ParsedAnswer("http://a.test/", status, list(headers), payload, **more)
    return answer.exchange(made_by="some.Handler", started=1.5, seconds=0.25, truncate=truncate)


def test_the_head_is_put_together():
    """The head has HTTP/1.1's form, whatever was spoken, and the headers as they were given."""
    found = made(headers=[(b"Server", b"x"), (b"Set-Cookie", b"a=1"), (b"Set-Cookie", b"b=2")], protocol="h2")

    assert found.head == (
        b"HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 8\r\n\r\n"
    )
    assert (found.made_by, found.protocol, found.request) == ("some.Handler", "h2", b"")


def test_the_framing_of_the_wire_is_left_out():
    """The payload has neither the chunks nor the length of the wire, so the head names its own length only."""
    found = made(headers=[(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"77")])

    assert found.head == b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
    assert found.wire == found.payload == found.body == b"<p>hello"


@pytest.mark.parametrize("value", [b"a\r\nX: b", b"a\nX: b", b"a\rX: b", b"a\0X: b"])
def test_no_header_breaks_the_head(value):
    """A header's value cannot end its line, and a name that is none is left out."""
    assert made(headers=[(b"A", value), (b"B C", b"d"), (b"", b"e")]).head.count(b"\r\n") == 4


def test_an_unknown_status_has_no_phrase():
    """A status that is not registered has an empty reason phrase."""
    assert made(status=799).head.startswith(b"HTTP/1.1 799 \r\n")


def test_a_content_coding_is_decoded():
    """The payload keeps its content coding, the body loses it."""
    coded = gzip.compress(b"<p>hello")
    found = made(coded, [(b"Content-Encoding", b"GZIP")])

    assert (found.payload, found.body, found.truncated, found.flaws) == (coded, b"<p>hello", "", ())


@pytest.mark.parametrize(
    ("coding", "payload", "flaws"),
    [(b"gzip", b"<p>text", ("coding",)), (b"rot13", b"<p>text", ("unknown_coding",))],
)
def test_a_wrong_label_leaves_the_payload(coding, payload, flaws):
    """A body that is not in the coding named is kept as it is, with a flaw."""
    found = made(payload, [(b"Content-Encoding", coding)])

    assert (found.payload, found.body, found.truncated, found.flaws) == (payload, payload, "", flaws)


def test_bodies_are_bounded():
    """Body and payload are cut at their bounds, which is noted."""
    plain = made(b"x" * 1001)
    bomb = made(gzip.compress(b"x" * 10**6), [(b"Content-Encoding", b"gzip")])
    noise = made(bytes(range(256)) * 300, [(b"Content-Encoding", b"gzip")])

    assert (len(plain.payload), len(plain.body), plain.truncated) == (1000, 1000, "length")
    assert (len(bomb.body), bomb.truncated) == (1000, "length")
    assert (len(noise.payload), len(noise.body), noise.truncated) == (2 * 1000 + SLACK, 1000, "length")


def test_the_client_s_own_reason_counts_first():
    """Why the client ended the body early is kept."""
    assert made(b"x" * 1001, truncated="disconnect").truncated == "disconnect"
