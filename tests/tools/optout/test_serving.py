"""The form, asked by sockets."""

import asyncio
import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.net.http_answerer import bound
from webcrawl.tools.optout import serving as module
from webcrawl.tools.optout.deciding import Outcome, Result
from webcrawl.tools.optout.serving import STYLE, Form, Pages
from webcrawl.tools.optout.token import Tokens, Wish

NOW = 1_800_000_000
TOKENS = Tokens(bytes(32))
POSTED = "Content-Type: application/x-www-form-urlencoded\r\n"
UNPROVEN = Result(Outcome.NOT_PROVEN, "No proof was found.", ["https://<x>: no answer"])


def get(query="", path="/"):
    return f"GET {path}?{query} HTTP/1.1\r\nHost: form.test\r\n\r\n".encode()


def post(rule, head=POSTED, **fields):
    body = urlencode({"rule": rule, **fields})
    return f"POST / HTTP/1.1\r\nHost: form.test\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def exchange(port, request):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        await writer.drain()
        return (await reader.read()).decode()
    except ConnectionError:
        return ""
    finally:
        writer.close()


def served(work, check=None, contact="bot@crawl.example"):
    """What `work` makes of a form's port; checks are answered by `check`."""

    async def unproven(subject, who):
        return UNPROVEN

    async def go():
        listening = bound("127.0.0.1", 0, "--port")
        form = Form(listening, Pages("<bot>", contact), TOKENS, check or unproven, lambda: NOW + 0.5)
        await form.start()
        try:
            return await asyncio.wait_for(work(listening.getsockname()[1], form), 120)
        finally:
            form.close()

    return asyncio.run(go())


def answered(*requests, **options):
    async def work(port, _):
        return [await exchange(port, request) for request in requests]

    return served(work, **options)


def status_of(answer):
    return answer.partition("\r\n")[0].removeprefix("HTTP/1.1 ")


class Elements(HTMLParser):
    """The names of all elements, and the values of all attributes."""

    def __init__(self, text):
        super().__init__()
        self.names, self.values = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.values += [(tag, *one) for one in attrs]


class TestTokens:
    def test_the_first_page(self):
        """The form asks for a name and a wish, and names who can be written to."""
        (answer,) = answered(get())

        assert status_of(answer) == "200 OK"
        assert 'name="rule"' in answer
        assert answer.count('type="radio"') == len(Wish)
        assert "mailto:bot@crawl.example" in answer
        assert "&lt;bot&gt;" in answer

    @pytest.mark.parametrize("wish", Wish)
    def test_a_token(self, wish):
        """A name gets the token for it and the places to publish it in; nothing is kept of who asked."""
        (answer,) = answered(get(f"rule=example.org&wish={wish}"))

        assert status_of(answer) == "200 OK"
        token = TOKENS.issue("example.org", wish, NOW)
        assert f"<pre>{token}</pre>" in answer
        assert "https://example.org/.well-known/webcrawl-optout.txt" in answer
        assert f'_webcrawl-optout.example.org. TXT "{token}"' in unescape(answer)
        assert '<form method="post" action="?"><input type="hidden" name="rule" value="example.org">' in answer

    @pytest.mark.parametrize(
        ("rule", "has", "lacks"), [("192.0.2.1", "http:", "TXT"), ("ftp://a.test/", "TXT", "http:")]
    )
    def test_where_there_is_one_way_only(self, rule, has, lacks):
        """An address has no TXT record, and what is no web server's has no file."""
        (answer,) = answered(get(f"rule={rule}"))

        assert has in answer
        assert lacks not in answer

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ("rule=user%40example.org", "400 Bad Request"),
            ("rule=" + "x" * 5000, "400 Bad Request"),
            ("rule=example.org&wish=burn", "400 Bad Request"),
            ("rule=co.uk", "400 Bad Request"),
            ("rule=%ff%00", "400 Bad Request"),
            ("&".join(f"a{number}=1" for number in range(50)), "200 OK"),
        ],
    )
    def test_what_is_no_name(self, query, status):
        """What cannot be is said, with the form again."""
        assert status_of(answered(get(query))[0]) == status


class TestPages:
    @pytest.mark.parametrize("path", ["/", "/leave/", "/leave", ""])
    def test_whatever_the_path(self, path):
        """A web server before the form may have it anywhere; files that browsers and robots ask for are not there."""
        request = get(path=path or "/")

        assert status_of(answered(request)[0]) == "200 OK"
        assert status_of(answered(get(path=f"{path.rstrip('/')}/robots.txt"))[0]) == "404 Not Found"

    def test_what_a_browser_is_told(self):
        """No script runs, nothing is loaded, no other page frames it, and the policy names its own style."""
        for answer in answered(get(), get("rule=example.org"), post("example.org"), get("rule=%3C")):
            head, _, body = answer.partition("\r\n\r\n")
            assert "Content-Security-Policy: default-src 'none'; style-src 'sha256-" in head
            assert "frame-ancestors 'none'" in head
            assert "X-Content-Type-Options: nosniff" in head
            assert "Cache-Control: no-store" in head
            assert re.findall("<style>(.*?)</style>", body) == [STYLE]
            assert not {"script", "img", "link", "iframe"} & Elements(body).names
            assert not any(name.startswith("on") or name in ("src", "style") for _, name, _ in Elements(body).values)

    @given(st.text(max_size=60).map(lambda text: f'"><script>{text}</script>'))
    def test_what_is_typed_is_escaped(self, text):
        """Whatever a stranger types, and whatever a place says, stays text."""
        pages = Pages("bot")

        page = pages.first(text, text).decode()

        found = Elements(page)
        assert "script" not in found.names
        assert text in [value for tag, name, value in found.values if (tag, name) == ("input", "value")]

    def test_hostile_names(self):
        """So it is over HTTP: the name comes back in the field, as text."""
        text = "<script>alert(1)</script>"
        first, second = answered(get(f"rule={quote(text)}"), post(text))

        assert status_of(first) == status_of(second) == "400 Bad Request"
        assert "<script" not in first + second
        assert 'value="&lt;script&gt;' in first

    def test_names_in_other_letters(self):
        """A name is UTF-8, percent-encoded as by browsers, or as it was typed, as by curl."""
        raw = "rule=b\u00fccher.example".encode()
        head = f"POST / HTTP/1.1\r\nHost: form.test\r\n{POSTED}Content-Length: {len(raw)}\r\n\r\n".encode()

        for answer in answered(post("b\u00fccher.example"), head + raw):
            assert "xn--bcher-kva.example" in answer


