"""What is written of one exchange: its records, decided and put together without a file in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webcrawl.model import Exchange, Link
from webcrawl.warc.fields import date, fields, named, uri
from webcrawl.warc.originals import Originals
from webcrawl.warc.record import HTTP, WARC_FIELDS, member

Pairs = list[tuple[str, str]]


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
        common = [("WARC-Target-URI", address), ("WARC-Date", when), ("WARC-IP-Address", exchange.ip)]
        common.append(("WARC-Warcinfo-ID", warcinfo))
        digest = exchange.digest
        first = [("WARC-Record-ID", identifier), *common]
        original = self._originals.find(digest) if duplicate and not exchange.truncated else None
        records = [
            self._revisit(first, exchange, digest, original) if original else self._answer(first, exchange, digest)
        ]
        if exchange.request:
            pairs = [("WARC-Record-ID", self._new_id()), *common, ("WARC-Concurrent-To", identifier)]
            records.append(member(self._version, "request", pairs, HTTP + "request", exchange.request))
        pairs = [("WARC-Record-ID", self._new_id()), *common, ("WARC-Concurrent-To", identifier)]
        block = fields(_about(link, exchange, digest, metadata).items())
        records.append(member(self._version, "metadata", pairs, WARC_FIELDS, block))
        return Capture(b"".join(records), digest, identifier, address, when, original is None)

    def _answer(self, pairs: Pairs, exchange: Exchange, digest: str) -> bytes:
        pairs.append(("WARC-Truncated", exchange.truncated))
        if not exchange.head:  # ftp and gopher have none: the payload is the block
            pairs.append(("WARC-Payload-Digest", digest))
            return member(self._version, "resource", pairs, _type(exchange), exchange.payload)
        if not _is_transfer_coded(exchange):
            pairs.append(("WARC-Payload-Digest", digest))
        return member(self._version, "response", pairs, HTTP + "response", exchange.head, exchange.wire)

    def _revisit(self, pairs: Pairs, exchange: Exchange, digest: str, original: tuple[str, str, str]) -> bytes:
        identifier, address, when = original
        pairs += [
            ("WARC-Profile", self._profile),
            ("WARC-Refers-To", identifier),
            ("WARC-Refers-To-Target-URI", address),
            ("WARC-Refers-To-Date", when),
            ("WARC-Payload-Digest", digest),
            ("WARC-Truncated", "length"),  # "shall be used for any identical-digest truncation"
        ]
        return member(self._version, "revisit", pairs, HTTP + "response", exchange.head)


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
