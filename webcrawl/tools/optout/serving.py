"""The form and its pages over HTTP, made to stand behind a web server. All that a stranger typed is escaped."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import parse_qsl

from webcrawl.net.dns_records import TextRecords
from webcrawl.net.http_answerer import TOO_LARGE, Connection, Limits, Listener
from webcrawl.net.network import Network
from webcrawl.net.robots import agent_of
from webcrawl.tools.optout.deciding import LARGEST, Ask, Deciding, Looking, Outcome, Result
from webcrawl.tools.optout.token import LIFE, LONGEST, CannotName, Subject, Tokens, Wish, subject_of
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.optout import said

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff;overflow-wrap:anywhere}h1{line-height:1.2}h2{margin-top:2rem}label{display:block;margin:.5rem 0}"
    "input[name=rule]{display:block;width:100%;box-sizing:border-box}input,button{font:inherit;padding:.4rem;"
    "color:inherit;background:transparent;border:1px solid #888;border-radius:4px}button{padding:.4rem 1rem;"
    "cursor:pointer;margin:.5rem 0}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f2f2f2;"
    "white-space:pre-wrap}pre{padding:.7rem}code{padding:.1rem .3rem}"
    ".said{border-left:4px solid #b50;padding:.1rem 1rem;background:#fff4ea}.done{border-color:#283;background:#eefbf0}"
    ":focus-visible{outline:2px solid #05c;outline-offset:2px}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#2a2a2a}"
    ".said{background:#2b2118}.done{background:#17281b}:focus-visible{outline-color:#8bf}}"
)
POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
WISHES = {
    Wish.LEAVE: "Fetch nothing of it any more",
    Wish.FORGET: "Fetch nothing of it any more, and do not show what is stored",
    Wish.RETURN: "Take back a wish that was made here",
}
OTHER = "<h2>Another one</h2>"
DAYS = LIFE // 86_400


@dataclass(frozen=True, slots=True)
class Token:
    """One that was issued just now, for whom and what."""

    subject: Subject
    wish: Wish
    text: str
    ends: float


class Pages:
    """`name`: what the crawler calls itself."""

    def __init__(self, name: str, contact: str = "") -> None:
        self._name, self._contact = name, contact

    def first(self, rule: str = "", why: str = "") -> bytes:
        """The form; `why` what was typed there cannot be."""
        return self._page(_said(why) if why else "", self._form(rule))

    def token(self, token: Token) -> bytes:
        check = _check(token.subject.rule)
        return self._page(*_proving(token), check, OTHER, self._form("", token.wish))

    def result(self, subject: Subject, result: Result, *, done: bool) -> bytes:
        parts = [_said(result.text, done=done)]
        if result.details:
            parts.append(f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in result.details)}</ul>")
        if done:
            parts.append("<p>Now remove the token from where you published it.</p>")
        else:
            parts.append(_check(subject.rule))
        return self._page(*parts, OTHER, self._form("" if done else subject.rule))

    def _form(self, rule: str, chosen: Wish = Wish.LEAVE) -> str:
        wishes = "".join(
            f'<label><input type="radio" name="wish" value="{wish}"{" checked" if wish is chosen else ""}> '
            f"{escape(text)}</label>"
            for wish, text in WISHES.items()
        )
        return (
            '<form method="get" action=""><label>A domain, with all names below it, or a prefix of addresses: '
            "<code>example.org</code>, <code>example.org/private/</code>"
            f'<input name="rule" required maxlength="{LONGEST}" value="{escape(rule)}" autocapitalize="none" '
            f'autocomplete="off" spellcheck="false"></label>{wishes}<button>Get a token</button></form>'
        )

    def _page(self, *parts: str) -> bytes:
        name = escape(self._name)
        mail = escape(self._contact)
        other = f' Or write to <a href="mailto:{mail}">{mail}</a>.' if mail else ""
        text = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="robots" content="noindex">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{name}: leave my site alone</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            f"<h1>Have {name} leave your site alone</h1>\n"
            f"<p>{name} is a web crawler. Whoever controls a site can tell it here to stay away: get a token, publish "
            "it on the site or in its zone, and have it checked. Nothing changes before the token is found."
            f"{other}</p>\n"
        )
        return (text + "\n".join(filter(None, parts)) + "\n</body>\n</html>\n").encode()


def _said(text: str, *, done: bool = False) -> str:
    return f'<p class="said{" done" if done else ""}" role="status">{escape(text)}</p>'


def _proving(token: Token) -> Iterable[str]:
    subject, text = token.subject, escape(token.text)
    yield f"<h2>{escape(subject.rule)}</h2><p>{escape(WISHES[token.wish])}.</p>"
    yield f"<p>This is the token. It counts for {DAYS} days, until {said(token.ends)}, for this name alone:</p>"
    yield f"<pre>{text}</pre>"
    if subject.files:
        files = " or ".join(f"<code>{escape(url)}</code>" for url in subject.files)
        bounds = f"Its first {LARGEST} bytes are read. Redirects are not followed."
        yield f"<p>Publish it as a line of a text file at {files}. {bounds}</p>"
    if subject.record:
        either = "Or publish" if subject.files else "Publish"
        record = f"{escape(subject.record)}. TXT &quot;{text}&quot;"
        yield f"<p>{either} it as a TXT record of your zone:</p><pre>{record}</pre>"
    yield "<p>If there are several tokens for this name, the one issued last counts. Then:</p>"


def _check(rule: str) -> str:
    return (
        '<form method="post" action="?">'
        f'<input type="hidden" name="rule" value="{escape(rule)}"><button>Check now</button></form>'
    )


MOST = 64  # connections at once; the oldest that is not being checked gives way
PATIENCE = 10.0  # seconds for a request
CHECKED = 180.0  # and for its check, which may have to wait for a checkpoint of each drone
HEAD, BODY = 8192, 8192  # bytes
FIELDS = 8
HTML = "text/html; charset=utf-8"
MORE = (
    f"Content-Security-Policy: {POLICY}\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
    "Cache-Control: no-store\r\n"
)
FORM = b"application/x-www-form-urlencoded"

Check = Callable[[Subject, str], Awaitable[Result]]
"""Of a subject, for who asks."""


class Form(Listener):
    """Makes tokens for whoever asks, and has their proofs checked."""

    def __init__(
        self,
        port: socket.socket,
        pages: Pages,
        tokens: Tokens,
        check: Check,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(port, lambda: OptoutRequest(self))
        self.pages, self.check = pages, check
        self._tokens, self._clock = tokens, clock
        self._domains = RegisteredDomains(1024)
        self.checks: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """What was ordered already is carried out; who waits for the rest gets no answer."""
        super().close()
        for task in self.checks:
            task.cancel()

    def subject(self, rule: str) -> Subject:
        return subject_of(rule, self._domains)

    def token(self, rule: str, wish: str) -> Token:
        """Raises CannotName, or ValueError for a wish that is none."""
        subject, asked, now = self.subject(rule), Wish(wish), self._clock()
        return Token(subject, asked, self._tokens.issue(subject.rule, asked, now), int(now) + LIFE)


class OptoutRequest(Connection):
    """One request of a stranger's."""

    too_long_head = TOO_LARGE  # the name that is typed is in it

    def __init__(self, form: Form) -> None:
        super().__init__(form.open, Limits(MOST, PATIENCE, HEAD + BODY, BODY, HEAD + BODY))
        self._form = form

    def received(self) -> None:
        path, _, query = self.target.partition(b"?")
        if b"." in path.rpartition(b"/")[2]:  # robots.txt, favicon.ico; else the server before us knows its paths
            self.reply("404 Not Found")
        elif self.method == b"GET":
            self._get(_fields(query))
        elif self.method != b"POST":
            self.reply("405 Method Not Allowed", more="Allow: GET, POST\r\n")
        elif self._last(b"content-type").partition(b";")[0].strip().lower() != FORM:
            self.reply("415 Unsupported Media Type")
        else:
            self._post(_fields(bytes(self.body)))

    def _last(self, name: bytes) -> bytes:
        return next(reversed(self.values(name)), b"")

    # -- answers

    def _get(self, said: dict[str, str]) -> None:
        pages, rule = self._form.pages, said.get("rule", "")
        if not rule:
            self._page("200 OK", pages.first())
            return
        try:
            token = self._form.token(rule, said.get("wish", Wish.LEAVE))
        except CannotName as error:
            self._page("400 Bad Request", pages.first(rule[:1000], f"{error}"))
        except ValueError:
            self.reply("400 Bad Request")
        else:
            self._page("200 OK", pages.token(token))

    def _post(self, said: dict[str, str]) -> None:
        rule = said.get("rule", "")
        try:
            subject = self._form.subject(rule)
        except CannotName as error:
            self._page("400 Bad Request", self._form.pages.first(rule[:1000], f"{error}"))
            return
        self.hold(CHECKED)  # whoever floods us does not end a check; there are few at once
        task = asyncio.get_running_loop().create_task(self._checked(subject, self._asker()))
        self._form.checks.add(task)
        task.add_done_callback(self._form.checks.discard)

    def _asker(self) -> str:
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        return asker(peer[0], self._last(b"x-forwarded-for").decode("latin-1")) if peer else ""  # who has gone already

    async def _checked(self, subject: Subject, who: str) -> None:
        """Who goes away meanwhile has it done all the same."""
        try:
            result = await self._form.check(subject, who)
        except Exception:
            self.reply("500 Internal Server Error")
            raise
        done = result.outcome is Outcome.DONE
        retry = f"Retry-After: {int(result.wait) + 1}\r\n" if result.wait else ""
        self._page(result.outcome.value, self._form.pages.result(subject, result, done=done), retry)

    def _page(self, status: str, body: bytes, more: str = "") -> None:
        self.reply(status, body, HTML, f"{MORE}{more}")


