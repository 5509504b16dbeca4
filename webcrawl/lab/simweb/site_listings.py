"""Sitemaps, feeds and validators of a changing web: honest ones, and servers that lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from html import escape
from math import ceil
from zlib import crc32

from webcrawl.lab.simweb.host_kinds import gzip
from webcrawl.lab.simweb.random_content import draws
from webcrawl.lab.simweb.web_answers import ChangingWeb, WebAnswer, WebRequest, seconds_of_date

_YEAR = 365.25 * 86_400
# how far the dates of odd servers are wrong
FUTURE_SECONDS = 10 * _YEAR
PAST_SECONDS = 12 * _YEAR
BOTH = "validator_both"
ODD_TAGS = frozenset({"odd_etag_fresh", "odd_etag_only"})  # odd servers without Last-Modified
NEVER_304 = frozenset({"odd_ignores", "odd_etag_fresh"})  # odd servers that send each page whole


def tag_of(edition: int, *, weak: bool = False) -> str:
    return f'{"W/" if weak else ""}"{edition & 2**64 - 1:x}"'


def _conditional_listing(answer: WebAnswer, request: WebRequest, tag: str) -> WebAnswer:
    """Return a sitemap or feed with its ETag, or a 304 if the client has the same."""
    lines = (f"ETag: {tag}",)
    if _has_tag(request.etag, tag):
        return WebAnswer(304, headers=lines)
    return _with_headers(answer, lines)


def conditional_page(
    answer: WebAnswer,
    request: WebRequest,
    kind: str,
    odd: str,
    edition: int,
    modified: float,
    now: float,
) -> WebAnswer:
    """Return `answer` with its validators, or a 304 if the client has the same edition.

    `kind` says which validators the host has, and `odd` how it lies about them, if it does.
    `modified` and `now` are seconds since 1970.
    """
    if odd:
        kind = "" if odd in ODD_TAGS else BOTH
    tag = _tag(kind, odd, edition, now)
    last_modified = _last_modified(kind, odd, modified, now)
    lines: tuple[str, ...] = ()
    if tag:
        lines += (f"ETag: {tag}",)
    if last_modified is not None:
        lines += (f"Last-Modified: {formatdate(last_modified, usegmt=True)}",)
    # never before Last-Modified
    answer.date = formatdate(now - PAST_SECONDS if odd == "odd_years" else now, usegmt=True)
    if odd in NEVER_304 or not _is_unmodified(request, odd, tag, last_modified):
        return _with_headers(answer, lines)
    if odd == "odd_304_body":
        return WebAnswer(304, script=_with_body(lines, answer.body))
    return WebAnswer(304, headers=lines, type="", date=answer.date)


def _last_modified(kind: str, odd: str, modified: float, now: float) -> float | None:
    """Return the time of Last-Modified in seconds since 1970, or None if the header is missing.

    A copy with it must not be taken for the next edition, so it is missing in the very second of
    the change (RFC 9110, 8.8.2.1).
    """
    has_passed = int(modified) < int(now)
    if kind not in ("validator_modified", BOTH) or not has_passed:
        return None
    shift = {"odd_future": FUTURE_SECONDS, "odd_years": -PAST_SECONDS}.get(odd, 0.0)
    return int(modified) + shift


def _is_unmodified(request: WebRequest, odd: str, tag: str, last_modified: float | None) -> bool:
    """Return whether the server says that the client has the current page."""
    if odd == "odd_304_conditional":  # whatever the client has
        return bool(request.etag or request.since)
    if request.etag:  # If-Modified-Since does not count beside it (RFC 9110, 13.1.3)
        return _has_tag(request.etag, tag)
    return last_modified is not None and seconds_of_date(request.since) >= last_modified


def _tag(kind: str, odd: str, edition: int, now: float) -> str:
    """Return the ETag of a page, or "" if it has none."""
    if odd == "odd_etag_fresh":
        return tag_of(int(now * 1e6))
    if odd == "odd_etag_only" or kind in ("validator_strong", BOTH):
        return tag_of(edition)
    return tag_of(edition, weak=True) if kind == "validator_weak" else ""


def _with_headers(answer: WebAnswer, lines: tuple[str, ...]) -> WebAnswer:
    answer.headers += lines
    return answer


def _with_body(lines: tuple[str, ...], body: bytes) -> tuple[bytes, ...]:
    head = "\r\n".join(
        ["HTTP/1.1 304 Not Modified", *lines, f"Content-Length: {len(body)}", "", ""]
    )
    return (head.encode() + body,)


def _has_tag(if_none_match: str, tag: str) -> bool:
    """Return whether the value of an If-None-Match names this tag.

    Tags are compared weakly (RFC 9110, 8.8.3.2). An empty tag is never named.
    """
    tags = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return bool(tag) and (tag.removeprefix("W/") in tags or "*" in tags)


SITEMAP, INDEX = "/sitemap.xml", "/sitemap_index.xml"
PATHS = {"feed_atom": "/feed.atom", "feed_rss": "/feed.rss"}
TYPES = {"feed_atom": "application/atom+xml", "feed_rss": "application/rss+xml"}
PAGES_PER_FILE = 500  # of an indexed sitemap
MAX_PAGES = 10_000  # of a host that its sitemaps list
FEED_ENTRIES = 20
MAX_FALSE_AGE_SECONDS = 10 * 86_400.0  # how far back random dates go
_PART = re.compile(r"/sitemap-(\d{1,3})\.xml\.gz")
_URLSET_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_INDEX_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'

Entry = tuple[str, float]
"""A URL and when it changed, in seconds since 1970."""


def named_in_robots(kind: str) -> str:
    """Return the path of the sitemap that the robots.txt of such a host names, or ""."""
    if kind in ("", "sitemap_unnamed"):
        return ""
    return INDEX if kind == "sitemap_index" else SITEMAP


def is_listing(target: str) -> bool:
    return target in (SITEMAP, INDEX, *PATHS.values()) or _PART.fullmatch(target) is not None


def listing_answer(changing: ChangingWeb, request: WebRequest, now: float) -> WebAnswer | None:
    """Return the sitemap or feed at this path of a host, or None if it has none there."""
    feed = changing.world.kind("feed", request.host)
    listing: WebAnswer | None
    if feed and request.path == PATHS[feed]:
        listing = _feed(changing, feed, request.host, now)
    else:
        listing = _sitemap(changing, changing.world.kind("sitemap", request.host), request, now)
    if listing is None:
        return None
    # A tag of the bytes: it changes exactly when they do
    return _conditional_listing(listing, request, tag_of(crc32(listing.body)))


def _feed(changing: ChangingWeb, feed: str, host: int, now: float) -> WebAnswer:
    newest = sorted(_entries(changing, host, now), key=lambda entry: -entry[1])[:FEED_ENTRIES]
    write = _atom_text if feed == "feed_atom" else _rss_text
    text = write(changing.world.origin(host), newest)
    return WebAnswer(body=text.encode(), type=TYPES[feed])


def _sitemap(changing: ChangingWeb, kind: str, request: WebRequest, now: float) -> WebAnswer | None:
    """Return the host's sitemap, its index or a part of it at this path, or None if it has none."""
    if not kind:
        return None
    if kind != "sitemap_index":
        if request.path != SITEMAP:
            return None
        entries = _with_false_dates(changing, kind, _entries(changing, request.host, now), now)
        return WebAnswer(body=_urlset_text(entries).encode(), type="application/xml")
    if request.path == INDEX:
        return WebAnswer(
            body=_index_text(changing, request.host, now).encode(), type="application/xml"
        )
    part = _PART.fullmatch(request.path)
    if part is None or int(part[1]) >= _file_count(changing, request.host):
        return None
    entries = _entries(changing, request.host, now, int(part[1]))
    return WebAnswer(body=gzip(_urlset_text(entries).encode()), type="application/x-gzip")


