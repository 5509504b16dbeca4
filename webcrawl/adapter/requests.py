"""Converts ordinary Scrapy requests to links, which the frontier stores, and back."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import msgpack
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from webcrawl.adapter.trip import KEY, Trip, give_trip
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.model import Link
from webcrawl.urls.canonical import canonical

PRIVATE = "webcrawl_private"  # in request.meta: an inline download that is logged, but has no place in an archive
DEFAULTS = Request("http://x/").to_dict()
# Keys of request.meta that are not stored with a request: they are made anew each time the scheduler hands it out.
START = {"is_start_request": True}  # all that Scrapy adds to the meta of a start request
NOT_STORED = frozenset({KEY, "depth", "verbatim_url", "download_slot", "download_latency"})


def to_link(request: Request, spider: Spider) -> Link:
    """The link that represents this request. Raises InvalidUrl if its URL cannot be fetched.

    All but the URL is packed into one opaque word. Callbacks must be methods of the spider, as with any scheduler that
    keeps requests on disk; values of `meta` that are no plain data are left out.
    """
    url, via = canonical(request.url), referer(request)
    given = request.to_dict(spider=spider)
    given["meta"] = {key: value for key, value in request.meta.items() if key not in NOT_STORED and _is_plain(value)}
    extra = {key: value for key, value in given.items() if key != "url" and value != DEFAULTS.get(key)}
    word = urlsafe_b64encode(msgpack.packb(extra)).decode() if extra else ""
    if request.priority:
        word = f"{request.priority:d}.{word}"
    return Link(url, "L" * int(request.meta.get("depth", 0)), via, request=word)


def variant(request: Request) -> str:
    """Tells a request from a GET of the same URL; the empty string if it is one."""
    if request.method == "GET" and not request.body:
        return ""
    return f"{request.method} {sha256(request.body).hexdigest()}"


def is_start(request: Request) -> bool:
    """Whether a request comes from `start` itself.

    Scrapy's mark stays in the meta of whatever is made of a start request: a retry, a redirect, a replacement. But
    those have its trip as well.
    """
    return bool(request.meta.get("is_start_request")) and KEY not in request.meta


def start_variant(link: Link, request: Request) -> str:
    """Tells a start request from others of the same URL: one per cookie jar, say. As above for one without options.

    With `dont_filter` Scrapy sends all of them. Here each is sent once in a crawl, which may be resumed.
    """
    given = _extra(link) if link.request else {}
    if not request.dont_filter or (not given.keys() - {"dont_filter", "meta"} and given.get("meta") in (None, START)):
        return variant(request)
    return f"start {sha256(link.request.encode()).hexdigest()}"


def to_request(link: Link, spider: Spider, trip: Trip) -> Request:
    """The request again, with its trip."""
    if not link.request:
        errback = getattr(spider, "failed", None)
        meta = {"depth": link.depth, "verbatim_url": True}
        return give_trip(Request(link.url, headers=cookies(link), errback=errback, meta=meta), trip)
    request = request_from_dict({**_extra(link), "url": link.url}, spider=spider)
    request.meta["depth"] = link.depth
    return give_trip(request, trip)


def cookies(link: Link) -> dict[str, bytes] | None:
    """The header with the cookies that were set on the way to this link, if there are any."""
    sent = cookie_header(link.chain, link.url) if link.chain else b""
    return {"Cookie": sent} if sent else None


def has_errback(link: Link) -> bool:
    """Whether the request behind this link has an errback to call when it fails."""
    return "errback" in _extra(link)


def stored_meta(link: Link) -> dict[str, Any]:
    """The meta of the request behind this link, without what is made anew."""
    return dict(_extra(link).get("meta", {}))


def _extra(link: Link) -> dict[str, Any]:
    return dict(msgpack.unpackb(urlsafe_b64decode(link.request.rpartition(".")[2]), strict_map_key=False))


def referer(request: Request) -> str:
    """The page on which a request was found, as Scrapy's referer middleware notes it; empty if it does not."""
    try:
        return canonical((request.headers.get(b"Referer") or b"").decode())
    except ValueError:
        return ""


def _is_plain(value: Any) -> bool:
    try:
        msgpack.packb(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
