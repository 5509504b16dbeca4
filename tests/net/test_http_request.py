"""Requests: what is sent for a URL, and what never is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.net.identity.test_signing import AGENT, KEY, wrong
from tests.net.test_http_tls import server_context
from tests.support.cases import cases
from tests.support.net_http import LOOPS, Names, Visits, client, run, serving
from tests.support.net_proxy import Proxy
from webcrawl.net.errors import BadUrl
from webcrawl.net.http_request import RequestTarget, RequestWriter, parse_target
from webcrawl.net.identity.request_signing import RequestSigner
from webcrawl.net.protocols import Options
from webcrawl.net.protocols import Proxy as Address

WRITER = RequestWriter("webcrawl/1 (+me@example.org)")


def head(url, headers=(), **options):
    return WRITER.head(parse_target(url), headers, **{"keep": True, **options})


class TestTargets:
    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("http://example.org/", (False, "example.org", 80, "example.org", "/")),
            ("https://example.org", (True, "example.org", 443, "example.org", "/")),
            ("http://example.org:443/a?b", (False, "example.org", 443, "example.org:443", "/a?b")),
            ("https://example.org:443?q=1#top", (True, "example.org", 443, "example.org", "/?q=1")),
            ("HTTP://Example.ORG:/A", (False, "example.org", 80, "example.org", "/A")),
            ("http://user:secret@example.org/", (False, "example.org", 80, "example.org", "/")),
            ("http://a@b@example.org/x@y", (False, "example.org", 80, "example.org", "/x@y")),
            ("http://[::1]:8080/", (False, "::1", 8080, "[::1]:8080", "/")),
            ("http://[2001:DB8::1]/", (False, "2001:db8::1", 80, "[2001:db8::1]", "/")),
            (
                "http://a_b.example/%7Ex;p?a=b?c/d@e:f",
                (False, "a_b.example", 80, "a_b.example", "/%7Ex;p?a=b?c/d@e:f"),
            ),
            ("http://127.0.0.1//x//", (False, "127.0.0.1", 80, "127.0.0.1", "//x//")),
        ],
    )
    def test_a_url_taken_apart(self, url, target):
        """Scheme, host, port, Host header and origin-form come from the URL; userinfo and fragment
        do not.
        """
        assert parse_target(url) == RequestTarget(*target)

    @pytest.mark.parametrize(
        "url",
        ["", "example.org", "//example.org/", "ftp://example.org/", "http:/example.org/", "http://", "http:///x",
         "http://a b/", "http://a/b c", "http://a/\r\nX: y", "http://a/\0", "http://a\r\n/", "http://a/\u017f", "http://\u212a.org/",
         "http://a:99999/", "http://a:0/", "http://a:x/", "http://[::1/", "http://::1/", "http://a\\b/", "http\u017f://a/",
         "http://a/\x7f", "http://u\r\n@a/", "\nhttp://a/", "http://a/\n"],
    )  # fmt: skip
    def test_what_cannot_be_requested(self, url):
        """A URL with controls, spaces or other scripts in it, or without a host, is refused, not
        repaired.
        """
        with pytest.raises(BadUrl):
            parse_target(url)

    @given(st.text())
    def test_no_text_gets_out_of_its_line(self, text):
        """For any URL: it is refused, or the request has as many lines as any other."""
        plain = head("http://example.org/").count(b"\n")
        for url in (
            f"http://example.org/{text}",
            f"http://{text}/",
            f"http://{text}@example.org/",
            text,
        ):
            try:
                sent = head(url)
            except BadUrl:
                continue
            assert sent.count(b"\n") == sent.count(b"\r\n") == sent.count(b"\r") == plain
            assert b"\0" not in sent
            assert sent.split(b"\r\n")[0].count(b" ") == 2


class TestHeads:
    def test_the_usual_request(self):
        """A request is plain HTTP/1.1, with the User-Agent and the codings that can be decoded."""
        assert head("http://example.org/a?b#c") == (
            b"GET /a?b HTTP/1.1\r\n"
            b"Host: example.org\r\n"
            b"User-Agent: webcrawl/1 (+me@example.org)\r\n"
            b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"
            b"Accept-Encoding: gzip, deflate, br, zstd\r\n"
            b"\r\n"
        )

    def test_a_connection_that_is_not_kept(self):
        """If the connection will not be reused, the request says so."""
        assert head("http://example.org/", keep=False).endswith(b"\r\nConnection: close\r\n\r\n")

    def test_more_headers(self):
        """Given headers are added; one of the same name replaces ours."""
        sent = head(
            "http://example.org/", [(b"If-None-Match", b'"x"'), (b"user-agent", b"other/2")]
        )

        assert b'\r\nIf-None-Match: "x"\r\n' in sent
        assert b"\r\nuser-agent: other/2\r\n" in sent
        assert sent.lower().count(b"user-agent:") == 1
        assert b"\r\nAccept-Encoding: " in sent

    @pytest.mark.parametrize(
        "name", [b"Host", b"connection", b"Transfer-Encoding", b"Content-Length"]
    )
    def test_what_frames_the_message_is_ours(self, name):
        """Headers that frame or address the message cannot be given."""
        assert b"evil" not in head("http://example.org/", [(name, b"evil")])

    @pytest.mark.parametrize("name", [b"Proxy-Authorization", b"proxy-connection"])
    def test_what_is_meant_for_a_proxy_stays_here(self, name):
        """If the environment names a proxy, Scrapy adds its password: no server receives it."""
        assert b"secret" not in head("http://example.org/", [(name, b"secret")])

    @pytest.mark.parametrize("name", [b"", b"a b", b"a:", b"a\r\nb", b"\0", b"\xe4"])
    def test_names_that_are_no_names(self, name):
        """A header's name is a token, or the request is refused."""
        with pytest.raises(BadUrl):
            head("http://example.org/", [(name, b"x")])

    @given(value=st.binary())
    def test_no_value_gets_out_of_its_line(self, value):
        """A header's value is sent on its line, or the request is refused."""
        plain = head("http://example.org/").count(b"\n")
        if any(code in value for code in b"\r\n\0"):
            with pytest.raises(BadUrl):
                head("http://example.org/", [(b"X", value)])
        else:
            try:
                sent = head("http://example.org/", [(b"X", value)])
            except BadUrl:
                assert any(code < 32 or code == 127 for code in value)
            else:
                assert sent.count(b"\n") == plain + 1

    def test_the_user_agent_is_checked_at_the_start(self):
        """A User-Agent that cannot be sent is refused before the first request."""
        with pytest.raises(BadUrl):
            RequestWriter("me\r\nX-Evil: 1")

    @pytest.mark.parametrize("method", ["PATCH", "POST", "PUT"])
    def test_a_method_whose_content_is_missing(self, method):
        """A request that could have a body says that it has none: a server may answer it with 411
        otherwise.
        """
        assert b"\r\nContent-Length: 0\r\n" in head("http://a/", method=method)

    @pytest.mark.parametrize("method", ["DELETE", "GET", "HEAD", "OPTIONS"])
    def test_a_method_without_content(self, method):
        """A request that has no body by its method says nothing of a length."""
        assert b"Content-Length" not in head("http://a/", method=method)

    def test_methods(self):
        """HEAD and POST are sent like GET; an invalid method is refused."""
        assert head("http://a/", method="HEAD").startswith(b"HEAD / HTTP/1.1\r\n")
        assert b"\r\nContent-Length: 3\r\n" in head("http://a/", method="POST", length=3)
        with pytest.raises(BadUrl):
            head("http://a/", method="GET / HTTP/1.1\r\nX:")


