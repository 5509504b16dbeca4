"""What is written of one exchange: its records, decided and put together without a file in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webcrawl.model import Exchange, Link
from webcrawl.text.dates import iso
from webcrawl.text.digest import labels, sha1
from webcrawl.warc.fields import fields, line, named, uri
from webcrawl.warc.originals import Originals
from webcrawl.warc.record import HTTP_REQUEST, HTTP_RESPONSE, WARC_FIELDS, member

First = tuple[str, str, str, bytes, bytes]  # the first record's type, own fields, content type, block in two parts


@dataclass(slots=True)
class Capture:
    """The records of one exchange, and what a later revisit must know of its payload."""

    data: bytes
    digest: str
    identifier: str
    address: str
    date: str
    is_original: bool


class Captures:
    """Makes records of exchanges, in one version of the standard."""

    def __init__(self, version: str, originals: Originals, new_id: Callable[[], str]) -> None:
        self._version, self._originals, self._new_id = version, originals, new_id
        self._profile = f"http://netpreserve.org/warc/{version}/revisit/identical-payload-digest"

    def take(
        self, link: Link, exchange: Exchange, *, warcinfo: str, duplicate: bool, metadata: Mapping[str, str]
    ) -> Capture:
        """Response or revisit or resource, request, metadata: each names the first, as the standard's 5.7 has it."""
        when = iso(exchange.started, fraction=self._version != "1.0")
        identifier, address, digest = self._new_id(), uri(exchange.url), exchange.digest
        common = (
            f"{line('WARC-Target-URI', address)}WARC-Date: {when}\r\n"
            f"{line('WARC-IP-Address', exchange.ip)}WARC-Warcinfo-ID: {warcinfo}\r\n"
        )
        original = self._originals.find(digest) if duplicate and exchange.head and not exchange.truncated else None
        kind, own, content_type, block, rest = (
            self._revisit(exchange, digest, original) if original else _answer(exchange, digest)
        )
        request, about = exchange.request, fields(_about(link, exchange, digest, metadata))
        of_first, of_request, of_about = labels(sha1(block, rest), sha1(request), sha1(about))
        version, lines = self._version, f"WARC-Record-ID: {identifier}\r\n{common}{own}"
        records = [member(version, kind, lines, of_first, content_type, block, rest)]
        common += f"WARC-Concurrent-To: {identifier}\r\n"
        if request:
            lines = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
            records.append(member(version, "request", lines, of_request, HTTP_REQUEST, request))
        lines = f"WARC-Record-ID: {self._new_id()}\r\n{common}"
        records.append(member(version, "metadata", lines, of_about, WARC_FIELDS, about))
        return Capture(b"".join(records), digest, identifier, address, when, original is None)

    def _revisit(self, exchange: Exchange, digest: str, original: tuple[str, str, str]) -> First:
        identifier, address, when = original
        own = (
            f"WARC-Profile: {self._profile}\r\nWARC-Refers-To: {identifier}\r\n"
            f"WARC-Refers-To-Target-URI: {address}\r\nWARC-Refers-To-Date: {when}\r\n"
            f"WARC-Payload-Digest: {digest}\r\n"
            "WARC-Truncated: length\r\n"  # "shall be used for any identical-digest truncation"
        )
        return "revisit", own, HTTP_RESPONSE, exchange.head, b""


def _answer(exchange: Exchange, digest: str) -> First:
    own, head, payload = line("WARC-Truncated", exchange.truncated), exchange.head, exchange.payload
    if not head or not _is_transfer_coded(exchange):
        own += f"WARC-Payload-Digest: {digest}\r\n"
    if head:
        return "response", own, HTTP_RESPONSE, head, exchange.wire
    # ftp and gopher have none: the payload is the block
    content_type = line("Content-Type", exchange.content_type or "application/octet-stream") if payload else ""
    return "resource", own, content_type, payload, b""


def _is_transfer_coded(exchange: Exchange) -> bool:
    """The payload digest is of the payload without transfer coding (6.3.2), but `warcio check` and `fastwarc check -p`
    take it with; such a response says nothing on the matter, its metadata record does.
    """
    return exchange.wire != exchange.payload


def _about(link: Link, exchange: Exchange, digest: str, metadata: Mapping[str, str]) -> dict[str, str]:
    """The standard's three fields, Heritrix's source tag, then ours."""
    return {
        "via": link.via,
        "hopsFromSeed": link.path,
        "fetchTimeMs": str(round(exchange.timings.total * 1000)),
        "sourceTag": link.seed,
        "payloadDigest": digest if exchange.head and _is_transfer_coded(exchange) else "",
        "flaws": ",".join(exchange.flaws),
        "tls": exchange.tls,
        **named(metadata),
    }
