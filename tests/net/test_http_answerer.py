"""The server for the crawl's own ports: what holds for each that is built upon it."""

import asyncio
import re

import pytest

from webcrawl.net.http_answerer import ClientLimits, ServerConnection, is_named

LIMITS = ClientLimits(connections=2, patience=60.0, head=200, body=50, framed=100)


class Transport:
    """What a connection has written, until it is closed or aborted."""

    def __init__(self):
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    abort = close

    def is_closing(self):
        return self.closed


class Mistaken(ServerConnection):
    """Cannot answer."""

    def received(self):
        raise ZeroDivisionError("a mistake")


class Requested(ServerConnection):
    """Answers with what it was sent."""

    def received(self):
        self.reply("200 OK", self.method + b" " + self.target + b" " + bytes(self.body))


def answer(*pieces, kind=Requested):
    """What is written for these bytes."""

    async def run():
        one, transport = kind({}, LIMITS), Transport()
        one.connection_made(transport)
        for piece in pieces:
            one.data_received(piece)
        one.connection_lost(None)
        return transport.written

    return asyncio.run(run())


def post(body, *headers):
    return (
        "\r\n".join(["POST /x HTTP/1.1", f"Content-Length: {len(body)}", *headers, "", ""]).encode()
        + body
    )


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_request_in_pieces(size):
    """A request is the same in however many pieces it comes."""
    data = post(b"some body")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert answer(*pieces).endswith(b"\r\n\r\nPOST /x some body")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 300,
        b"GET / HTTP/1.1\r\nX: " + b"x" * 300,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 99,
    ],
)
def test_a_long_head(head):
    """A head beyond its limit is refused, whether it comes at once or never ends."""
    whole = head + (b" HTTP/1.1" if b"HTTP" not in head else b"") + b"\r\n\r\n"

    assert answer(whole).startswith(b"HTTP/1.1 431 ")
    assert answer(*(bytes([one]) for one in head)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("number", [51, 10**30])
def test_a_long_body_that_is_announced(number):
    """A body beyond its limit is refused before it comes, and nobody is asked to send it."""
    head = f"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {number}\r\n\r\n".encode()

    assert answer(head).startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))


def test_a_long_body_in_chunks():
    """A body that announces no length is refused where it reaches its limit."""
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert answer(
        head, b"1e\r\n" + b"x" * 30 + b"\r\n", b"1e\r\n" + b"x" * 30 + b"\r\n"
    ).startswith(b"HTTP/1.1 413 ")


def test_one_answer():
    """A second request on the connection is neither read nor answered."""
    assert answer(post(b"one") + post(b"two"), post(b"three")).count(b"HTTP/1.1 ") == 1


def test_a_mistake_of_our_own(caplog):
    """An unexpected error is the server's and not the client's: status 500, and a line of the log
    that says where.
    """
    assert answer(b"GET / HTTP/1.1\r\n\r\n", kind=Mistaken).startswith(b"HTTP/1.1 500 ")
    assert re.fullmatch(
        r"Mistaken: ZeroDivisionError\('a mistake'\) in .+ line \d+", caplog.messages[0]
    )


@pytest.mark.parametrize(
    ("host", "bound_to", "named"),
    [
        ("localhost:1", "127.0.0.1", True),
        ("[::1]", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("192.0.2.1", "127.0.0.1", False),
        ("192.0.2.1:80", "0.0.0.0", True),  # noqa: S104 - as in a container
        ("evil.example", "0.0.0.0", False),  # noqa: S104
    ],
)
def test_a_name_that_others_can_register_is_never_ours(host, bound_to, named):
    """On loopback only loopback's names are ours, elsewhere each address; a name that others can
    register never is.
    """
    assert is_named(host, bound_to) is named
