"""Who asks for the metrics, politely or not."""

import asyncio
import socket

import pytest

from webcrawl.crawl import metrics
from webcrawl.crawl.metrics import Listener
from webcrawl.net import http_answerer
from webcrawl.net.http_answerer import CannotListen, bound

BODY = b"webcrawl_pages_total 1\n" * 100


class Place:
    """A listener on some port, and what comes back from it."""

    def __init__(self, body=BODY, unready=""):
        self.made = 0
        self._body = body
        self._socket = bound("127.0.0.1", 0, "METRICS_PORT")
        self.port = self._socket.getsockname()[1]
        self.listener = Listener(self._socket, self._text, lambda: unready)

    def _text(self):
        self.made += 1
        return self._body

    async def __aenter__(self):
        await self.listener.start()
        return self

    async def __aexit__(self, *_):
        self.listener.close()
        await asyncio.sleep(0)

    async def ask(self, request):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 120)
        writer.close()
        return answer


async def happened(condition):
    while not condition():  # noqa: ASYNC110 - what the listener does it tells nobody
        await asyncio.sleep(0.01)


def asked(request, **more):
    async def run():
        async with Place(**more) as place:
            return await place.ask(request)

    return asyncio.run(run())


class TestAnswers:
    def test_the_metrics(self):
        """GET /metrics gets them, in Prometheus' text format, and the connection ends."""
        head, _, body = asked(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9180\r\n\r\n").partition(
            b"\r\n\r\n"
        )

        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Content-Type: text/plain; version=0.0.4; charset=utf-8" in head
        assert f"Content-Length: {len(BODY)}".encode() in head
        assert body == BODY

    def test_in_pieces(self):
        """A request may come byte by byte."""

        async def run():
            async with Place() as place:
                reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
                for byte in b"GET /metrics?x=1 HTTP/1.0\r\n\r\n":
                    writer.write(bytes([byte]))
                    await asyncio.sleep(0)
                answer = await reader.read()
                writer.close()
                return answer

        assert asyncio.run(run()).endswith(BODY)

    @pytest.mark.parametrize(
        ("request_line", "status"),
        [
            (b"GET / HTTP/1.1", b"404"),
            (b"GET /metrics/../../etc/passwd HTTP/1.1", b"404"),
            (b"GET http://x/metrics HTTP/1.1", b"404"),
            (b"HEAD /metrics HTTP/1.1", b"405"),
            (b"POST /metrics HTTP/1.1", b"405"),
            (b"DELETE / HTTP/1.1", b"405"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
            (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000, b"431"),
        ],
    )
    def test_nothing_else(self, request_line, status):
        """Any other request gets a line that says no, and the end of the connection."""
        answer = asked(request_line + b"\r\nHost: x\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 " + status)
        assert BODY not in answer

    @pytest.mark.parametrize(
        "host", [b"localhost", b"LOCALHOST:1", b"127.0.0.1:9180", b"127.9.9.9", b"[::1]:9180"]
    )
    def test_names_of_loopback(self, host):
        """Whoever asks by a name or an address of loopback is answered, whatever port leads here."""
        assert asked(b"GET /metrics HTTP/1.1\r\nHost: " + host + b"\r\n\r\n").endswith(BODY)

    @pytest.mark.parametrize(
        "host",
        [
            b"evil.example:9180",
            b"evil.example",
            b"192.0.2.1:9180",
            b"",
            b"127.0.0.1\r\nHost: evil.example",
        ],
    )
    def test_names_of_others(self, host):
        """A name that somebody's name server led here is refused: a browser would let its page read
        the figures.
        """
        answer = asked(b"GET /metrics HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")

        assert answer.startswith(b"HTTP/1.1 421 ")
        assert BODY not in answer

    @pytest.mark.parametrize(
        ("host", "named"), [("192.0.2.1:9180", True), ("Crawler-1", True), ("evil.example", False)]
    )
    def test_beyond_loopback(self, monkeypatch, host, named):
        """A port that is bound beyond loopback also answers to addresses, and to the machine's own
        name.
        """
        monkeypatch.setattr(socket, "gethostname", lambda: "crawler-1")
        listening = bound("0.0.0.0", 0, "METRICS_PORT")  # noqa: S104 - as in a container
        listener = Listener(listening, lambda: BODY)
        listening.close()

        assert listener.is_named(host) is named

    def test_a_name_behind_a_headless_service(self, monkeypatch, tmp_path):
        """A pod is known by what /etc/hosts calls it, and by the beginning of that at a dot."""
        hosts = tmp_path / "hosts"
        hosts.write_text(
            "127.0.0.1 localhost\n\n10.0.0.7\tWeb-0.web.crawl.svc.cluster.local web-0 # the pod\n10.0.0.8 web-1\n"
        )
        names = http_answerer._machine_names
        monkeypatch.setattr(socket, "gethostname", lambda: "web-0")
        monkeypatch.setattr(http_answerer, "_machine_names", lambda: names(hosts))
        asked = (
            "web-0",
            "web-0.web:9180",
            "web-0.web.crawl.svc",
            "web-0.web.crawl.svc.cluster.local",
        )

        assert [host for host in asked if not http_answerer.is_named(host, "0.0.0.0")] == []  # noqa: S104
        others = ("web-0.evil.example", "web", "web-0.we", "web-1", "localhost.evil.example", "")
        assert [host for host in others if http_answerer.is_named(host, "0.0.0.0")] == []  # noqa: S104
        assert not http_answerer.is_named("web-0.web", "127.0.0.1")

    @pytest.mark.parametrize("why", ["", "paused"])
    def test_probes(self, why):
        """Whoever keeps the process alive asks whether it lives, and whether it may fetch; by any
        name.
        """

        async def run():
            async with Place(unready=why) as place:
                probes = (b"/healthz", b"/readyz")
                asked = [
                    b"GET " + path + b" HTTP/1.1\r\nHost: 10.1.2.3.example\r\n\r\n"
                    for path in probes
                ]
                return [await place.ask(one) for one in asked], place.made

        (health, ready), made = asyncio.run(run())

        assert health.startswith(b"HTTP/1.1 200 OK\r\n")
        assert ready.startswith(
            b"HTTP/1.1 503 Service Unavailable\r\n" if why else b"HTTP/1.1 200 OK\r\n"
        )
        assert ready.endswith(b"\r\n\r\n" + (b"paused\n" if why else b"200 OK\n"))
        assert made == 0

    def test_no_other_protocol(self, caplog):
        """Whoever wants another protocol gets the answer all the same, and nobody an error."""
        assert asked(
            b"GET /metrics HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        ).endswith(BODY)
        assert asked(b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n").startswith(b"HTTP/1.1 405")
        assert caplog.text == ""

    def test_pipelined_requests(self):
        """A connection has one answer."""
        assert asked(b"GET /metrics HTTP/1.1\r\n\r\n" * 50).count(b"HTTP/1.1") == 1


class TestHostile:
    def test_asked_often(self):
        """The crawl is looked at once per second at most."""

        async def run():
            async with Place() as place:
                for _ in range(50):
                    assert (await place.ask(b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(BODY)
                return place.made

        assert asyncio.run(run()) < 20

    def test_many_connections(self):
        """Of a thousand connections a few are kept, and those are ended; then one gets its answer
        again.
        """

        async def run():
            async with Place() as place:
                many = [socket.create_connection(("127.0.0.1", place.port)) for _ in range(10)]
                for _ in range(100):
                    more = [socket.socket() for _ in range(10)]
                    for one in more:
                        one.setblocking(False)
                        one.connect_ex(("127.0.0.1", place.port))
                    await asyncio.sleep(0)
                    assert len(place.listener.open) <= metrics.MAX_CONNECTIONS
                    for one in more:
                        one.close()
                for one in many:
                    one.close()
                await happened(lambda: not place.listener.open)
                return await place.ask(b"GET /metrics HTTP/1.1\r\n\r\n")

        assert asyncio.run(run()).endswith(BODY)

    def test_whoever_holds_them_all(self):
        """Connections that say nothing keep nobody from being answered."""

        async def run():
            async with Place() as place:
                many = [
                    socket.create_connection(("127.0.0.1", place.port))
                    for _ in range(metrics.MAX_CONNECTIONS + 4)
                ]
                answer = await place.ask(b"GET /metrics HTTP/1.1\r\n\r\n")
                for one in many:
                    one.close()
                return answer

        assert asyncio.run(run()).endswith(BODY)

    def test_whoever_says_nothing(self, monkeypatch):
        """A connection without a request ends by itself."""
        monkeypatch.setattr(metrics, "PATIENCE", 0.05)

        assert asked(b"") == b""

    def test_whoever_never_reads(self, monkeypatch):
        """A connection whose answer is not read ends by itself, and what was written for it is
        dropped.
        """
        monkeypatch.setattr(metrics, "PATIENCE", 0.2)

        async def run():
            async with Place(body=b"x" * 50_000_000) as place:
                reader = socket.create_connection(("127.0.0.1", place.port))
                reader.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                await happened(lambda: place.made)
                await happened(lambda: not place.listener.open)
                reader.close()

        asyncio.run(asyncio.wait_for(run(), 120))


class TestBinding:
    def test_a_port_in_use(self):
        """The line names the setting, the address and the port."""
        taken = bound("127.0.0.1", 0, "METRICS_PORT")
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen) as refusal:
            bound("127.0.0.1", port, "METRICS_PORT")
        taken.close()

        assert (
            str(refusal.value)
            == f"METRICS_PORT: cannot listen on 127.0.0.1, port {port}: Address already in use"
        )

    def test_an_address_of_others(self):
        """An address that is not this machine's is refused in the same way."""
        with pytest.raises(CannotListen, match=r"cannot listen on 192\.0\.2\.1, port 9180: "):
            bound("192.0.2.1", 9180, "METRICS_PORT")
