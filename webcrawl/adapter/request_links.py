"""Converts ordinary Scrapy requests to links, which the frontier stores, and back.

A request of the crawl's own state may name any method of its spider, one from outside only a
callback.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from inspect import getattr_static, signature
from types import FunctionType
from typing import Any

import msgpack
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from webcrawl.adapter.held_values import FIELDS, HeldValues, Values
from webcrawl.adapter.request_trip import KEY, attach_trip
from webcrawl.adapter.stored_values import (
    CannotBePacked,
    HeldValue,
    ValuePacker,
    ValueUnpacker,
    form_of,
    loaded,
)
from webcrawl.base.model import Link
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.crawl.request_word import A_CLASS, read_word
from webcrawl.crawl.trip import Trip
from webcrawl.urls.canonical import canonical

# in request.meta: an inline download that is logged, but has no place in an archive
PRIVATE = "webcrawl_private"
DEFAULTS = Request("http://x/").to_dict()
METHODS = ("callback", "errback")
CLASS = "_class"  # Scrapy's name for the class of a request that is none of its plain ones
# Keys of request.meta that are not stored with a request: they are made anew each time the
# scheduler hands it out.
START = {"is_start_request": True}  # all that Scrapy adds to the meta of a start request
NOT_STORED = frozenset({KEY, "depth", "verbatim_url", "download_slot", "download_latency"})


class CannotBeKept(Exception):  # noqa: N818 - reads as what it is
    """A request that cannot be kept on disk. `kind`: what of it; the message says what to do."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class CannotBeMade(Exception):  # noqa: N818 - reads as what it is
    """A link whose request the spider can no longer have. `kind`: what is missing."""

    def __init__(self, link: Link, kind: str, why: str) -> None:
        super().__init__(why)
        self.link = link
        self.kind = kind


def to_link(
    request: Request, spider: Spider, *, classes: bool = True, held: HeldValues | None = None
) -> Link:
    """Return the link for this request. Raise InvalidUrl or CannotBeKept.

    All but the URL is packed into one opaque word. Callbacks must be methods of the spider, as with
    any scheduler that keeps requests on disk. Without `classes` it comes back as a plain Request,
    with all that is sent. `held` keeps the values of `meta` and `cb_kwargs` that have no packed
    form; without it such a request cannot be kept.
    """
    # The frontier fetches canonical URLs, also of a request with `verbatim_url`
    url = request.url if needs_no_host(request.url) else canonical(request.url)
    via = referer(request)
    given = _as_dict(request, spider)
    given["meta"] = {key: value for key, value in request.meta.items() if key not in NOT_STORED}
    values: Values = {}
    for field in FIELDS:
        if not given[field] or _is_plain(given[field]):
            continue
        packing = ValuePacker(spider, classes=classes)
        given[field], left = _packed(request, field, given[field], packing, held)
        if left:
            values[field] = left
    word = _word(_beside_url(given, classes=classes))
    try:
        # Before the word, where a link's priority is read without unpacking
        if request.priority:
            word = f"{request.priority:d}.{word}"
        path = "L" * int(request.meta.get("depth", 0))
    except (TypeError, ValueError) as error:
        raise CannotBeKept(
            "number", f"its priority and its depth must be whole numbers ({error})"
        ) from error
    if values and held is not None:
        held.hold(word, values, has_errback=request.errback is not None)
    return Link(url, path, via, request=word)


def _beside_url(given: Mapping[str, Any], *, classes: bool) -> dict[str, Any]:
    """Return what a request has that another one for its URL has not."""
    beside: dict[str, Any] = {}
    for key, value in given.items():
        is_default = value == DEFAULTS.get(key)
        if key == "url" or is_default:
            continue
        # A class of requests has attributes of its own
        if classes or key in DEFAULTS:
            beside[key] = value
    return beside


def _word(extra: Mapping[str, Any]) -> str:
    """Return what a request has beside its URL as one word, empty for a plain GET."""
    if not extra:
        return ""
    try:
        return urlsafe_b64encode(msgpack.packb(extra)).decode()
    except (TypeError, ValueError, OverflowError) as error:
        key = next(key for key, value in extra.items() if not _is_plain(value))
        why = f"its {key} must consist of plain values: strings, numbers, lists and dicts of them"
        raise CannotBeKept(key, why) from error