class TestChecks:
    def test_the_answer(self):
        """A check says how it ended: in the status and in words, with the places that were looked at, escaped."""
        (answer,) = answered(post("example.org"))

        assert status_of(answer) == "403 Forbidden"
        assert "No proof was found." in answer
        assert "<li>https://&lt;x&gt;: no answer</li>" in answer
        assert "Check now" in answer

    @pytest.mark.parametrize("outcome", Outcome)
    def test_every_outcome(self, outcome):
        """Each has its status; who has to wait is told how long; who is done is not asked to check again."""

        async def check(subject, who):
            return Result(outcome, "said", wait=7.5)

        (answer,) = answered(post("EXAMPLE.org."), check=check)

        assert status_of(answer) == outcome.value
        assert "Retry-After: 8\r\n" in answer
        assert ("Check now" in answer) == (outcome is not Outcome.DONE)

    def test_what_is_checked(self):
        """The name is what counts, whatever else is sent."""
        names = []

        async def check(subject, who):
            names.append(subject.rule)
            return UNPROVEN

        answered(post(" Example.ORG. ", wish="return", why="x", by="joe"), check=check)

        assert names == ["example.org"]

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (post("example.org", head=""), "415 Unsupported Media Type"),
            (post("example.org", head="Content-Type: text/plain\r\n"), "415 Unsupported Media Type"),
            (post(""), "400 Bad Request"),
            (post("x" * 20_000), "413 Content Too Large"),
            (get("rule=" + "x" * 20_000), "413 Content Too Large"),
            (get().replace(b"GET", b"DELETE"), "405 Method Not Allowed"),
            (get().replace(b"GET", b"HEAD"), "405 Method Not Allowed"),
            (b"\x16\x03\x01\x02\x00\x01\x00", "400 Bad Request"),
            (post("example.org") + post("example.com"), "403 Forbidden"),
        ],
    )
    def test_odd_requests(self, request_, status):
        """What is no request of the form's has a status of its own; of several, one is answered."""
        names = []

        async def check(subject, who):
            names.append(subject.rule)
            return UNPROVEN

        (answer,) = answered(request_, check=check)

        assert status_of(answer) == status
        assert len(names) <= 1

    def test_who_goes_away(self):
        """A check goes on when its connection is gone: what was proven counts."""

        async def work(port, form):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("example.org"))
            await begun.wait()
            writer.transport.abort()
            gate.set()
            await asyncio.gather(*form.checks)
            return reader

        async def check(subject, who):
            begun.set()
            await gate.wait()
            done.append(subject.rule)
            return UNPROVEN

        done, begun, gate = [], asyncio.Event(), asyncio.Event()
        served(work, check)

        assert done == ["example.org"]

    def test_a_flood(self, monkeypatch):
        """Whoever opens connections without end ends the oldest of them, and no check."""
        monkeypatch.setattr(module, "MOST", 4)

        async def work(port, form):
            checked = asyncio.create_task(exchange(port, post("example.org")))
            await begun.wait()
            others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            (found,) = [await exchange(port, get())]
            kept = len(form.open)
            gate.set()
            try:
                return await checked, found, kept
            finally:
                for _, writer in others:
                    writer.close()

        async def check(subject, who):
            begun.set()
            await gate.wait()
            return UNPROVEN

        begun, gate = asyncio.Event(), asyncio.Event()
        checked, found, kept = served(work, check)

        assert (status_of(checked), status_of(found)) == ("403 Forbidden", "200 OK")
        assert kept <= 4

    def test_an_error_of_ours(self):
        """What should not happen has an answer too, and ends no other request."""

        async def check(subject, who):
            raise RuntimeError("oops")

        first, second = answered(post("example.org"), get(), check=check)

        assert (status_of(first), status_of(second)) == ("500 Internal Server Error", "200 OK")
        assert "oops" not in first

    def test_who_is_slow(self, monkeypatch):
        """A request that does not come to its end is not waited for."""
        monkeypatch.setattr(module, "PATIENCE", 0.1)

        assert answered(b"POST / HTTP/1.1\r\n") == [""]

    @given(st.binary(max_size=300))
    def test_any_bytes_break_nothing(self, data):
        """Whatever comes in, nothing breaks."""
        (answer,) = answered(data + b"\r\n\r\n\r\n\r\n" + b"x" * 20_000)

        assert answer.startswith("HTTP/1.1 ") or answer == ""


def test_who_asks():
    """Who asks is told apart by address; a web server on this machine says for whom it speaks."""
    heard = []

    async def check(subject, who):
        heard.append(who)
        return UNPROVEN

    async def work(port, _):
        for head in ("", "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n"):
            await exchange(port, post("example.org", f"{POSTED}{head}"))

    served(work, check=check)

    assert heard == ["127.0.0.1", "198.51.100.7"]
