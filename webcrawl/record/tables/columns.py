"""The columns of the tables, and rows of pages, changes, documents and hosts.

docs/column_meanings.py describes them to users: docs/columns.md.

Where a column means what it means in Common Crawl's columnar index, it has that name and type,
except that offsets and lengths have 64 bits: an archive file may be larger than 2 GiB. A new column
of `pages` is a line of PAGES and one of `page_row`; `changes`, `documents` and `hosts` have such a
pair each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa

from webcrawl.base.model import Exchange
from webcrawl.base.page_values import PageJudgement
from webcrawl.base.surt import surt
from webcrawl.base.url_text import host_of
from webcrawl.content.page import Page
from webcrawl.content.text_chunks import chunks
from webcrawl.content.text_quality import COLUMNS as QUALITY
from webcrawl.record.tables.rows import (
    MAX_TEXT_CHARS,
    EndedUrl,
    declared_language,
    host_parts,
    named_canonical,
    named_markdown,
    preference_columns,
)
from webcrawl.store.jobdir.host_row import HostRow, health_of
from webcrawl.urls.canonical import MAX_LENGTH

TIME = pa.timestamp("ms", tz="UTC")
TEXT = pa.string()
FLAG = pa.bool_()
INT16 = pa.int16()
INT32 = pa.int32()
INT64 = pa.int64()
SECONDS = pa.float32()

PAGES = {
    "url_surtkey": TEXT,
    "url": TEXT,
    "url_host_name": TEXT,
    "url_host_tld": TEXT,
    "url_host_registry_suffix": TEXT,
    "url_host_registered_domain": TEXT,
    "url_host_private_suffix": TEXT,
    "url_host_private_domain": TEXT,
    "url_host_name_reversed": TEXT,
    "url_protocol": TEXT,
    "url_port": INT32,
    "url_path": TEXT,
    "url_query": TEXT,
    "fetch_time": TIME,
    "fetch_status": INT16,
    "fetch_redirect": TEXT,
    "content_digest": TEXT,
    "content_mime_type": TEXT,
    "content_charset": TEXT,
    "content_truncated": TEXT,
    "warc_filename": TEXT,
    "warc_record_offset": INT64,
    "warc_record_length": INT64,
    "subset": TEXT,
    # ours
    "seed": TEXT,
    "via": TEXT,
    "hops": TEXT,
    "depth": INT32,
    "attempt": INT32,
    "ip": TEXT,
    "dns_seconds": SECONDS,
    "connect_seconds": SECONDS,
    "tls_seconds": SECONDS,
    "first_byte_seconds": SECONDS,
    "total_seconds": SECONDS,
    "payload_size": INT64,
    "body_size": INT64,
    "duplicate": FLAG,
    "links": INT32,
    "title": TEXT,
    "language": TEXT,
    "canonical": TEXT,
    "robots": TEXT,
    "neardup": pa.uint64(),
    "forbidden": TEXT,
    "allowed": TEXT,
    "preferences": TEXT,
    "withheld": FLAG,
    "recognised": TEXT,
    "score": pa.float32(),
    "structured": TEXT,
}
LINKS = {
    "from_url": TEXT,
    "to_url": TEXT,
    "kind": TEXT,
    "text": TEXT,
    "rel": TEXT,
    "followed": FLAG,
}
HOSTS = {
    "url_host_name": TEXT,
    "url_host_tld": TEXT,
    "url_host_registered_domain": TEXT,
    "url_host_private_domain": TEXT,
    "state": TEXT,
    "health": TEXT,
    "pages": INT64,
    "queued": INT64,
    "failures": INT32,
    "failed_at": TIME,
    "failed_status": INT16,
    "away_seconds": SECONDS,
    "robots": TEXT,
    "crawl_delay": SECONDS,
    "mean_seconds": SECONDS,
    "next_request": TIME,
    "ip": TEXT,
}
CHANGES = {
    "url": TEXT,
    "url_host_name": TEXT,
    "url_host_tld": TEXT,
    "url_host_registered_domain": TEXT,
    "fetch_time": TIME,
    "previous_fetch_time": TIME,
    "interval_seconds": pa.float64(),
    "change": TEXT,
    "known_by": TEXT,
    "fetch_status": INT16,
    "etag": TEXT,
    "last_modified": TEXT,
    "content_digest": TEXT,
    "digest": pa.uint64(),
    "previous_digest": pa.uint64(),
    "text_distance": INT16,
    "announced": FLAG,
}
PLACE_COLUMN = "warc_record_offset"  # the next column has the length
DOCUMENTS = {  # `id`, `text` and `url` as datasets and datatrove want them
    "id": TEXT,
    "url": TEXT,
    "text": TEXT,
    "text_masked": TEXT,
    "title": TEXT,
    "author": TEXT,
    "date": TEXT,
    "license": TEXT,
    "language": TEXT,
    "language_detected": TEXT,
    "language_distance": INT32,
    "language_score": pa.float32(),
    "replacement_share": pa.float32(),
    "token_count": INT32,
    "fetch_time": TIME,
    "fetch_status": INT16,
    "url_host_name": TEXT,
    "url_host_tld": TEXT,
    "url_host_registry_suffix": TEXT,
    "url_host_registered_domain": TEXT,
    "url_host_private_suffix": TEXT,
    "url_host_private_domain": TEXT,
    "url_host_name_reversed": TEXT,
    "canonical": TEXT,
    "markdown": TEXT,
    "content_mime_type": TEXT,
    "content_digest": TEXT,
    "content_truncated": TEXT,
    "warc_filename": TEXT,
    PLACE_COLUMN: INT64,
    "warc_record_length": INT64,
    "forbidden": TEXT,
    "allowed": TEXT,
    "preferences": TEXT,
    "recognised": TEXT,
    "change": TEXT,
    "flaw": TEXT,
    "neardup": pa.uint64(),
    "cluster": pa.uint64(),
    "score": pa.float32(),
    "structured": TEXT,
    **{name: {int: INT32, float: pa.float32(), bool: FLAG}[kind] for name, kind in QUALITY.items()},
}
CHUNKS = {
    "id": TEXT,
    "document_id": TEXT,
    "url": TEXT,
    "url_host_name": TEXT,
    "fetch_time": TIME,
    "ordinal": INT32,
    "start": INT32,
    "headings": pa.list_(TEXT),
    "text": TEXT,
    "token_count": INT32,
    "title": TEXT,
    "language_detected": TEXT,
}
SCHEMAS = {
    "pages": pa.schema(list(PAGES.items())),
    "links": pa.schema(list(LINKS.items())),
    "hosts": pa.schema(list(HOSTS.items())),
    "changes": pa.schema(list(CHANGES.items())),
    "documents": pa.schema(list(DOCUMENTS.items())),
    "chunks": pa.schema(list(CHUNKS.items())),
}


# The values in the order of the columns. The place of a record stands for its offset and its length.
Row = tuple[Any, ...]
DIGEST_START = len("sha1:")  # before the digest in base 32, which the tables have alone


def columns_of(table: str, rows: Sequence[Row]) -> list[Sequence[Any]]:
    """Return the columns of these rows.

    Only now offsets and lengths of records are asked for, because the archive may have to write
    queued records first.
    """
    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    at = SCHEMAS[table].get_field_index(PLACE_COLUMN)
    if at >= 0:
        columns[at] = [place and place.offset for place in columns[at]]
        columns[at + 1] = [place and place.length for place in columns[at + 1]]
    return columns


def page_row(end: EndedUrl) -> Row:
    # One expression for all columns: with a function for each, a row takes 3 us more
    link = end.link
    outcome = end.outcome
    exchange = end.exchange
    parts = end.host_parts
    place = end.archived
    timings = exchange.timings if exchange is not None else None
    return (
        surt(link.url),
        link.url,
        end.host,
        parts.tld,
        parts.registry_suffix,
        parts.registered,
        parts.private_suffix,
        parts.private,
        parts.reversed,
        end.protocol,
        end.port,
        end.path,
        end.query,
        round(end.time * 1000),
        int(outcome.status),
        end.redirect and end.redirect[:MAX_LENGTH],
        exchange and exchange.digest[DIGEST_START:],
        end.mime_type,
        end.charset,
        (exchange and exchange.truncated) or None,
        place and place.file,
        place,  # its offset
        place,  # its length
        end.subset,
        link.seed or None,
        link.via or None,
        link.hops,
        link.depth,
        link.attempt,
        (exchange.ip if exchange is not None else outcome.ip) or None,
        timings and timings.dns,
        timings and timings.connect,
        timings and timings.tls,
        timings and timings.first_byte,
        outcome.seconds if outcome.ended else None,
        exchange.size if exchange is not None else None,
        len(exchange.body) if exchange is not None else None,
        end.page.duplicate if end.page is not None else None,
        end.links,
        (end.document_links.title or None) if end.document_links is not None else None,
        end.language,
        end.canonical,
        end.robots,
        end.fingerprint,
        *end.preferences,
        (exchange and exchange.state.recognised) or None,
        exchange and exchange.state.scored and exchange.state.scored.score,
        end.structured,
    )


def change_row(url: str, status: int, exchange: Exchange, judged: PageJudgement) -> Row:
    host = host_of(url)
    parts = host_parts(host)
    return (
        url,
        host,
        parts.tld,
        parts.registered,
        round(exchange.started * 1000),
        round(judged.before * 1000) if judged.before else None,
        exchange.started - judged.before if judged.before else None,
        judged.change.value,
        judged.by and judged.by.value,
        int(status),
        _header_text(exchange.header(b"etag")),
        _header_text(exchange.header(b"last-modified")),
        exchange.digest[DIGEST_START:] if exchange.size else None,
        judged.digest or None,
        judged.digest_before or None,
        judged.distance,
        judged.announced,
    )


def _header_text(value: bytes | None) -> str | None:
    """Return a header's value as text, truncated after MAX_TEXT_CHARS; None if it is empty."""
    if not value:
        return None
    return value.decode("latin-1")[:MAX_TEXT_CHARS]


