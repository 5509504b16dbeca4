"""Targets: HTTP responses, content codings, Retry-After, certificates."""

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator
from random import Random

import brotli

from tests.fuzzing.target import Target, chance, folder, pieces
from tests.support.certificates import encoded
from tests.support.net_answers import PAGE, WHOLE
from webcrawl.base.zstd_frame import zstd
from webcrawl.net.codings import Decoder
from webcrawl.net.connection_open import certificate_flaws
from webcrawl.net.errors import FetchError
from webcrawl.net.header_times import retry_after_of
from webcrawl.net.http_answer import AnswerParser, Message

CODINGS = [
    [b"gzip"],
    [b"deflate"],
    [b"br"],
    [b"zstd"],
    [b"gzip", b"gzip"],
    [b"br", b"gzip"],
    [b"deflate", b"zstd"],
]
LIMIT = 50_000
# Taken for a skippable frame by libzstd, if a piece ends in the header of the other one, which has
# up to 18 bytes
SKIPPED = re.compile(rb"\x28\xb5\x2f\xfd.{0,13}[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)


def read(parts: list[bytes], truncate: int, *, bodiless: bool, reset: bool) -> Message | FetchError:
    """The result of a connection that delivers these pieces and ends."""
    answer = AnswerParser(truncate, bodiless=bodiless)
    try:
        for part in parts:
            message = answer.feed(part)
            if message is not None:
                return message
        return answer.lost(reset=reset)
    except FetchError as error:
        return error


def http(data: bytes) -> None:
    """A message or one of our errors, within bounds, and the same however the bytes arrive."""
    random = chance(data)
    truncate = random.choice((64, 1000, 100_000))
    options = {"bodiless": random.random() < 0.1, "reset": random.random() < 0.2}
    parts = pieces(data, random)
    whole, split = (read(one, truncate, **options) for one in ([data], parts))
    assert type(whole) is type(split), (whole, split)
    if isinstance(whole, FetchError) or isinstance(split, FetchError):
        return
    assert whole.head == split.head
    assert whole.head.raw in data
    assert 100 <= whole.head.status < 1000
    wire, payload, body = whole.forms()
    split_wire, split_payload, split_body = split.forms()
    assert max(len(body), len(split_body)) <= truncate
    assert len(split_wire) <= 2 * truncate + 65536 + max(map(len, parts))
    broken = "coding" in whole.flaws + split.flaws
    assert whole.truncated == split.truncated or broken, (whole.truncated, split.truncated)
    # nothing is read beyond the piece with the last chunk or the first excess byte
    assert (
        wire.startswith(split_wire)
        if whole._chunks is not None or whole.truncated or broken
        else wire == split_wire
    )
    assert (
        payload.startswith(split_payload)
        if whole.truncated == "length" or broken
        else payload == split_payload
    )
    if broken:  # the output before it broke, or the body as received
        same_body(
            *(
                one
                for one in (body, split_body)
                if one not in (payload[:truncate], split_payload[:truncate])
            )
        )
    else:
        same_body(body, split_body, exact=True)
    assert broken or whole.truncated == "length" or set(whole.flaws) == set(split.flaws)


def same_body(*bodies: bytes, exact: bool = False) -> None:
    """A broken stream may lose some of its last bytes, but never yields different ones."""
    shorter, longer = min(bodies, key=len, default=b""), max(bodies, key=len, default=b"")
    assert longer == shorter if exact else longer.startswith(shorter)


def undone(codings: list[bytes], parts: list[bytes]) -> Decoder:
    made = Decoder(codings, LIMIT)
    for part in parts:
        made.feed(part)
    made.finish()
    return made


def codings(data: bytes) -> None:
    """The first byte selects the coding.

    Output is bounded, the same in pieces, and zlib's where zlib can read it.
    """
    if not data:
        return
    names, stream, random = CODINGS[data[0] % len(CODINGS)], data[1:], chance(data)
    if b"zstd" in names and SKIPPED.search(stream):
        return
    whole, split = undone(names, [stream]), undone(names, pieces(stream, random))
    assert len(whole.body) <= LIMIT
    assert len(whole._out) <= LIMIT + 2 * 65536, "one piece more than the limit at the most"
    assert whole.full == split.full or whole.broken or split.broken
    if not (whole.full or split.full):
        assert whole.broken == split.broken
    same_body(whole.body, split.body, exact=not (whole.broken or split.broken))
    if names == [b"gzip"] and (expected := _reference(stream)) is not None:
        assert whole.body == expected[:LIMIT]
        assert not whole.broken


def _reference(stream: bytes) -> bytes | None:
    made = zlib.decompressobj(31)
    try:
        found = made.decompress(stream, LIMIT + 1)
    except zlib.error:
        return None
    return found if made.eof and not made.unused_data else None


def waits(data: bytes) -> None:
    """Retry-After is a number of seconds, whatever the header."""
    seconds = retry_after_of([(b"Retry-After", data)], 1.7e9)
    assert math.isfinite(seconds)
    assert seconds >= 0


def certificates(data: bytes) -> None:
    """Any certificate has a list of named flaws."""
    for host in ("www.example.test", "::1", "127.0.0.1"):
        assert all(flaw.startswith("certificate_") for flaw in certificate_flaws(data, host, 1.7e9))


def _responses() -> Iterator[bytes]:
    place = folder("http-raw")
    if place is not None:
        yield from (path.read_bytes() for path in sorted((place / "responses").iterdir()))
        for row in (place / "llhttp-responses.jsonl").read_text(encoding="utf-8").splitlines():
            yield json.loads(row)["raw"].encode("latin-1", "replace")


def _bombs() -> Iterator[bytes]:
    place = folder("malicious")
    for number, name in enumerate(("gzip", "deflate", "br", "zstd")):
        if place is not None:
            yield bytes([number]) + (place / f"compressed/bomb-{name}.bin").read_bytes()


def _packed() -> list[bytes]:
    text = bytes(Random(1).choices(b"abcdef <>\n", k=3000))
    zipped, deflated = gzip.compress(text, mtime=0), zlib.compress(text)
    packed = [
        zipped,
        deflated,
        brotli.compress(text),
        zstd.compress(text),
        gzip.compress(zipped, mtime=0),
    ]
    packed += [gzip.compress(brotli.compress(text), mtime=0), zstd.compress(deflated)]
    seeds = [bytes([number]) + stream for number, stream in enumerate(packed)]
    members = b"".join(gzip.compress(text[at : at + 500], mtime=0) for at in range(0, 3000, 500))
    frames = b"".join(zstd.compress(text[at : at + 500]) for at in range(0, 3000, 500))
    raw = zlib.compressobj(wbits=-15)
    return [
        *seeds,
        b"\0" + members,
        b"\3" + frames,
        b"\1" + raw.compress(text) + raw.flush(),
        b"\0" + gzip.compress(bytes(200_000)),
    ]


FIELDS = [
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 ", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 304 x\r\n",
    b"HTTP/1.1 101 x\r\n\r\n",
    b"Content-Length: ", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Content-Encoding: gzip\r\n", b"Content-Encoding: br, deflate\r\n", b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"\r\n\r\n", b"\n\n", b"0\r\n\r\n", b"5\r\nhello\r\n", b"ffffffffffffffff\r\n", b'3;a="b"\r\n',
    b'3 ; a = "b"\r\n', b"0\r\nContent-Length: 3\r\n",
    b"Location: //x\r\n",
    b"Set-Cookie: a\r\n", b" folded\r\n", b"Trailer: x\r\n", b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b":", b"A:\r\n" * 30,
]  # fmt: skip
DATES = [
    b"120", b"Fri, 31 Dec 1999 23:59:59 GMT", b"Friday, 31-Dec-99 23:59:59 GMT", b"Fri Dec 31 23:59:59 1999",
    b"Sat, 01 Jan 2050 00:00:00 +0100", b"1 Jan 9999 00:00 -9999",
]  # fmt: skip
WORDS = [
    b"Mon",
    b"Jan",
    b",",
    b":",
    b"-",
    b"+",
    b"GMT",
    b"-0000",
    b"99999",
    b"2024",
    b"23:59:60",
    b".",
    b"AM",
    b"EST",
]

TARGETS = [
    Target(
        "http", http, [*WHOLE.values(), WHOLE["gzip"] + PAGE], FIELDS, _responses,
    ),
    Target("codings", codings, _packed(), [b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\x28\xb5\x2f\xfd", b"\x78\x9c",
    b"\x50\x2a\x4d\x18\4\0\0\0", bytes(8)], _bombs),
    Target("retry_after", waits, DATES, [*DATES, *WORDS]),
    Target("certificate", certificates, [encoded("www.example.test", "*.b.test", "127.0.0.1", "::1"), encoded()],
           [b"\x30\x80", b"\x06\x03\x55\x1d\x11", b"\x87\x04\x7f\0\0\1", b"\x17\x0d", b"\x18\x0f", b"20500101000000Z"]),
]  # fmt: skip
