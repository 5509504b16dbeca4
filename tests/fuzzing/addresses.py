"""Targets: links and URLs, host names, answers of name servers."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import cache
from ipaddress import ip_address

from tests.fuzzing.talks import run
from tests.fuzzing.target import Target, chance, folder
from tests.support.nameserver import AAAA, CNAME, A, NameServer
from tests.support.url_settings import url_settings
from webcrawl.base.model import Link, unpack
from webcrawl.base.url_text import host_of
from webcrawl.net.dns_answers import DnsAnswer, known_without_asking
from webcrawl.net.dns_cares import MOST_ADDRESSES_PER_NAME, NameServers
from webcrawl.net.errors import BadUrl
from webcrawl.net.ftp import parse_ftp
from webcrawl.net.gopher import parse_gopher
from webcrawl.net.guard import AddressGuard
from webcrawl.net.http_request import RequestWriter, parse_target
from webcrawl.urls.canonical import SCHEMES, InvalidUrl, canonical, canonical_links
from webcrawl.urls.foldings import (
    lower_path,
    no_index,
    no_session_ids,
    one_scheme,
    single_slashes,
    sorted_query,
)
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline, build_pipeline

BASES = [
    "http://a.test/b/c?d",
    "https://x.example:8443/",
    "ftp://f.test/a/b",
    "gopher://g.test/1/m",
    "",
]
FOLDINGS = [lower_path, no_index, no_session_ids, one_scheme, single_slashes, sorted_query]
LONG = 10**6
DOMAINS = RegisteredDomains()
WRITER = RequestWriter("fuzz/1")


@cache
def _pipeline() -> LinkPipeline:
    return build_pipeline(url_settings(), bytes(16), lambda: 1.7e9)


def url(data: bytes) -> None:
    """A canonical URL is ASCII, canonical again, fits a request line, and is accepted by everything
    that reads it.
    """
    random = chance(data)
    link, base = (
        data.decode("utf-8", random.choice(("replace", "surrogateescape"))),
        random.choice(BASES),
    )
    try:
        found: str | None = canonical(link, base, LONG)
    except InvalidUrl:
        found = None
    assert canonical_links(base, [link], Counter(), LONG) == {link: found}
    _pipeline().process(base, 3, [link, f"/{link}", link + link])
    if found is None:
        return
    assert all("!" <= char <= "~" for char in found)
    assert "#" not in found
    assert found.partition("://")[0] in SCHEMES
    assert canonical(found, max_length=LONG) == found
    assert canonical(found, base or found, LONG) == found
    assert unpack(Link(found, "L", found, found).pack()) == Link(found, "L", found, found)
    host = host_of(found)
    assert DOMAINS(host)
    known_without_asking(host)
    for folding in FOLDINGS:
        folded = folding(found)
        assert host_of(folded) == host, folding
        assert len(folded) <= len(found)
    _asked(found)


def _asked(found: str) -> None:
    scheme = found.partition(":")[0]
    if scheme in ("http", "https"):
        try:
            head = WRITER.head(parse_target(found), keep=False)
        except BadUrl as error:
            assert str(error) == "port 0 does not exist"  # noqa: PT017 - the only reason there may be
            return
        assert head.count(b"\r\n") == head.count(b"\n") == 7
        return
    try:
        target = parse_ftp(found) if scheme == "ftp" else parse_gopher(found)
    except BadUrl:
        return
    said = [*target.folders, target.name] if scheme == "ftp" else [target.line[:-2]]
    assert not set(b"\r\n\0") & set(b"".join(said))


class Answering(NameServer):
    """Answers with the given bytes, under the query's number; then reports a failure."""

    told = b""

    def answer(self, question: bytes, transport: str) -> bytes:
        self.questions.append((transport,))
        return (
            question[:2] + self.told
            if transport == "tcp" or len(self.questions) < 3
            else question[:2] + b"\x81\x82" + question[4:]
        )


@cache
def _servers() -> tuple[Answering, NameServers]:
    async def start() -> tuple[Answering, NameServers]:
        server, stack = Answering(), AsyncExitStack()
        await stack.enter_async_context(server.running())
        return server, NameServers([("127.0.0.1", server.port)], timeout=0.05, tries=1)

    return run(start())


