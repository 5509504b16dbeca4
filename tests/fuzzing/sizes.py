"""Slow and large inputs at growing sizes.

CPU time and memory at a quarter of the size and at full size show whether a cost grows faster than
its bytes.
"""

import logging
import resource
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from gzip import compress
from io import BytesIO
from pathlib import Path

from tests.fuzzing import shapes
from tests.fuzzing.campaign import HangError, bounded
from tests.fuzzing.shapes import Shape, filled
from tests.support.hostile import peak, reset_peak
from webcrawl.content.html import embedded_addresses, link_kinds, mimetype
from webcrawl.content.html.embedded_addresses import refresh
from webcrawl.content.html.encodings import decode, encoding_of, from_content
from webcrawl.content.html.link_reader import LinkReader, with_query
from webcrawl.crawl.page_links import ftp_links, menu_links
from webcrawl.net.errors import FetchError
from webcrawl.net.ftp_listing import LISTING
from webcrawl.net.ftp_session import ReplyReader
from webcrawl.net.gopher import is_refusal, plain
from webcrawl.net.header_times import retry_after_of
from webcrawl.net.http_answer import AnswerParser
from webcrawl.net.robots import parse
from webcrawl.net.robots_entry import pack, unpack
from webcrawl.record.warc.reader import RecordReader
from webcrawl.urls.canonical import canonical_links
from webcrawl.urls.seeds.seed_reader import lines
from webcrawl.urls.seeds.seed_source import CsvRows, TextRows

SIZE = 1 << 20
HEAD = 60_000  # the longest head allowed, in bytes
SLOW = 1.0  # seconds of CPU
LARGE = 256 << 10  # KiB
READERS = {"usual": LinkReader(), "all": LinkReader(link_kinds.KINDS, anchor_text=True)}


def _page(reader: LinkReader, media: str, shape: Shape, size: int) -> object:
    found = reader.links(filled(shape, size), media, "http://a.test/b/c")
    return canonical_links(found.base, [link for _, link, _, _ in found.links], Counter())


def _charset(name: str, unit: bytes, size: int) -> object:
    body = filled((b"<a href='/?", unit, b"'>"), size)
    encoding = encoding_of(body, f"text/html; charset={name}")
    return with_query("/?" + decode(body, encoding), encoding), _page(
        READERS["usual"], f"text/html; charset={name}", (b"<a href='/?", unit, b"'>"), size
    )


def _replies(shape: Shape, size: int) -> None:
    reader = ReplyReader()
    reader.feed(filled(shape, size))
    try:
        while reader.next_reply():
            pass
    except FetchError:
        return


def _head(shape: Shape, size: int) -> None:
    try:
        AnswerParser(1000).feed(
            filled(
                (b"HTTP/1.1 200 OK\r\n" + shape[0], shape[1], shape[2] + b"\r\n\r\nx"),
                min(size, HEAD),
            )
        )
    except FetchError:
        return


def _robots(shape: Shape, size: int) -> None:
    rules = parse(
        filled((b"User-agent: *\n" + shape[0], shape[1], shape[2]), size), "webcrawl"
    ).rules
    for path in ("/", "/a" * 1000, "/" + "ab" * 900):
        rules.allowed(f"http://h.test{path}")
    unpack(pack(rules, "webcrawl"), "webcrawl")


