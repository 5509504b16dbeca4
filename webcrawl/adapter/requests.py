"""Ordinary Scrapy requests on their way through the frontier, which keeps links."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import msgpack
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from webcrawl.model import Link
from webcrawl.urls.canonical import canonical

DEFAULTS = Request("http://x/").to_dict()
OURS = {"link", "outcome", "exchange", "keep", "depth", "verbatim_url", "download_slot", "download_latency", "refused"}


def to_link(request: Request, spider: Spider) -> Link:
    """The link that stands for this request; InvalidUrl if it has no URL that can be fetched.

    What it has beside its URL travels as one opaque word. Callbacks must be methods of the spider, as with any
    scheduler that keeps requests on disk; what of `meta` is no plain data stays behind.
    """
    url, via = canonical(request.url), _referer(request)
    given = request.to_dict(spider=spider)
    given["meta"] = {key: value for key, value in request.meta.items() if key not in OURS and _is_plain(value)}
    extra = {key: value for key, value in given.items() if key != "url" and value != DEFAULTS.get(key)}
    word = urlsafe_b64encode(msgpack.packb(extra)).decode() if extra else ""
    if request.priority:
        word = f"{request.priority}.{word}"
    return Link(url, "L" * int(request.meta.get("depth", 0)), via, request=word)


def variant(request: Request) -> str:
    """What makes a request another one than a GET of the same URL; the empty string if nothing does."""
    if request.method == "GET" and not request.body:
        return ""
    return f"{request.method} {sha256(request.body).hexdigest()}"


def to_request(link: Link, spider: Spider) -> Request:
    """The request again; `meta["link"]` is the link that it came from."""
    if not link.request:
        errback = getattr(spider, "failed", None)
        meta = {"link": link, "depth": link.depth, "verbatim_url": True}
        return Request(link.url, errback=errback, meta=meta)
    request = request_from_dict({**_extra(link), "url": link.url}, spider=spider)
    request.meta["link"] = link
    request.meta["depth"] = link.depth
    return request


def has_errback(link: Link) -> bool:
    """Whether anybody wants to hear that the request this link stands for has failed."""
    return "errback" in _extra(link)


def _extra(link: Link) -> dict[str, Any]:
    return dict(msgpack.unpackb(urlsafe_b64decode(link.request.rpartition(".")[2]), strict_map_key=False))


def _referer(request: Request) -> str:
    """The page on which a request was found, as Scrapy's middleware tells; empty if it does not."""
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
