"""What is written of one exchange: its records, decided and put together without a file in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webcrawl.model import Exchange, Link
from webcrawl.warc.fields import date, fields, named, uri
from webcrawl.warc.originals import Originals
from webcrawl.warc.record import HTTP, WARC_FIELDS, member


@dataclass(frozen=True, slots=True)
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
        when = date(exchange.started, fraction=self._version != "1.0")
        identifier, address = self._new_id(), uri(exchange.url)
        common = fields(
            (
                ("WARC-Target-URI", address),
                ("WARC-Date", when),
                ("WARC-IP-Address", exchange.ip),
                ("WARC-Warcinfo-ID", warcinfo),
            )
        )
        digest = exchange.digest
        original = self._originals.find(digest) if duplicate and exchange.head and not exchange.truncated else None
        first = _identified(identifier, common)
        records = [
            self._revisit(first, exchange, digest, original) if original else self._answer(first, exchange, digest)
        ]
        concurrent = common + fields((("WARC-Concurrent-To", identifier),))
        if exchange.request:
            said = _identified(self._new_id(), concurrent)
            records.append(member(self._version, "request", said, HTTP + "request", exchange.request))
        said = _identified(self._new_id(), concurrent)
        block = fields(_about(link, exchange, digest, metadata).items())
        records.append(member(self._version, "metadata", said, WARC_FIELDS, block))
        return Capture(b"".join(records), digest, identifier, address, when, original is None)

    def _answer(self, head: bytes, exchange: Exchange, digest: str) -> bytes:
        said = digest if not exchange.head or not _is_transfer_coded(exchange) else ""
        head += fields((("WARC-Truncated", exchange.truncated), ("WARC-Payload-Digest", said)))
        if not exchange.head:  # ftp and gopher have none: the payload is the block
            return member(self._version, "resource", head, _type(exchange), exchange.payload)
        return member(self._version, "response", head, HTTP + "response", exchange.head, exchange.wire)

    def _revisit(self, head: bytes, exchange: Exchange, digest: str, original: tuple[str, str, str]) -> bytes:
        identifier, address, when = original
        head += fields(
            (
                ("WARC-Profile", self._profile),
                ("WARC-Refers-To", identifier),
                ("WARC-Refers-To-Target-URI", address),
                ("WARC-Refers-To-Date", when),
                ("WARC-Payload-Digest", digest),
                ("WARC-Truncated", "length"),  # "shall be used for any identical-digest truncation"
            )
        )
        return member(self._version, "revisit", head, HTTP + "response", exchange.head)


def _identified(identifier: str, rest: bytes) -> bytes:
    return b"WARC-Record-ID: %b\r\n%b" % (identifier.encode(), rest)


def _is_transfer_coded(exchange: Exchange) -> bool:
    """The payload digest is of the payload without transfer coding (6.3.2), but `warcio check` and `fastwarc check -p`
    take it with; such a response says nothing on the matter, its metadata record does.
    """
    return exchange.wire != exchange.payload


def _type(exchange: Exchange) -> str:
    found = (value.decode("latin-1") for name, value in exchange.headers if name.lower() == b"content-type")
    return next(found, "application/octet-stream")


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