def test_naughty_strings():
    """None of the big list of naughty strings breaks a request's lines, in URL, header or value."""
    strings = json.loads((cases("malicious") / "blns.json").read_text())
    plain = head("http://example.org/").count(b"\n")
    for text in strings:
        for url, headers in (
            (f"http://example.org/?q={text}", ()),
            ("http://example.org/", [(b"X", text.encode())]),
        ):
            try:
                sent = head(url, headers)
            except BadUrl:
                continue
            assert sent.count(b"\n") == plain + len(headers)
    assert len(strings) > 200


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
    return RequestSigner(KEY, AGENT, now=lambda: 1_800_000_000.0)


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
        """A request of any kind is signed for the authority that its Host field names, and its body
        follows.
        """
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
            async with (
                serving(visits, tls=tls) as port,
                client(names=names, signing=signing) as http,
            ):
                await http.fetch(f"https://site.test:{port}/")

        run(go(), loop)
        assert is_right(visits.requests[0], 1_800_000_000)

    @pytest.mark.parametrize("scheme", ["http", "https"])
    def test_through_a_proxy(self, loop, signing, scheme, tmp_path):
        """What a proxy passes on is signed for the server; CONNECT, which is for the proxy, is not
        signed.
        """
        proxy, visits = Proxy(auth=b"Basic dTpw"), Visits()
        tls = server_context(tmp_path, "far.test") if scheme == "https" else None

        async def go():
            async with (
                serving(visits, tls=tls) as port,
                serving(proxy) as at,
                client(signing=signing) as http,
            ):
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
        assert [signature_of(head) for head in visits.requests] == [
            b"",
            b"Signature: sig=:AA==:\r\n",
        ]


class TestWritten:
    def test_a_spiders_own_signature(self):
        """With a key the fields are the crawl's: a spider's own would be a second, wrong value."""
        given = [
            (b"Signature", b"x"),
            (b"signature-input", b"y"),
            (b"SIGNATURE-AGENT", b"z"),
            (b"X-Own", b"1"),
        ]

        head = RequestWriter("me/1", signed=True).head(
            parse_target("http://a.test/"), given, keep=True
        )
        assert signature_of(head) == b""
        assert b"X-Own: 1\r\n" in head

    def test_a_contact(self):
        """From has the address of whoever is responsible, unless a request says otherwise."""
        writer, target = RequestWriter("me/1", "bot@example.org"), parse_target("http://a.test/")

        assert writer.head(target, keep=True).count(b"From: bot@example.org\r\n") == 1
        assert b"From: other@a.test\r\n" in writer.head(
            target, [(b"From", b"other@a.test")], keep=True
        )
        assert b"bot@" not in writer.head(target, [(b"From", b"other@a.test")], keep=True)
        assert b"From" not in RequestWriter("me/1").head(target, keep=True)
