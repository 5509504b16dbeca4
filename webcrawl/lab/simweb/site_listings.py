"""Sitemaps, feeds and validators of a changing web: honest ones, and servers that lie."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime
from html import escape
from zlib import crc32

from webcrawl.lab.simweb.host_kinds import gzip
from webcrawl.lab.simweb.random_content import draws
from webcrawl.lab.simweb.web_answers import Ask, Changing, WebAnswer

_YEAR = 365.25 * 86_400
AHEAD, BEHIND = 10 * _YEAR, 12 * _YEAR  # seconds that odd servers' dates are wrong by
BOTH = "validator_both"
OWN_TAGS = frozenset({"odd_etag_fresh", "odd_etag_only"})  # odd servers without Last-Modified
NEVER_304 = frozenset({"odd_ignores", "odd_etag_fresh"})  # odd servers that send each page whole


def tag_of(edition: int, *, weak: bool = False) -> str:
    return f'{"W/" if weak else ""}"{edition & 2**64 - 1:x}"'


def of_listing(answer: WebAnswer, ask: Ask, tag: str) -> WebAnswer:
    """Return a sitemap or feed with its ETag, or the 304 to a request that has the same."""
    lines = (f"ETag: {tag}",)
    return WebAnswer(304, headers=lines) if _matches(ask.etag, tag) else _with(answer, lines)


def of_page(
    answer: WebAnswer, ask: Ask, kind: str, odd: str, edition: int, modified: float, now: float
) -> WebAnswer:
    """Return the answer to a request for a page: `answer`, unless a 304 says the same.

    Times are seconds since 1970.
    """
    if odd:
        kind = "" if odd in OWN_TAGS else BOTH
    tag = _tag(kind, odd, edition, now)
    last_modified = _last_modified(kind, odd, modified, now)
    lines: tuple[str, ...] = ()
    if tag:
        lines += (f"ETag: {tag}",)
    if last_modified is not None:
        lines += (f"Last-Modified: {formatdate(last_modified, usegmt=True)}",)
    # never before Last-Modified
    answer.date = formatdate(now - BEHIND if odd == "odd_years" else now, usegmt=True)
    if odd in NEVER_304 or not _is_unmodified(ask, odd, tag, last_modified):
        return _with(answer, lines)
    if odd == "odd_304_body":
        return WebAnswer(304, script=_with_body(lines, answer.body))
    return WebAnswer(304, headers=lines, type="", date=answer.date)


def _last_modified(kind: str, odd: str, modified: float, now: float) -> float | None:
    """Return the time of Last-Modified; None if the header is missing.

    A copy with it must not be taken for the next edition, so it is missing in the very second of
    the change (RFC 9110, 8.8.2.1).
    """
    has_passed = int(modified) < int(now)
    if kind not in ("validator_modified", BOTH) or not has_passed:
        return None
    shift = {"odd_future": AHEAD, "odd_years": -BEHIND}.get(odd, 0.0)
    return int(modified) + shift


def _is_unmodified(ask: Ask, odd: str, tag: str, last_modified: float | None) -> bool:
    """Return whether the page is the one that the client has."""
    if odd == "odd_304_conditional":  # whatever the client has
        return bool(ask.etag or ask.since)
    if ask.etag:  # If-Modified-Since does not count beside it (RFC 9110, 13.1.3)
        return _matches(ask.etag, tag)
    return last_modified is not None and _seconds(ask.since) >= last_modified


def _tag(kind: str, odd: str, edition: int, now: float) -> str:
    if odd == "odd_etag_fresh":
        return tag_of(int(now * 1e6))
    if odd == "odd_etag_only" or kind in ("validator_strong", BOTH):
        return tag_of(edition)
    return tag_of(edition, weak=True) if kind == "validator_weak" else ""


def _with(answer: WebAnswer, lines: tuple[str, ...]) -> WebAnswer:
    answer.headers += lines
    return answer


def _with_body(lines: tuple[str, ...], body: bytes) -> tuple[bytes, ...]:
    head = "\r\n".join(
        ["HTTP/1.1 304 Not Modified", *lines, f"Content-Length: {len(body)}", "", ""]
    )
    return (head.encode() + body,)


def _matches(asked: str, tag: str) -> bool:
    """Compare weakly (RFC 9110, 8.8.3.2)."""
    tags = [one.strip().removeprefix("W/") for one in asked.split(",")]
    return bool(tag) and (tag.removeprefix("W/") in tags or "*" in tags)


def _seconds(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp() if text else 0.0
    except ValueError:
        return 0.0


SITEMAP, INDEX = "/sitemap.xml", "/sitemap_index.xml"
PATHS = {"feed_atom": "/feed.atom", "feed_rss": "/feed.rss"}
TYPES = {"feed_atom": "application/atom+xml", "feed_rss": "application/rss+xml"}
# pages of an indexed sitemap, of all of a host, and entries of a feed
PER_FILE, MOST, NEWEST = 500, 10_000, 20
LIES = 10 * 86_400.0  # seconds: how far back dates at random go
_PART = re.compile(r"/sitemap-(\d{1,3})\.xml\.gz")
_URLSET = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_INDEX = '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'

Entry = tuple[str, float]
"""A URL and when it changed, in seconds since 1970."""


def named_in_robots(kind: str) -> str:
    """Return the path of a host's sitemap that its robots.txt names; "" if it names none."""
    if kind in ("", "sitemap_unnamed"):
        return ""
    return INDEX if kind == "sitemap_index" else SITEMAP


