"""The columns of the tables: names, types, and what is in each; docs/outputs.md describes them to users.

Where a column means what it means in Common Crawl's columnar index, it has that name and type, except that offsets and
lengths have 64 bits: an archive file may be larger than 2 GiB. A new column of `pages` is a line of PAGES.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from webcrawl.tables.ended import Ended
from webcrawl.text.surt import surt

TIME = pa.timestamp("ms", tz="UTC")
TEXT, FLAG = pa.string(), pa.bool_()
INT16, INT32, INT64, SECONDS = pa.int16(), pa.int32(), pa.int64(), pa.float32()


class Column(NamedTuple):
    """One column of `pages`, and how to read its value from the end of a URL."""

    name: str
    type: pa.DataType
    value: Callable[[Ended], Any]


PAGES = (
    Column("url_surtkey", TEXT, lambda end: surt(end.link.url)),
    Column("url", TEXT, lambda end: end.link.url),
    Column("url_host_name", TEXT, lambda end: end.host),
    Column("url_host_tld", TEXT, lambda end: end.host_parts.tld),
    Column("url_host_registered_domain", TEXT, lambda end: end.host_parts.registered),
    Column("url_host_private_domain", TEXT, lambda end: end.host_parts.private),
    Column("url_protocol", TEXT, lambda end: end.protocol),
    Column("url_port", INT32, lambda end: end.port),
    Column("url_path", TEXT, lambda end: end.path),
    Column("url_query", TEXT, lambda end: end.query),
    Column("fetch_time", TIME, lambda end: round(end.time * 1000)),
    Column("fetch_status", INT16, lambda end: int(end.outcome.status)),
    Column("fetch_redirect", TEXT, lambda end: end.redirect),
    Column("content_digest", TEXT, lambda end: end.exchange.digest[5:] if end.exchange else None),  # without "sha1:"
    Column("content_mime_type", TEXT, lambda end: end.mime_type),
    Column("content_charset", TEXT, lambda end: end.charset),
    Column("content_truncated", TEXT, lambda end: (end.exchange.truncated or None) if end.exchange else None),
    Column("warc_filename", TEXT, lambda end: end.archived and end.archived.file),
    Column("warc_record_offset", INT64, lambda end: end.archived and end.archived.offset),
    Column("warc_record_length", INT64, lambda end: end.archived and end.archived.length),
    Column("subset", TEXT, lambda end: end.subset),
    # ours
    Column("seed", TEXT, lambda end: end.link.seed or None),
    Column("via", TEXT, lambda end: end.link.via or None),
    Column("hops", TEXT, lambda end: end.link.hops),
    Column("depth", INT32, lambda end: end.link.depth),
    Column("attempt", INT32, lambda end: end.link.attempt),
    Column("ip", TEXT, lambda end: (end.exchange.ip if end.exchange else end.outcome.ip) or None),
    Column("dns_seconds", SECONDS, lambda end: end.exchange.timings.dns if end.exchange else None),
    Column("connect_seconds", SECONDS, lambda end: end.exchange.timings.connect if end.exchange else None),
    Column("tls_seconds", SECONDS, lambda end: end.exchange.timings.tls if end.exchange else None),
    Column("first_byte_seconds", SECONDS, lambda end: end.exchange.timings.first_byte if end.exchange else None),
    Column("total_seconds", SECONDS, lambda end: end.outcome.seconds if end.outcome.ended else None),
    Column("payload_size", INT64, lambda end: len(end.exchange.payload) if end.exchange else None),
    Column("body_size", INT64, lambda end: len(end.exchange.body) if end.exchange else None),
    Column("duplicate", FLAG, lambda end: end.page.duplicate if end.page else None),
    Column("links", INT32, lambda end: end.links),
    Column("title", TEXT, lambda end: (end.found.title or None) if end.found else None),
    Column("language", TEXT, lambda end: end.language),
    Column("canonical", TEXT, lambda end: end.canonical),
    Column("robots", TEXT, lambda end: end.robots),
    Column("neardup", pa.uint64(), lambda end: end.fingerprint),
)
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
SCHEMAS = {
    "pages": pa.schema([(column.name, column.type) for column in PAGES]),
    "links": pa.schema(list(LINKS.items())),
    "hosts": pa.schema(list(HOSTS.items())),
}


def page_row(end: Ended) -> tuple[Any, ...]:
    """A row of `pages`."""
    return tuple([column.value(end) for column in PAGES])
