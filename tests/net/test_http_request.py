"""Requests: what is sent for a URL, and what never is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from webcrawl.net.errors import BadUrl
from webcrawl.net.http_request import RequestWriter, Target, parse_target

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
            ("http://a_b.example/%7Ex;p?a=b?c/d@e:f", (False, "a_b.example", 80, "a_b.example", "/%7Ex;p?a=b?c/d@e:f")),
            ("http://127.0.0.1//x//", (False, "127.0.0.1", 80, "127.0.0.1", "//x//")),
        ],
    )
    def test_a_url_taken_apart(self, url, target):
        """Scheme, host, port, Host header and origin-form come from the URL; userinfo and fragment do not."""
        assert parse_target(url) == Target(*target)

    @pytest.mark.parametrize(
        "url",
        ["", "example.org", "//example.org/", "ftp://example.org/", "http:/example.org/", "http://", "http:///x",
         "http://a b/", "http://a/b c", "http://a/\r\nX: y", "http://a/\0", "http://a\r\n/", "http://a/\u017f", "http://\u212a.org/",
         "http://a:99999/", "http://a:0/", "http://a:x/", "http://[::1/", "http://::1/", "http://a\\b/", "http\u017f://a/",
         "http://a/\x7f", "http://u\r\n@a/", "\nhttp://a/", "http://a/\n"],
    )  # fmt: skip
    def test_what_cannot_be_asked_for(self, url):
        """A URL with controls, spaces or other scripts in it, or without a host, is refused, not repaired."""
        with pytest.raises(BadUrl):
            parse_target(url)

    @given(st.text())
    def test_no_text_gets_out_of_its_line(self, text):
        """For any URL: it is refused, or the request has as many lines as any other."""
        plain = head("http://example.org/").count(b"\n")
        for url in (f"http://example.org/{text}", f"http://{text}/", f"http://{text}@example.org/", text):
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
        sent = head("http://example.org/", [(b"If-None-Match", b'"x"'), (b"user-agent", b"other/2")])

        assert b'\r\nIf-None-Match: "x"\r\n' in sent
        assert b"\r\nuser-agent: other/2\r\n" in sent
        assert sent.lower().count(b"user-agent:") == 1
        assert b"\r\nAccept-Encoding: " in sent

    @pytest.mark.parametrize("name", [b"Host", b"connection", b"Transfer-Encoding", b"Content-Length"])
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
        """A request that could have a body says that it has none: a server may answer it with 411 otherwise."""
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
        for url, headers in ((f"http://example.org/?q={text}", ()), ("http://example.org/", [(b"X", text.encode())])):
            try:
                sent = head(url, headers)
            except BadUrl:
                continue
            assert sent.count(b"\n") == plain + len(headers)
    assert len(strings) > 200
