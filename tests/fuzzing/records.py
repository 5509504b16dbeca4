"""Targets: archive records and log lines, written from foreign bytes and read again."""

import io
import re

from fastwarc.warc import ArchiveIterator

from tests.fuzzing.answers import FIELDS, _responses, read
from tests.fuzzing.target import Target, chance
from tests.support.net_answers import WHOLE
from tests.support.warc_reader import members, one_record
from webcrawl.base.model import Exchange, Link, Outcome, Timings
from webcrawl.net.errors import FetchError
from webcrawl.record.warc.capture import CaptureMaker, RecentPayloads
from webcrawl.store.jobdir import crawl_line, log_lines

ID = "<urn:uuid:00000000-0000-4000-8000-00000000000%d>"
NOTHING_BLANK = re.compile(rb"[!-~]+")

LENGTH = re.compile(
    rb"(?<=\n)(?:x-archive-orig-)?content-length[ \t]*:[ \t]*[0-9]*[ \t]*\r?\n", re.IGNORECASE
)


def warc(data: bytes) -> None:
    """A response's records are read as they were written, by a strict reader and by a common one."""
    message = read([data], 10_000, bodiless=False, reset=False)
    if isinstance(message, FetchError):
        return
    wire, payload, body = message.forms()
    headers = {name.lower(): value.decode("latin-1") for name, value in message.head.headers}
    url = f"http://a.test/{headers.get(b'location', '')}"
    made = Exchange(
        url, b"GET / HTTP/1.1\r\n\r\n", message.head.status, message.head.raw, message.head.headers, wire, payload,
        body,
        "127.0.0.1", 1.7e9, Timings(), message.truncated, tuple(message.flaws),
    )  # fmt: skip
    if chance(data).random() < 0.2:  # as for FTP: the type is a field of the record itself
        made.head = made.request = b""
        made.headers = [(b"content-type", b"text/plain")]
    numbers = iter(range(10))
    captures = CaptureMaker(RecentPayloads(), lambda: ID % next(numbers))
    about = {
        "title": data[:50].decode("utf-8", "replace").strip(),
        "server": headers.get(b"server", "").strip(),
    }
    taken = (
        captures.make(Link(url), made, warcinfo=ID % 9, duplicate=False, metadata=about).pack().data
    )
    records = [one_record(record) for record in members(taken)]
    assert [record.kind for record in records] == (
        ["response", "request", "metadata"] if made.head else ["resource", "metadata"]
    )
    body = wire if made.head else payload
    head = records[0].block.removesuffix(body)
    assert records[0].block == head + body
    # it declares the length that is kept, and has the received one under another name
    if made.truncated:
        assert LENGTH.sub(b"", head) == LENGTH.sub(b"", made.head)
    else:
        assert head == made.head
    assert set(records[-1].about) <= {"fetchTimeMs", "payloadDigest", "flaws", "title", "server"}
    usual = [
        record.reader.read() for record in ArchiveIterator(io.BytesIO(taken), parse_http=False)
    ]
    assert usual == [record.block for record in records]


def logs(data: bytes) -> None:
    """A line stays one line: twelve fields without blanks, or five separated by tabs, whatever they
    contain.
    """
    texts = (
        data.decode("utf-8", "surrogateescape"),
        data.decode("latin-1"),
        data[::-1].decode("utf-8", "replace"),
    )
    for text in texts:
        exchange = Exchange(
            text, b"", 200, b"", [], b"", b"", b"", "", 1.7e9, Timings(), _digest=text, _type=text
        )  # fmt: skip
        made = crawl_line.line(
            1.7e9, Link(text, text, text, text), Outcome(200, 0.1), exchange, [text, text]
        )
        assert made.count(b"\n") == 1
        assert all(NOTHING_BLANK.fullmatch(field) for field in made[:-1].split())
        assert len(made.split()) == 12
        assert made.split()[-1].count(b",") == 1
        lines = log_lines.link_lines(
            text, [("a", text, text, text), ("a", text, None, "")]
        ).decode()
        assert [line.count("\t") for line in lines.splitlines()] == [4, 4]


TARGETS = [
    Target("warc", warc, list(WHOLE.values()), [*FIELDS, b"Server: ", b"Content-Type: ", b"Location: ",
    "é€\u2028\u0085".encode()], _responses),
    Target("logs", logs, [b"text/html; charset=x", "é\u2028\t\r\n\x00".encode()], [b"\t", b"\x85", b"\xe2\x80\xa8",
    b"\x0b", b"\x1c", b",", b" ", b"\xed\xb3\xbf", b"%"]),
]  # fmt: skip