def document_row(
    page: Page, exchange: Exchange, about: Mapping[str, Any], cluster: int | None
) -> Row:
    """Return a row of `documents`. `about` is what the extractor says of the page."""
    host = host_of(page.url)
    place = exchange.state.archived
    started = round(exchange.started * 1000)
    parts = host_parts(host)
    return (
        _document_id(page.url, started),
        page.url,
        about.get("text"),
        about.get("text_masked"),
        _title(page, about),
        (about.get("author") or "")[:MAX_TEXT_CHARS] or None,
        about.get("date"),
        (about.get("license") or "")[:MAX_TEXT_CHARS] or None,
        declared_language(page, page.found),
        about.get("language_detected"),
        about.get("language_distance"),
        about.get("language_score"),
        about.get("replacement_share"),
        about.get("token_count"),
        started,
        page.status,
        host,
        parts.tld,
        parts.registry_suffix,
        parts.registered,
        parts.private_suffix,
        parts.private,
        parts.reversed,
        named_canonical(page.found),
        named_markdown(page.found),
        page.content_type[:MAX_TEXT_CHARS] or None,
        exchange.digest[DIGEST_START:] if exchange.size else None,
        page.truncated or about.get("truncated"),
        place and place.file,
        place,  # its offset
        place,  # its length
        *preference_columns(page.preferences),
        page.recognised or None,
        page.change.value,
        about.get("flaw"),
        about.get("neardup"),
        cluster,
        exchange.state.scored and exchange.state.scored.score,
        page.structured_json or None,
        *map(about.get, QUALITY),
    )


