"""Signed requests on the wire: which are signed, with what, and what the exchange keeps of it."""

import pytest

from tests.net.identity.test_signing import AGENT, KEY, wrong
from tests.net.test_http_tls import server_context
from tests.support.net_http import LOOPS, Names, Visits, client, run, serving
from tests.support.net_proxy import Proxy
from webcrawl.net.http_request import RequestWriter, parse_target
from webcrawl.net.identity.request_signing import RequestSigning
from webcrawl.net.protocols import Options
from webcrawl.net.proxy import Proxy as Address

FIELDS = (b"signature", b"signature-input", b"signature-agent")
loops = pytest.mark.parametrize("loop", LOOPS)


def signature_of(head):
    """The lines of the fields, as they were sent."""
    lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return b"".join(line + b"\r\n" for line in lines if line.lower().partition(b":")[0] in FIELDS)


def authority_of(head):
    return head.partition(b"Host: ")[2].partition(b"\r\n")[0].decode()


def is_right(head, now):
    return wrong(signature_of(head), now, authority_of(head)) == []


@pytest.fixture
def signing():
    return RequestSigning(KEY, AGENT, now=lambda: 1_800_000_000.0)


@loops
class TestSent:
    @pytest.mark.parametrize(
        "fetch",
        [
            {},
            {"keep": 5},
            {"method": "HEAD"},
            {"method": "POST", "body": b"a=b"},
            {"headers": [(b"If-None-Match", b'"x"'), (b"Cookie", b"a=b")]},
        ],
        ids=["plain", "kept", "HEAD", "POST", "conditional"],
    )
    def test_every_request(self, loop, signing, fetch):
        """A request of any kind is signed for the authority that its Host field names, and its body follows."""
        visits = Visits()

        async def go():
            async with serving(visits) as port, client(signing=signing) as http:
                return await http.fetch(f"http://127.0.0.1:{port}/a?b", **fetch)

        got = run(go(), loop)
        (request,) = visits.requests
        assert is_right(request, 1_800_000_000)
        assert request.endswith(b"\r\n\r\n" + fetch.get("body", b""))
        assert got.request == request

    def test_https(self, loop, signing, tmp_path):
        """Within TLS it is the same."""
        visits = Visits()

        async def go():
            tls, names = server_context(tmp_path, "site.test"), Names(site=["127.0.0.1"])
            async with serving(visits, tls=tls) as port, client(names=names, signing=signing) as http:
                await http.fetch(f"https://site.test:{port}/")

        run(go(), loop)
        assert is_right(visits.requests[0], 1_800_000_000)

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_through_a_proxy(self, loop, signing, scheme, tmp_path):
        """What a proxy passes on is signed for the server; CONNECT, which is for the proxy, is not signed."""
        proxy, visits = Proxy(auth=b"Basic dTpw"), Visits()
        tls = server_context(tmp_path, "far.test") if scheme == "https" else None

        async def go():
            async with serving(visits, tls=tls) as port, serving(proxy) as at, client(signing=signing) as http:
                options = Options(proxy=Address("127.0.0.1", at, proxy.auth))
                return await http.fetch(f"{scheme}://far.test:{port}/", options=options)

        got = run(go(), loop)
        request = visits.requests[0] if scheme == "https" else proxy.heads[0]
        assert is_right(request, 1_800_000_000)
        assert authority_of(request).startswith("far.test:")
        assert b"proxy-authorization" not in got.request.lower()
        if scheme == "https":
            assert proxy.lines[0].startswith(b"CONNECT ")
            assert signature_of(proxy.heads[0]) == b""

    def test_what_the_archive_gets(self, loop, signing):
        """The exchange's request has the fields as they were sent."""
        visits = Visits()

        async def go():
            async with serving(visits) as port, client(signing=signing) as http:
                return await http.fetch(f"http://127.0.0.1:{port}/")

        got = run(go(), loop)
        assert signature_of(got.request) != b""
        assert visits.requests[0] == got.request

    def test_without_a_key(self, loop):
        """Nothing is added without a key, and a signature of the spider's own is sent."""
        visits = Visits()

        async def go():
            async with serving(visits) as port, client() as http:
                await http.fetch(f"http://127.0.0.1:{port}/")
                await http.fetch(f"http://127.0.0.1:{port}/", [(b"Signature", b"sig=:AA==:")])

        run(go(), loop)
        assert [signature_of(head) for head in visits.requests] == [b"", b"Signature: sig=:AA==:\r\n"]


class TestWritten:
    def test_a_spiders_own_signature(self):
        """With a key the fields are the crawl's: a spider's own would be a second, wrong value."""
        given = [(b"Signature", b"x"), (b"signature-input", b"y"), (b"SIGNATURE-AGENT", b"z"), (b"X-Own", b"1")]

        head = RequestWriter("me/1", signed=True).head(parse_target("http://a.test/"), given, keep=True)
        assert signature_of(head) == b""
        assert b"X-Own: 1\r\n" in head

    def test_a_contact(self):
        """From has the address of whoever is responsible, unless a request says otherwise."""
        writer, target = RequestWriter("me/1", "bot@example.org"), parse_target("http://a.test/")

        assert writer.head(target, keep=True).count(b"From: bot@example.org\r\n") == 1
        assert b"From: other@a.test\r\n" in writer.head(target, [(b"From", b"other@a.test")], keep=True)
        assert b"bot@" not in writer.head(target, [(b"From", b"other@a.test")], keep=True)
        assert b"From" not in RequestWriter("me/1").head(target, keep=True)