def _packed(
    request: Request,
    field: str,
    given: Mapping[Any, Any],
    packing: ValuePacker,
    held: HeldValues | None,
) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Return the values as msgpack takes them, and those that are held in memory."""
    packed = {}
    left = {}
    for key, value in given.items():
        try:
            packed[key] = packing.of(value)
            msgpack.packb(packed[key])
        except (CannotBePacked, TypeError, ValueError, OverflowError, RecursionError) as error:
            within = error.kind if isinstance(error, CannotBePacked) else type(value)
            if held is None:
                why = f"its {field} {key!r} has a {within.__qualname__}, which cannot be sent to another drone"
                raise CannotBeKept(field, why) from error
            packed[key] = held.place(field, key, type(value), within, request)
            left[key] = value
    return packed, left


def _as_dict(request: Request, spider: Spider) -> dict[str, Any]:
    try:
        return request.to_dict(spider=spider)
    except ValueError as error:
        for kind in METHODS:
            named = getattr(request, kind)
            # A method's name is all that the disk keeps of it
            if callable(named) and getattr(named, "__self__", None) is not spider:
                shown = getattr(named, "__qualname__", type(named).__name__)
                why = f"its {kind} {shown} is not a method of the spider: use one, as in {kind}=self.parse_item"
                raise CannotBeKept(kind, why) from error
        raise CannotBeKept("request", str(error)) from error


def variant(request: Request) -> str:
    """Return what tells a request from a GET of the same URL; empty if it is one."""
    if request.method == "GET" and not request.body:
        return ""
    return f"{request.method} {sha256(request.body).hexdigest()}"


def is_start(request: Request) -> bool:
    """Return whether a request comes from `start` itself.

    Scrapy's mark stays in the meta of whatever is made of a start request: a retry, a redirect, a
    replacement. But those have its trip as well.
    """
    return bool(request.meta.get("is_start_request")) and KEY not in request.meta


def start_variant(link: Link, request: Request) -> str:
    """Return what tells a start request from others of its URL: one per cookie jar, say.

    With `dont_filter` Scrapy sends all of them. Here each is sent once in a crawl, which may be
    resumed.
    """
    if not request.dont_filter:
        return variant(request)
    given = _readable(link) if link.request else {}
    has_only_marks = given.keys() <= {"dont_filter", "meta"} and given.get("meta") in (None, START)
    if has_only_marks:
        return variant(request)
    return f"start {sha256(link.request.encode()).hexdigest()}"


def to_request(
    link: Link, spider: Spider, trip: Trip, *, classes: bool = True, held: HeldValues | None = None
) -> Request:
    """Return the request again, with its trip.

    Raise CannotBeMade if the spider has no such method or class, or the word cannot be read.
    """
    if not link.request:
        errback = getattr(spider, "failed", None)
        meta = {"depth": link.depth, "verbatim_url": True}
        return attach_trip(
            Request(link.url, headers=cookies(link), errback=errback, meta=meta), trip
        )
    request = _again(
        link, _given(link, spider, classes=classes, held=held), spider, classes=classes
    )
    request.meta["depth"] = link.depth
    return attach_trip(request, trip)


def to_refused(
    link: Link, spider: Spider, trip: Trip, *, classes: bool = True, held: HeldValues | None = None
) -> Request:
    """Return a request that goes straight to its errback: its callback is never called.

    It lacks the values that are lost.
    """
    given = _given(link, spider, classes=classes, held=held, may_lack=True)
    if held is not None:
        held.release(link.request)
    given.pop("callback", None)
    return attach_trip(_again(link, given, spider, classes=classes), trip)


def _again(link: Link, given: dict[str, Any], spider: Spider, *, classes: bool) -> Request:
    for kind in METHODS:
        name = given.get(kind)
        if name and not has_method(spider, name):
            raise CannotBeMade(
                link,
                f"{kind} {name}",
                f"the spider has no method {name}, which a request names as its {kind}",
            )
    if not classes:
        given.pop(CLASS, None)
    try:
        return request_from_dict({**given, "url": link.url}, spider=spider)
    except Exception as error:
        # A class of the user's may raise anything
        raise CannotBeMade(
            link, "request", f"a request cannot be restored ({error!r:.200})"
        ) from error


def _given(
    link: Link, spider: Spider, *, classes: bool, held: HeldValues | None, may_lack: bool = False
) -> dict[str, Any]:
    """Return the fields of the request, with their values.

    `may_lack`: values that were in memory only, and are gone, are left out.

    Which errors a value raises is its class's to say.
    """
    try:
        given = read_word(link.request, ValueUnpacker(spider, classes=classes).ext)
    except (
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise CannotBeMade(
            link, f"word {error}", f"a request in the state cannot be read ({error})"
        ) from error
    values = held.of(link.request) if held is not None else {}
    for field in FIELDS:
        for key, value in list((given.get(field) or {}).items()):
            if not isinstance(value, HeldValue):
                continue
            if key in values.get(field, {}):
                given[field][key] = values[field][key]
                continue
            if not may_lack:
                why = (
                    f"the {field} {key!r} of a request, a {value.kind}, was only in the memory of an "
                    "earlier run"
                )
                raise CannotBeMade(link, f"{field} {key}", why)
            del given[field][key]
    return given


def cookies(link: Link) -> dict[str, bytes] | None:
    """Return the header with the cookies that were set on the way to this link, if any."""
    sent = cookie_header(link.chain, link.url) if link.chain else b""
    return {"Cookie": sent} if sent else None


def has_errback(link: Link) -> bool:
    """Return whether the request behind this link has an errback to call when it fails."""
    return "errback" in _readable(link)


def stored_meta(link: Link) -> dict[str, Any]:
    """Return the meta of the request behind this link, without what is made anew."""
    return dict(_readable(link).get("meta") or {})


def _readable(link: Link) -> dict[str, Any]:
    """Return the fields of the request word, packed values as they are; none if it is unreadable.

    `to_request` says so when its turn comes.
    """
    try:
        return read_word(link.request)
    except (TypeError, ValueError):
        return {}


def referer(request: Request) -> str:
    """Return the page on which a request was found, as Scrapy's middleware notes it, or ""."""
    # A header of the spider's own may have any bytes
    try:
        return canonical((request.headers.get(b"Referer") or b"").decode())
    except ValueError:
        return ""