def dns(data: bytes) -> None:
    """Whatever a name server sends, the answer is addresses or a failure, and the guard can judge
    each address.
    """
    server, lookup = _servers()
    server.told = data
    server.questions.clear()
    answer: DnsAnswer = run(asyncio.wait_for(lookup.ask("www.example.test"), 10))
    assert bool(answer.addresses) != (answer.failure is not None)
    assert len(answer.addresses) <= MOST_ADDRESSES_PER_NAME
    assert answer.ttl >= 0
    for address in answer.addresses:
        ip_address(address)
        AddressGuard()._examine(address)


def _records(*records: tuple[str, int, int, str]) -> bytes:
    question = b"\0\0\1\0\0\1\0\0\0\0\0\0\3www\7example\4test\0\0\1\0\1"
    answer = NameServer({"www.example.test": list(records)}).answer(question, "udp")
    return answer[2:] if answer else b""


def _links() -> Iterator[bytes]:
    place = folder("url-wpt")
    if place is not None:
        for name in ("urltestdata.json", "toascii.json"):
            for row in json.loads((place / name).read_text(encoding="utf-8")):
                if isinstance(row, dict):
                    yield row["input"].encode("utf-8", "replace")
    place = folder("url-canonical")
    if place is not None:
        for row in (place / "canonical.jsonl").read_text(encoding="utf-8").splitlines()[:500]:
            yield json.loads(row)["input"].encode("utf-8", "replace")
    place = folder("malicious")
    if place is not None:
        yield from (
            text.encode("utf-8", "replace")
            for text in json.loads((place / "blns.json").read_text(encoding="utf-8"))
        )


WWW = "www.example.test"
URLS = [
    b"http://a.test/b?c#d", b"//x/", b"../y;z", b"?q=\xc3\xa9", b"gopher://h:70/1x%0d", b"ftp://u:p@h/a;type=d",
    b"http://0x7f.1/", b"https://[::1]:443/", b"HTTP:\\\\a\\b",
    "http://faß.de/日本?€".encode(), b"mailto:x", b"http://a.b;jsessionid=1/(S(abc))/index.html?sid=0123456789abcdef0&x",
]  # fmt: skip
PARTS = [
    b"http://", b"https:", b"gopher://", b"ftp://", b"//", b"/", b"\\", b"?", b"#", b"@", b":", b":80", b":443",
    b":70", b":0", b"..", b"%2e", b".", b"%", b"%00", b"%0a", b"%ff",
    b"[::1]", b"[", b"]", b"xn--", b"0x", b"127.1", b"\xe3\x80\x82", b"\xc2\xad", b"\xf0\x9f\x98\x80", b"a" * 64,
    b"\t", b"|", b"^", b"<", b'"', b"{", b"`", b"'", b";", b"&",
    b"/(S(x))/", b";jsessionid=", b"index.html", b"data:", b"/../", b"//../", b"?sid=",
]  # fmt: skip
RECORDS = [
    b"\xc0\x0c", b"\xc0\xff", b"\xc0\x00", b"\0\1\0\1", b"\0\5\0\1", b"\0\x1c\0\1", b"\0\x10\0\1", b"\0\x41\0\1",
    b"\0\2\0\1", b"\0\6\0\1", b"\0\x0f\0\1", b"\0\x21\0\1", b"\0\x23\0\1",
    b"\0\x29\0\1", b"\1\1\0\1", b"\0\0\0\x3c", b"\xff\xff\xff\xff", b"\0\4\x7f\0\0\1", b"\0\0",
    b"\3www\7example\4test\0", b"\1\xff\0", b"\x3f", b"\x80",
]  # fmt: skip

TARGETS = [
    Target("url", url, URLS, PARTS, _links),
    Target("dns", dns, [_records((WWW, A, 60, "192.0.2.1")), _records((WWW, CNAME, 9, "b.test"), ("b.test", A, 5,
    "192.0.2.2"), ("b.test", AAAA, 5, "::1")),
           _records()], RECORDS),
]  # fmt: skip