def _rows(shape: Shape, size: int) -> None:
    for line, _ in lines([filled(shape, size // 4)]):
        for rows in (TextRows(), CsvRows()):
            try:
                rows.seed(line.decode())
            except ValueError:
                continue


def _text(read: Callable[[str], object], shape: Shape, size: int) -> object:
    return read(filled(shape, size).decode())


def _link(shape: Shape, size: int) -> object:
    return canonical_links(
        "http://a.test/b", [filled(shape, min(size, HEAD)).decode()], Counter(), HEAD * 2
    )


def _listing(kind: str, shape: Shape, size: int) -> object:
    return ftp_links(filled(shape, size), f"{LISTING}; format={kind}", "ftp://h.test/")


def _menu(shape: Shape, size: int) -> object:
    menu = filled(shape, size)
    return menu_links(menu, "", "gopher://h.test/"), plain(menu), is_refusal(b"3" + menu)


def _type(shape: Shape, size: int) -> object:
    return mimetype.parse(filled(shape, min(size, HEAD)).decode())


def _date(shape: Shape, size: int) -> object:
    return retry_after_of([(b"Retry-After", filled(shape, min(size, HEAD)))], 0.0)


def _records(pack: Callable[[bytes], bytes], shape: Shape, size: int) -> None:
    lost: list[object] = []
    file = BytesIO(pack(filled(shape, size)))
    with RecordReader(Path("x.warc.gz"), 1000, lost.append, file=file) as reader:
        assert list(reader)


def cases() -> dict[str, Callable[[int], object]]:
    """The measured functions of size, by name."""
    read: dict[str, tuple[Callable[[Shape, int], object], dict[str, Shape]]] = {
        "mlsd": (partial(_listing, "mlsd"), shapes.MLSD), "list": (partial(_listing, "list"), shapes.LIST),
        "menu": (_menu, shapes.MENU), "replies": (_replies, shapes.REPLIES), "head": (_head, shapes.HEADS),
        "robots": (_robots, shapes.ROBOTS), "seeds": (_rows, shapes.SEEDS), "type": (_type, shapes.TYPES),
        "archive": (partial(_records, compress), shapes.ARCHIVES),
        "members": (partial(_records, bytes), shapes.MEMBERS),
        "retry": (_date, {unit: (b"1 Jan ", unit.encode(), b"") for unit in shapes.DATES}),
    }  # fmt: skip
    for name, reader in READERS.items():
        read[name] = partial(_page, reader, "text/html"), shapes.MARKUP
        read[f"{name} XHTML"] = partial(_page, reader, "application/xhtml+xml"), shapes.XML
    for name, function in {
        "srcset": embedded_addresses.srcset_urls,
        "css": embedded_addresses.css_urls,
        "refresh": refresh,
        "content": from_content,
    }.items():
        read[name] = (
            partial(_text, function),
            {unit: (b"", unit.encode(), b"x") for unit in shapes.ATTRIBUTES},
        )
    for before in ("http://", "http://a.test/", "gopher://", "../"):
        read[f"link {before}"] = (
            _link,
            {unit: (before.encode(), unit.encode(), b"") for unit in shapes.LINKS},
        )
    found = {
        f"{name}: {case}": partial(of, shape)
        for name, (of, all_) in read.items()
        for case, shape in all_.items()
    }
    return found | {
        f"charset: {name}": partial(_charset, name, unit) for name, unit in shapes.CHARSETS.items()
    }


def measured(case: Callable[[int], object], size: int) -> tuple[float, int]:
    """CPU seconds and peak KiB."""
    before, start = reset_peak(), time.process_time()
    with bounded():
        case(size)
    return time.process_time() - start, peak() - before


def main(names: list[str]) -> int:
    """Print everything that takes noticeable time; returns how many exceed the limits."""
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    bad = count = 0
    for name, case in cases().items():
        if names and not any(wanted in name for wanted in names):
            continue
        count += 1
        try:
            (small, _), (seconds, memory) = measured(case, SIZE // 4), measured(case, SIZE)
        except (Exception, HangError) as error:  # noqa: BLE001 - whatever it is, it is a finding
            print(f"{name:40} {error!r}", flush=True)
            bad += 1
            continue
        over = seconds > SLOW or memory > LARGE
        bad += over
        if over or seconds > 0.25:
            growth = seconds / max(small, 1e-6)
            print(
                f"{name:40} {seconds:6.2f} s, x{growth:.1f} for 4 x the bytes, {memory >> 10:5} MiB {'!' * over}",
                flush=True,
            )
    print(f"{count} shapes of {SIZE >> 20} MiB, {bad} too slow or too large", flush=True)
    return int(bad > 0)