def chunk_rows(
    page: Page, exchange: Exchange, about: Mapping[str, Any], size: int
) -> Iterator[Row]:
    """Yield the rows of `chunks` of a document, each of at most `size` characters of its text."""
    started = round(exchange.started * 1000)
    occurrences = Counter[str]()
    token_counts = about.get("chunk_token_counts") or ()
    for ordinal, chunk in enumerate(chunks(about.get("text") or "", size)):
        # The same text of the same URL has the same identifier in every fetch and every crawl. The
        # number tells repetitions in one document apart.
        name = f"{page.url} {occurrences[chunk.text]} {chunk.text}"
        occurrences[chunk.text] += 1
        yield (
            str(uuid5(NAMESPACE_URL, name)),
            _document_id(page.url, started),
            page.url,
            host_of(page.url),
            started,
            ordinal,
            chunk.start,
            chunk.headings,
            chunk.text,
            token_counts[ordinal] if ordinal < len(token_counts) else None,
            _title(page, about),
            about.get("language_detected"),
        )


def _document_id(url: str, started: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"{url} {started}"))


def _title(page: Page, about: Mapping[str, Any]) -> str | None:
    return (page.title or about.get("title") or "")[:MAX_TEXT_CHARS] or None


def host_row(host: HostRow, robots: str | None, most_failures: int) -> Row:
    """Return a row of `hosts`.

    `robots` is the worst state of a robots.txt of the host. `most_failures` is HOST_MAX_FAILURES.
    """
    failed = host.failed
    times = host.times
    parts = host_parts(host.name)
    return (
        host.name,
        parts.tld,
        parts.registered,
        parts.private,
        host.state.name.lower(),
        health_of(host, most_failures).value,
        host.pages,
        host.waiting,
        host.failures,
        int(failed.at * 1000) if failed is not None else None,
        failed.status if failed is not None else None,
        failed.away if failed is not None else None,
        robots,
        host.crawl_delay or None,
        sum(times) / len(times) if times else None,
        int(host.ready_at * 1000) or None,
        host.ip or None,
    )