def _fields(query: bytes) -> dict[str, str]:
    try:  # as UTF-8 also what is not percent-encoded, as browsers do: curl sends names as they were typed
        return dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS))
    except ValueError:
        return {}


def run(values: Mapping[str, Any], port: socket.socket, secret: bytes, ask: Ask, say: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. `values`: the settings, checked. Raises DnsFailed if DNS_NAMESERVERS cannot be used."""
    with port:
        asyncio.run(_serve(values, port, secret, ask, say))


async def _serve(
    values: Mapping[str, Any], port: socket.socket, secret: bytes, ask: Ask, say: Callable[[str], None]
) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    tokens, name = Tokens(secret), agent_of(values)
    network = Network(values, keep_at_most=0)
    try:
        looking = Looking(network.http, TextRecords(values["DNS_NAMESERVERS"]).of)
        deciding = Deciding(tokens, looking, ask, say)
        form = Form(port, Pages(name, values["BOT_FROM"]), tokens, deciding.check)
        await form.start()
        host, number = port.getsockname()[:2]
        say(f"the form for owners: http://{f'[{host}]' if ':' in host else host}:{number}/")
        try:
            await end.wait()
        finally:
            form.close()
    finally:
        await network.close()


OWN_BITS = 64  # of an IPv6 address: whoever has one has all that share these


def asker(peer: str, forwarded: str = "") -> str:
    """The address of a connection, or the one that a web server on this machine says it speaks for.

    `forwarded`: X-Forwarded-For. Its last part is that server's word, what stands before it is the stranger's. From any
    other machine none of it counts.
    """
    address = ip_address(peer.partition("%")[0])
    if address.is_loopback:
        try:
            address = ip_address(forwarded.rpartition(",")[2].strip())
        except ValueError:
            return str(address)
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped is not None else str(IPv6Network((int(address), OWN_BITS), strict=False))
    return str(address)
