"""The synthetic web over the wire."""

import http.client
import json
import socket
import ssl
import struct
import time
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event

import pytest

from tests.support.crawling import wait_until
from tests.support.simweb_wire import connect, drain, get, logged, request
from webcrawl.lab.simweb import Log, World, overlaps, running, wait_until_idle
from webcrawl.lab.simweb.random_content import path
from webcrawl.lab.simweb.sockets import OutageEnforcer

LISTENS = "0A"  # a socket's state in the kernel's table


class TestConnections:
    def test_a_connection_is_kept(self, simweb):
        """Several requests on one connection are answered completely."""
        server = simweb(1, 10)
        with closing(
            http.client.HTTPConnection("127.0.0.1", server.world.port, timeout=60)
        ) as client:
            sizes = []
            for page in range(5):
                client.request("GET", path(page), headers={"Host": "site0.test"})
                sizes.append(len(client.getresponse().read()))

        assert min(sizes) >= 20_000
        assert len({hit.client for hit in logged(server)}) == 1

    def test_pipelined_requests_are_answered_in_turn(self, simweb):
        """Pipelined requests are answered in order, never two at a time."""
        server = simweb(1, 10, latency=0.01)
        with connect(server) as client:
            client.sendall(b"".join(request(server, path(page)) for page in range(3)))
            client.sendall(request(server, "/", "Connection: close"))
            got, _ = drain(client)

        assert [got.index(f" {page} of ".encode()) for page in range(3)] == sorted(
            got.index(f" {page} of ".encode()) for page in range(3)
        )
        assert [hit.path for hit in logged(server)] == [*map(path, range(3)), "/"]
        assert not overlaps(logged(server))

    def test_head_has_no_body(self, simweb):
        """HEAD gets the head that GET would get, and no body."""
        server = simweb(1, 10)
        with connect(server) as client:
            client.sendall(request(server, "/", "Connection: close", method="HEAD"))
            got, _ = drain(client)

        top, _, body = got.partition(b"\r\n\r\n")
        assert (top[:15], body) == (b"HTTP/1.1 200 OK", b"")
        assert int(top.partition(b"Content-Length: ")[2].split(b"\r")[0]) >= 20_000

    @pytest.mark.parametrize(
        ("data", "status"),
        [
            (b"what is this\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: nobody.test\r\nConnection: close\r\n\r\n", 421),
            (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 421),
            (b"POST / HTTP/1.0\r\nHost: site0.test\r\n\r\n", 405),
            (b"GET / HTTP/1.0\r\nHost: site0.test\r\n\r\n", 200),
        ],
    )
    def test_odd_requests(self, simweb, data, status):
        """A request that cannot be answered with a page gets its status, is logged, and ends the
        connection.
        """
        server = simweb(1, 10)
        with connect(server) as client:
            client.sendall(data)
            got, _ = drain(client)

        assert int(got.split()[1]) == status
        assert [hit.status for hit in logged(server)] == [status]

    def test_only_loopback_addresses_listen(self, simweb):
        """Every socket is bound to an address in 127.0.0.0/8, never to the wildcard."""
        server = simweb(3, 3)

        rows = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
        places = [row.split()[1].split(":") for row in rows if row.split()[3] == LISTENS]
        bound = {
            socket.inet_ntoa(struct.pack("=I", int(address, 16)))
            for address, port in places
            if int(port, 16) == server.world.port
        }

        assert bound == {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.9.9.9"}
        assert f":{server.world.port:04X}" not in Path("/proc/self/net/tcp6").read_text()

    def test_every_address_serves_and_is_logged(self, simweb):
        """The log has the address of each request, even one outside the allowed range."""
        server = simweb(8, 8)
        for address in ("127.0.0.1", "127.0.0.4", "127.9.9.9"):
            with connect(server, address) as client:
                client.sendall(request(server, "/", "Connection: close", host=3))
                drain(client)

        assert [hit.address for hit in logged(server)] == ["127.0.0.1", "127.0.0.4", "127.9.9.9"]

    def test_https(self, simweb):
        """Hosts of the kind `https` are served on a separate port, with a certificate for their
        name.
        """
        server = simweb(1, 10, mix={"https": 1.0})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        port = server.world.tls_port
        with closing(
            http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        ) as client:
            client.request("GET", "/", headers={"Host": f"site0.test:{port}"})
            assert client.getresponse().status == 200

        assert [hit.url for hit in logged(server)] == [f"https://site0.test:{port}/"]

    def test_ports_that_are_taken(self, simweb):
        """A port in use is an error at once, and leaves no socket open."""
        server = simweb(1, 1)
        with pytest.raises(OSError, match="in use"), running(World(1, 1, port=server.world.port)):
            pass

    def test_what_cannot_be_started_says_so(self, monkeypatch):
        """A server that fails to start is an error for whoever wants it, who would wait for ever
        otherwise.
        """

        async def fail(_):
            raise OSError("no")

        monkeypatch.setattr(OutageEnforcer, "start", fail)
        with pytest.raises(OSError, match="no"), running(World(1, 1, port=0)):
            pass


class TestTime:
    def test_latency(self, simweb):
        """Every answer begins after the configured latency."""
        server = simweb(1, 10, latency=0.05)
        for _ in range(3):
            get(server)

        assert all(hit.ended - hit.started >= 0.05 for hit in logged(server))

    def test_slow_answers_say_when_they_ended(self, simweb):
        """A page in pieces arrives whole, and ends in the log with its last piece."""
        server = simweb(1, 10, slow=0.2)

        _, headers, body = get(server, "/x/trickle/1")

        assert len(body) == int(headers["Content-Length"])
        (hit,) = logged(server)
        assert hit.ended - hit.started >= 0.2
        assert time.time() - hit.wall < 60

    def test_over_tls_what_takes_time_goes_on_too(self, simweb):
        """Over https every piece of a page is sent, and the next request on the connection is
        answered.
        """
        server = simweb(1, 10, slow=0.1, mix={"https": 1.0})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with closing(
            http.client.HTTPSConnection(
                "127.0.0.1", server.world.tls_port, context=context, timeout=60
            )
        ) as client:
            client.request("GET", "/x/slow/1", headers={"Host": "site0.test"})
            client.getresponse().read()
            client.request("GET", "/x/trickle/1", headers={"Host": "site0.test"})
            response = client.getresponse()
            body = response.read()

        assert len(body) == int(response.headers["Content-Length"])
        assert [hit.outcome for hit in logged(server)] == ["sent", "sent"]

    @pytest.mark.parametrize(
        "target", ["/x/hang/1", "/x/drip/1", "/x/drip_head/1", "/x/endless/1", "/x/hang_midway/1"]
    )
    def test_answers_without_end_last_as_long_as_the_client(self, simweb, target):
        """The request ends in the log when the client leaves."""
        server = simweb(1, 10, slow=0.1)
        with connect(server) as client:
            client.sendall(request(server, target))
            while not server.busy:
                time.sleep(0.002)
            with pytest.raises(TimeoutError, match="still answering 1"):
                wait_until_idle(server, 0.1)
        assert [hit.outcome for hit in logged(server)] == ["left"]

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_who_leaves_while_the_server_stands_still_has_not_stayed_longer(
        self, simweb, monkeypatch, scheme
    ):
        """A request whose client has left ends in the log no later than that, however late the
        server notices it.
        """
        server = simweb(2, 10, mix={"https": 1.0} if scheme == "https" else {})
        standing, left, answer = Event(), Event(), World.answer

        def stands_still(world, ask):
            if ask.host == 1:
                standing.set()
                left.wait(120)
                time.sleep(0.2)
            return answer(world, ask)

        monkeypatch.setattr(World, "answer", stands_still)
        with ExitStack() as stack:
            client, other = (stack.enter_context(connect(server, scheme=scheme)) for _ in range(2))
            client.sendall(request(server, "/x/hang/1"))
            while not server.busy:
                time.sleep(0.002)
            time.sleep(0.1)
            other.sendall(request(server, "/", host=1))
            standing.wait(120)
            client.close()
            closed = time.monotonic()
            left.set()
            hit = next(hit for hit in logged(server) if hit.outcome == "left")

        assert hit.started <= hit.ended <= closed

    def test_what_is_under_way_at_the_end_is_logged(self):
        """A request in progress when the server stops is logged as stopped."""
        world = World(1, 10, port=0, addresses=1)
        with closing(socket.socket()) as client, running(world) as server:
            client.connect(("127.0.0.1", world.port))
            client.sendall(request(server, "/") + request(server, "/x/hang/1"))
            wait_until(lambda: server.log.hits)

        assert [hit.outcome for hit in logged(server)] == ["sent", "stopped"]

    def test_who_asks_is_logged(self, simweb):
        """The log has the client's name for itself, empty if it gives none."""
        server = simweb(1, 2)
        get(server, **{"User-Agent": "somebody/1 (here)"})
        get(server)

        assert [hit.agent for hit in logged(server)] == ["somebody/1 (here)", ""]

    def test_the_log_file(self, tmp_path):
        """The log file has one line per request."""
        world = World(1, 10, port=0, addresses=1)
        with running(world, log=Log(tmp_path / "log", keep=False)) as server:
            for page in range(3):
                get(server, path(page))

        lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert [(line["url"], line["status"]) for line in lines] == [
            (f"http://site0.test{path(page)}", 200) for page in range(3)
        ]
        assert logged(server) == []