def _is_plain(value: Any) -> bool:
    """Return whether a value survives msgpack unchanged: a tuple comes back as a list."""
    try:
        msgpack.packb(value, strict_types=True)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


BUILT_UPON = ("scrapy.", "webcrawl.")  # modules with spiders that others are made of
ANSWERS = ("response", "failure")  # what their methods call an answer, if they take one
# by Scrapy, but not with an answer
NOT_CALLED = frozenset(("closed", "start_requests", "make_request_from_data"))


def has_method(spider: Spider, name: object) -> bool:
    """Return whether a request that this spider has made can name this method."""
    return isinstance(name, str) and callable(getattr(spider, name, None))


class CallbackCheck:
    """Decides for requests that come from outside."""

    def __init__(self, spider: Spider) -> None:
        self._kind = type(spider)

    def takes(self, kind: str, name: str, keywords: Mapping[str, Any]) -> bool:
        """Return whether this names a plain method of the spider's class that may be a callback.

        What an add-on injects as further arguments may be missing. Of classes: whether it is of the
        spider's project.
        """
        if kind == A_CLASS:
            return self._takes_class(*name.partition(":")[::2])
        found = getattr_static(self._kind, name, None)
        # A property would run
        if not isinstance(found, FunctionType) or name in NOT_CALLED:
            return False
        parameters = signature(found)
        # A method that the spider's author has not written must be one for an answer
        takes_answer = [*parameters.parameters][1:2] in ([one] for one in ANSWERS)
        if self._is_theirs(name) and not takes_answer:
            return False
        try:
            parameters.bind_partial(None, None, **keywords)
        except TypeError:
            return False
        return True

    def _takes_class(self, module: str, name: str) -> bool:
        """Return whether an object of this class may come from outside: the project's own."""
        found = loaded(module, name)
        packages = {kind.__module__.partition(".")[0] for kind in self._kind.__mro__}
        own = packages - {"scrapy", "webcrawl", "builtins"}
        if found is None or module.partition(".")[0] not in own:
            return False
        return bool(form_of(found))

    def _is_theirs(self, name: str) -> bool:
        """Return whether Scrapy or this crawl has a method of this name."""
        theirs = (kind for kind in self._kind.__mro__ if kind.__module__.startswith(BUILT_UPON))
        return any(name in vars(kind) for kind in theirs)
