"""Special answers of the synthetic web over the wire."""

import gzip
import struct

import pytest

from tests.support.simweb_wire import connect, drain, get, logged, request
from webcrawl.lab.simweb.web_answers import LAST_CHUNK, WebRequest


class TestAnswers:
    @pytest.mark.parametrize(
        ("target", "whole"),
        [("/x/reset/1", b""), ("/x/reset_midway/1", None), ("/x/closed/1", b"")],
    )
    def test_connections_that_break(self, simweb, target, whole):
        """A reset is a reset, and a close is a close."""
        server = simweb(1, 10)
        with connect(server) as client:
            client.sendall(request(server, target))
            got, reset = drain(client)

        assert reset == ("reset" in target)
        assert whole is None or got == whole
        assert [hit.status for hit in logged(server)] == [200 if "midway" in target else 0]
        assert [hit.outcome for hit in logged(server)] == ["reset" if reset else "sent"]

    def test_chunks(self, simweb):
        """A chunked answer has no length and ends with the last chunk."""
        server = simweb(1, 10, mix={"host_chunked": 1.0})
        with connect(server) as client:
            client.sendall(request(server, "/", "Connection: close"))
            got, _ = drain(client)

        assert b"Transfer-Encoding: chunked" in got
        assert b"Content-Length" not in got
        assert got.endswith(LAST_CHUNK)
        assert get(server)[2] == server.world.answer(WebRequest(0, "/")).body

    def test_a_body_that_ends_with_the_connection(self, simweb):
        """A body without a length ends with the connection."""
        server = simweb(1, 10)
        with connect(server) as client:
            client.sendall(request(server, "/x/no_length/1"))
            got, _ = drain(client)

        assert b"Content-Length" not in got
        assert got.endswith(server.world.answer(WebRequest(0, "/x/no_length/1")).body)

    def test_hosts_that_do_not_keep_connections(self, simweb):
        """A host of the kind `close` states the length, announces that it will close, and closes."""
        server = simweb(1, 10, mix={"host_close": 1.0})
        with connect(server) as client:
            client.sendall(request(server))
            got, _ = drain(client)

        assert b"Content-Length: " in got
        assert b"Connection: close" in got

    def test_hosts_that_pack(self, simweb):
        """A host of the kind `gzip` compresses only for clients that accept it."""
        server = simweb(1, 10, mix={"host_gzip": 1.0})

        _, plain_headers, plain = get(server)
        _, headers, packed = get(server, **{"Accept-Encoding": "br, gzip"})

        assert (plain_headers["Content-Encoding"], headers["Content-Encoding"]) == (None, "gzip")
        assert gzip.decompress(packed) == plain

    @pytest.mark.parametrize(
        ("kind", "condition", "validator"),
        [("etag", "If-None-Match", "ETag"), ("modified", "If-Modified-Since", "Last-Modified")],
    )
    def test_unchanged_documents(self, simweb, kind, condition, validator):
        """A document that has not changed is answered with 304 to a client that has its validator."""
        server = simweb(1, 10)

        status, headers, body = get(server, f"/x/{kind}/1")
        again = get(server, f"/x/{kind}/1", **{condition: headers[validator]})

        assert (status, bool(body)) == (200, True)
        assert (again[0], again[2]) == (304, b"")

    def test_a_server_that_recovers(self, simweb):
        """The third request for a URL that fails twice gets the page, whatever else is requested in
        between.
        """
        server = simweb(1, 10)

        statuses = [get(server, f"/x/status_503_thrice/{page}")[0] for page in (1, 2, 1, 2, 1, 2)]

        assert statuses == [503, 503, 503, 503, 200, 200]
        assert [hit.attempt for hit in logged(server)] == [1, 1, 2, 2, 3, 3]

    def test_a_server_that_asks_for_patience(self, simweb):
        """Retry-After is sent in whole seconds, and logged."""
        server = simweb(1, 10, slow=1.5)

        status, headers, _ = get(server, "/x/status_429/1")

        assert (status, headers["Retry-After"]) == (429, "2")
        assert logged(server)[0].retry_after == 2

    def test_a_bomb_is_small_on_the_wire(self, simweb):
        """A bomb is small on the wire."""
        server = simweb(1, 10)

        _, headers, body = get(server, "/x/bomb_gzip/1")

        assert headers["Content-Encoding"] == "gzip"
        assert len(body) < 2**20
        # RFC 1952, 2.3.1: the size before compression
        assert struct.unpack("<I", body[-4:])[0] > 60 * 2**20

    def test_bytes_are_counted(self, simweb):
        """The log counts the bytes of the head and body."""
        server = simweb(1, 10)
        with connect(server) as client:
            client.sendall(request(server, "/", "Connection: close"))
            got, _ = drain(client)

        assert [hit.bytes for hit in logged(server)] == [len(got)]