def is_listing(target: str) -> bool:
    return target in (SITEMAP, INDEX, *PATHS.values()) or _PART.fullmatch(target) is not None


def listing_answer(living: Changing, ask: Ask, now: float) -> WebAnswer | None:
    """Return the sitemap or feed at this path of a host, or None if it has none there."""
    feed = living.world.kind("feed", ask.host)
    if feed and ask.path == PATHS[feed]:
        made = _feed(living, feed, ask.host, now)
    else:
        kind = living.world.kind("sitemap", ask.host)
        listing = _sitemap(living, kind, ask, now)
        if listing is None:
            return None
        made = listing
    # A tag of the bytes: it changes exactly when they do
    return of_listing(made, ask, tag_of(crc32(made.body)))


def _feed(living: Changing, feed: str, host: int, now: float) -> WebAnswer:
    newest = sorted(_entries(living, host, now), key=lambda entry: -entry[1])[:NEWEST]
    write = _atom if feed == "feed_atom" else _rss
    text = write(living.world.origin(host), newest)
    return WebAnswer(body=text.encode(), type=TYPES[feed])


def _sitemap(living: Changing, kind: str, ask: Ask, now: float) -> WebAnswer | None:
    """Return the host's sitemap, index or part of a sitemap at this path, or None."""
    if not kind:
        return None
    if kind != "sitemap_index":
        if ask.path != SITEMAP:
            return None
        entries = _lied(living, kind, _entries(living, ask.host, now), now)
        return WebAnswer(body=_urlset(entries).encode(), type="application/xml")
    if ask.path == INDEX:
        return WebAnswer(body=_index(living, ask.host, now).encode(), type="application/xml")
    part = _PART.fullmatch(ask.path)
    if part is None or int(part[1]) >= _files(living, ask.host):
        return None
    entries = _entries(living, ask.host, now, int(part[1]))
    return WebAnswer(body=gzip(_urlset(entries).encode()), type="application/x-gzip")


def _files(living: Changing, host: int) -> int:
    return -(-min(living.world.pages_of(host), MOST) // PER_FILE)


def _entries(living: Changing, host: int, now: float, part: int | None = None) -> Iterator[Entry]:
    """Yield the pages of a host that are there, at the URLs where they are now."""
    end = min(living.world.pages_of(host), MOST)
    pages = range(end) if part is None else range(part * PER_FILE, min((part + 1) * PER_FILE, end))
    origin = living.world.origin(host)
    for page in pages:
        target = living.target(host, page, now)
        if target:
            yield origin + target, living.modified(host, page, now)


def _lied(living: Changing, kind: str, entries: Iterator[Entry], now: float) -> Iterator[Entry]:
    for url, modified in entries:
        if kind == "sitemap_now":
            yield url, now
        elif kind == "sitemap_random":
            yield (
                url,
                now
                - LIES * draws(living.world.seed, crc32(url.encode()), int(now * 1e6))[0] / 2**64,
            )
        elif kind == "sitemap_frozen":
            yield url, float(living.oldest)
        else:
            yield url, modified


def _urlset(entries: Iterator[Entry]) -> str:
    lines = [
        f"<url><loc>{escape(url)}</loc><lastmod>{_w3c(at)}</lastmod></url>\n" for url, at in entries
    ]
    return f"{_URLSET}{''.join(lines)}</urlset>\n"


def _index(living: Changing, host: int, now: float) -> str:
    origin, lines = living.world.origin(host), []
    for part in range(_files(living, host)):
        newest = max(
            (at for _, at in _entries(living, host, now, part)), default=float(living.oldest)
        )
        lines.append(
            f"<sitemap><loc>{origin}/sitemap-{part}.xml.gz</loc><lastmod>{_w3c(newest)}</lastmod></sitemap>\n"
        )
    return f"{_INDEX}{''.join(lines)}</sitemapindex>\n"


def _atom(origin: str, entries: list[Entry]) -> str:
    written = "".join(
        f'<entry><id>{escape(url)}</id><title>{escape(url)}</title><link href="{escape(url)}"/>'
        f"<updated>{_w3c(at)}</updated></entry>\n"
        for url, at in entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{origin}/</id><title>News</title><updated>{_w3c(max([at for _, at in entries], default=0.0))}</updated>\n"
        f"{written}</feed>\n"
    )


def _rss(origin: str, entries: list[Entry]) -> str:
    written = "".join(
        f"<item><guid>{escape(url)}</guid><title>{escape(url)}</title><link>{escape(url)}</link>"
        f"<pubDate>{formatdate(at, usegmt=True)}</pubDate></item>\n"
        for url, at in entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>'
        f"<title>News</title><link>{origin}/</link><description>News</description>\n{written}</channel></rss>\n"
    )


def _w3c(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