def _file_count(changing: ChangingWeb, host: int) -> int:
    return ceil(min(changing.world.pages_of(host), MAX_PAGES) / PAGES_PER_FILE)


def _entries(
    changing: ChangingWeb, host: int, now: float, part: int | None = None
) -> Iterator[Entry]:
    """Yield the pages of a host that are there now, or those of one part of its sitemap.

    Each has the URL where it is now, and the moment at which it changed last.
    """
    pages = range(min(changing.world.pages_of(host), MAX_PAGES))
    if part is not None:
        pages = pages[part * PAGES_PER_FILE : (part + 1) * PAGES_PER_FILE]
    origin = changing.world.origin(host)
    for page in pages:
        target = changing.target(host, page, now)
        if target:
            yield origin + target, changing.modified(host, page, now)


def _with_false_dates(
    changing: ChangingWeb, kind: str, entries: Iterator[Entry], now: float
) -> Iterator[Entry]:
    """Yield the entries with the dates that a sitemap of this kind gives them: true ones or not."""
    for url, modified in entries:
        if kind == "sitemap_now":
            yield url, now
        elif kind == "sitemap_random":
            die = draws(changing.world.seed, crc32(url.encode()), int(now * 1e6))[0]
            yield url, now - MAX_FALSE_AGE_SECONDS * die / 2**64
        elif kind == "sitemap_frozen":
            yield url, float(changing.oldest)
        else:
            yield url, modified


def _urlset_text(entries: Iterator[Entry]) -> str:
    lines = [
        f"<url><loc>{escape(url)}</loc><lastmod>{_w3c(at)}</lastmod></url>\n" for url, at in entries
    ]
    return f"{_URLSET_HEAD}{''.join(lines)}</urlset>\n"


def _index_text(changing: ChangingWeb, host: int, now: float) -> str:
    """Return the index of a host's sitemap; each part has the date of its latest change."""
    origin = changing.world.origin(host)
    lines = []
    for part in range(_file_count(changing, host)):
        newest = max(
            (at for _, at in _entries(changing, host, now, part)), default=float(changing.oldest)
        )
        lines.append(
            f"<sitemap><loc>{origin}/sitemap-{part}.xml.gz</loc><lastmod>{_w3c(newest)}</lastmod></sitemap>\n"
        )
    return f"{_INDEX_HEAD}{''.join(lines)}</sitemapindex>\n"


def _atom_text(origin: str, entries: list[Entry]) -> str:
    """Return a feed in Atom with these entries, the latest first."""
    items = "".join(
        f'<entry><id>{escape(url)}</id><title>{escape(url)}</title><link href="{escape(url)}"/>'
        f"<updated>{_w3c(at)}</updated></entry>\n"
        for url, at in entries
    )
    latest = max((at for _, at in entries), default=0.0)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{origin}/</id><title>News</title><updated>{_w3c(latest)}</updated>\n"
        f"{items}</feed>\n"
    )


def _rss_text(origin: str, entries: list[Entry]) -> str:
    """Return a feed in RSS 2.0 with these entries, the latest first."""
    items = "".join(
        f"<item><guid>{escape(url)}</guid><title>{escape(url)}</title><link>{escape(url)}</link>"
        f"<pubDate>{formatdate(at, usegmt=True)}</pubDate></item>\n"
        for url, at in entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
        f"<title>News</title><link>{origin}/</link><description>News</description>\n{items}</channel></rss>\n"
    )


def _w3c(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
