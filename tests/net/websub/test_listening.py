"""The callback, asked by sockets."""

import asyncio
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net import websub as module
from webcrawl.net.http_answerer import CannotListen, bound
from webcrawl.net.websub import Callback, HubRequest, Push

TOKEN = "abc"  # noqa: S105 - in a path


def verify(token, said):
    """Answers as a subscription would."""
    return said.get("hub.challenge") if token == TOKEN and said.get("hub.topic") == "t" else None


async def exchange(port, *pieces):
    """What comes back for these bytes, until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def asked(*requests):
    """The answer to each of these requests, and the pushes that were taken."""
    pushes = []

    async def run():
        listening = bound("127.0.0.1", 0, "WEBSUB_PORT")
        callback = Callback(listening, verify, pushes.append, lambda token: token == TOKEN)
        port = listening.getsockname()[1]
        await callback.start()
        try:
            return [await exchange(port, *pieces) for pieces in requests]
        finally:
            callback.close()

    return asyncio.run(run()), pushes


class Transport:
    """What a connection was told, until it is closed."""

    def __init__(self):
        self.written, self.closed = b"", False

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


def post(body, *headers, path="/websub/abc", length=None):
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: x",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def get(target):
    return f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_a_verification():
    """The challenge, and nothing else, as plain text."""
    (answer,), pushes = asked([get("/any/where/abc?hub.topic=t&hub.challenge=a%20b%3Cscript%3E")])
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"Content-Type: text/plain" in head
    assert body == b"a b<script>"
    assert pushes == []


@pytest.mark.parametrize(
    "target", ["/", "/abc", "/abc?hub.topic=u&hub.challenge=x", "/x?hub.topic=t&hub.challenge=x"]
)
def test_what_is_not_verified(target):
    """It is not there."""
    assert asked([get(target)])[0][0].startswith(b"HTTP/1.1 404 ")


def test_a_push():
    """It is accepted, with what is needed to judge it."""
    answers, pushes = asked(
        [post(b"<feed/>", "X-Hub-Signature: sha1=0", "Content-Type: application/atom+xml")]
    )
    assert answers[0].startswith(b"HTTP/1.1 202 ")
    assert pushes == [Push(TOKEN, "sha1=0", "application/atom+xml", b"<feed/>")]


def test_a_push_to_nobody():
    """It is refused before its body is read."""
    answers, pushes = asked(
        [post(b"", path="/abd", length=1000)], [post(b"x", "Expect: 100-continue", path="/")]
    )
    assert [answer[9:12] for answer in answers] == [b"404", b"404"]
    assert pushes == []


def test_a_push_in_pieces():
    """By TCP's, or by HTTP's."""
    whole = post(b"<feed/>")
    chunked = b"POST /abc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n<fe\r\n4\r\ned/>\r\n0\r\n\r\n"
    expected = b"POST /abc HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n"
    answers, pushes = asked(
        [whole[:10], whole[10:-3], whole[-3:]], [chunked], [expected, b"<feed/>"]
    )
    assert [push.body for push in pushes] == [b"<feed/>"] * 3
    assert answers[2].startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 ")


def test_pushes_that_are_too_large(monkeypatch):
    """Whether they say so before or not."""
    monkeypatch.setattr(module, "BODY", 100)
    chunk = b"40\r\n" + b"x" * 64 + b"\r\n"
    chunked = b"POST /abc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + 3 * chunk
    answers, pushes = asked(
        [post(b"x" * 101)], [post(b"", length=10**15)], [chunked], [post(b"x" * 100)]
    )
    assert [answer[9:12] for answer in answers] == [b"413", b"413", b"413", b"202"]
    assert len(pushes) == 1


@pytest.mark.parametrize(
    "piece", [b"1;" + b"x" * 500 + b"\r\nx\r\n", b"X: " + b"y" * 500 + b"\r\n"]
)
def test_chunks_that_say_nothing(monkeypatch, piece):
    """What is around the chunks of a push, and behind the last one, is bounded too."""
    monkeypatch.setattr(module, "FRAMED", 4000)

    async def run():
        transport, pushes = Transport(), []
        one = HubRequest(Callback(None, verify, pushes.append, lambda token: token == TOKEN))
        one.connection_made(transport)
        one.data_received(b"POST /abc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
        if piece.startswith(b"X"):
            one.data_received(b"0\r\n")
        for _ in range(9):
            one.data_received(piece)
        one.connection_lost(None)
        return transport.written, pushes

    written, pushes = asyncio.run(run())
    assert written[9:12] == b"413"
    assert pushes == []


def test_one_request_per_connection():
    """What follows the first request is not looked at."""
    asked_for = []

    async def run():
        listening = bound("127.0.0.1", 0, "WEBSUB_PORT")
        callback = Callback(
            listening, lambda token, _: asked_for.append(token), asked_for.append, lambda _: False
        )
        port = listening.getsockname()[1]
        await callback.start()
        try:
            return await exchange(port, get("/abc") * 100 + post(b"", path="/abd"))
        finally:
            callback.close()

    assert asyncio.run(run()).count(b"HTTP/1.1 404 ") == 1
    assert asked_for == ["abc"]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"PUT /abc HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"405"),
        (b"GET /abc?" + b"&".join([b"a=1"] * 99) + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000, b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000, b"431"),
    ],
)
def test_bad_requests(request_, status):
    """Each gets an answer, and the connection ends."""
    answers, pushes = asked([request_])
    assert answers[0][9:12] in (status, b"431")
    assert pushes == []


def test_many_connections(monkeypatch):
    """Those that hold on without a word keep nobody out."""
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 4)

    async def run():
        listening = bound("127.0.0.1", 0, "WEBSUB_PORT")
        callback = Callback(listening, verify, lambda push: None, lambda token: token == TOKEN)
        port = listening.getsockname()[1]
        await callback.start()
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        answer = await exchange(port, get("/abc?hub.topic=t&hub.challenge=x"))
        assert len(callback.open) <= 4
        callback.close()
        for _, writer in idle:
            writer.close()
        await asyncio.sleep(0)
        return answer

    assert asyncio.run(run()).endswith(b"\r\n\r\nx")


def test_one_who_never_ends(monkeypatch):
    """The connection is cut."""
    monkeypatch.setattr(module, "REQUEST_PATIENCE", 0.05)
    assert asked([b"POST /abc HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"])[0] == [b""]


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_other_bytes_are_no_push(pieces):
    """What is no push is none."""
    _, pushes = asked([*pieces, b"\r\n\r\n\r\n\x00"])
    assert pushes == [] or b"POST" in b"".join(pieces)


def test_a_port_that_is_taken():
    """One line says so."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(CannotListen, match="WEBSUB_PORT: cannot listen on 127"):
            bound("127.0.0.1", other.getsockname()[1], "WEBSUB_PORT")
