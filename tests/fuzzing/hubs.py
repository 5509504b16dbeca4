"""Target: what hubs send to the callback, and what pages say of hubs."""

import asyncio

from tests.fuzzing.target import Target, chance, pieces
from webcrawl.content.formats import listings
from webcrawl.net import websub as listening
from webcrawl.net.websub import HUBS, HubRequest, is_signed, offer

URL = "http://a.test/feed"
SEEDS = [
    b"GET /t?hub.mode=subscribe&hub.topic=t&hub.challenge=c HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /t HTTP/1.1\r\nContent-Length: 7\r\nX-Hub-Signature: sha1=0\r\n\r\n<feed/>",
    b"POST /t HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b'<http://h.test/>; rel=hub, <http://a.test/x>; rel="self"',
    b"<feed><link rel='hub' href='http://h.test/'/><link rel='self' href='/x'/></feed>",
]
TOKENS = [
    b"POST ", b"GET ",
    b" HTTP/1.1\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"hub.topic=",
    b"hub.challenge=", b"%00", b"&", b"X-Hub-Signature: ", b"sha512=", b"99999999999999999999", b"rel=hub", b"http://",
]  # fmt: skip


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self):
        super().__init__()
        self.written, self.closing = b"", False

    def write(self, data):
        self.written += bytes(data)

    def close(self):
        self.closing = True

    abort = close

    def is_closing(self):
        return self.closing


class Server:
    """Stands for the callback."""

    def __init__(self):
        self.open, self.pushes = {}, []

    def verify(self, token, said):
        assert isinstance(token, str)
        return said.get("hub.challenge") if said.get("hub.topic") == "t" else None

    def knows(self, token):
        return token == SEEDS[0][5:6].decode()

    def push(self, push):
        self.pushes.append(push)


def hubs(data: bytes) -> None:
    """One request gives at most one push and one answer; a page has a few hubs, and a name on its
    own site.
    """
    server, transport = Server(), Transport()
    asked = HubRequest(server)
    asked._transport = transport
    for piece in pieces(data, chance(data)) or [b""]:
        asked.data_received(piece)
    assert len(server.pushes) <= 1
    assert transport.written.count(b"HTTP/1.1 ") - transport.written.count(
        b"HTTP/1.1 100"
    ) <= 1 + data.count(b"HTTP/1.1 ")
    assert len(transport.written) <= len(data) + 1000
    for push in server.pushes:
        assert len(push.body) <= min(len(data), listening.BODY)
        assert not is_signed(push.signature, push.body, "secret")
    found = offer(
        URL, [(b"Link", data)], listings.read(data, "", URL).entries, lambda url: url.split("/")[2]
    )
    if found is not None:
        assert 0 < len(found.hubs) <= HUBS
        assert found.topic.startswith(("http://a.test/", "https://a.test/"))
        assert all(one.startswith(("http://", "https://")) for one in found.hubs)


TARGETS = [Target("hubs", hubs, SEEDS, TOKENS)]
