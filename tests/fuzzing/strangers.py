"""Target: what strangers send to the form for owners, type into it, and publish for it."""

from tests.fuzzing.hubs import Transport
from tests.fuzzing.target import Target, chance, pieces
from webcrawl.crawl.control.exclusions import wish_of
from webcrawl.tools.optout import serving
from webcrawl.tools.optout.deciding import LARGEST, _lines
from webcrawl.tools.optout.serving import Form, OptoutRequest, Pages
from webcrawl.tools.optout.token import CannotName, Tokens, Wish, subject_of
from webcrawl.urls.exclusion_rules import rules_of
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.optout import OptOut

TOKENS_ = Tokens(bytes(32))
DOMAINS = RegisteredDomains()
TYPE = b"Content-Type: application/x-www-form-urlencoded\r\n"
SEEDS = [
    b"GET /?rule=example.org&wish=forget HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + TYPE + b"Content-Length: 16\r\n\r\nrule=example.org",
    b"POST / HTTP/1.1\r\n" + TYPE + b"Transfer-Encoding: chunked\r\n\r\n6\r\nrule=a\r\n0\r\n\r\n",
    "münchen.example:8080/a b".encode(),
    b"\xef\xbb\xbf# mine\r\nwebcrawl-leave-1800000000-" + b"0" * 32,
]
TOKENS = [
    b"POST ", b"GET ", b" HTTP/1.1\r\n", b"\r\n\r\n", b"Content-Length: ", b"rule=", b"&wish=", b"return", b"%00",
    b"\xef\xbc\x8a", b"\xef\xbc\x8e", b"*.", b"@", b"://", b"--by", b"#", b":99999", b"[::1]", b".co.uk", b"webcrawl-",
]  # fmt: skip


class Stub(Form):
    """A form without a port, whose checks are only noted."""

    def __init__(self):
        self.open, self.pages, self.checked = {}, Pages("bot"), []
        self._tokens, self._clock, self._domains = TOKENS_, lambda: 1.8e9, DOMAINS


class Request(OptoutRequest):
    """Of the same, without an event loop."""

    def _post(self, said):
        try:
            self._form.checked.append(self._form.subject(said.get("rule", "")))
        except CannotName:
            self._page("400 Bad Request", self._form.pages.first(said.get("rule", "")))


def strangers(data: bytes) -> None:
    """One request gives at most one check and one answer; a name is one rule, at its authority; no token is forged."""
    form, transport = Stub(), Transport()
    asked = Request(form)
    asked._transport = transport
    for piece in pieces(data, chance(data)) or [b""]:
        asked.data_received(piece)
    assert len(form.checked) <= 1
    assert len(transport.written) <= 12 * (serving.HEAD + serving.BODY)
    assert b"<script" not in transport.written
    lines = [*_lines(data[:LARGEST])]
    assert len(lines) <= LARGEST
    assert TOKENS_.found("example.org", lines, "file") == []
    try:
        subject = subject_of(data.decode("utf-8", "replace"), DOMAINS)
    except CannotName:
        return
    assert subject_of(subject.rule, DOMAINS) == subject
    assert wish_of([subject.rule], 0.0).rule == subject.rule
    assert rules_of([OptOut(subject.rule)]).excludes(subject.url)
    authority = subject.url.split("/")[2]
    assert not set(authority) & set("@*")
    assert {url.split("/")[2] for url in subject.files} <= {authority}
    token = TOKENS_.issue(subject.rule, Wish.LEAVE, 1.8e9)
    assert TOKENS_.found("example.com", [token], "file") == [] or subject.rule == "example.com"


TARGETS = [Target("strangers", strangers, SEEDS, TOKENS)]
