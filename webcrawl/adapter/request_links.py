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

from webcrawl.adapter.held_values import VALUE_FIELDS, HeldValues, Values
from webcrawl.adapter.request_trip import KEY, attach_trip
from webcrawl.adapter.stored_values import (
    NOT_STORED_WITHIN,
    CannotBePacked,
    HeldValue,
    ValuePacker,
    ValueUnpacker,
    form_of,
    loaded_class,
)
from webcrawl.base.model import Link
from webcrawl.crawl.hostless import needs_no_host
from webcrawl.crawl.redirect_chain import cookie_header
from webcrawl.crawl.request_word import A_CLASS, read_word
from webcrawl.crawl.trip import Trip
from webcrawl.urls.canonical import canonical

# in request.meta: an inline download that is logged, but has no place in an archive
PRIVATE = "webcrawl_private"
# in request.meta: an inline download that is refused where it would wait for a host that does not
# answer
IMPATIENT = "webcrawl_impatient"
DEFAULT_FIELDS = Request("http://x/").to_dict()
METHOD_FIELDS = ("callback", "errback")
CLASS_FIELD = "_class"  # Scrapy's name for the class of a request that is none of its plain ones
START = {"is_start_request": True}  # all that Scrapy adds to the meta of a start request
# Keys of request.meta that are not stored with a request: they are made anew each time the
# scheduler hands it out.
NOT_STORED = NOT_STORED_WITHIN | {"verbatim_url", "download_slot", "download_latency"}


class CannotBeKept(Exception):  # noqa: N818 - reads as what it is
    """A request cannot be kept on disk. The message says what to do.

    `kind` names the part of the request that cannot be kept.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class CannotBeMade(Exception):  # noqa: N818 - reads as what it is
    """The request of a link cannot be restored. `kind` names what is missing."""

    def __init__(self, link: Link, kind: str, why: str) -> None:
        super().__init__(why)
        self.link = link
        self.kind = kind


def to_link(
    request: Request,
    spider: Spider,
    *,
    allow_classes: bool = True,
    held_values: HeldValues | None = None,
) -> Link:
    """Return the link that is kept for a request.

    Raise InvalidUrl for its URL, and CannotBeKept for anything else in it. All but the URL is
    packed into one opaque word. Callbacks must be methods of the spider, as with any scheduler that
    keeps requests on disk. Without `allow_classes` the request is restored as a plain Request, with
    all that is sent. `held_values` keeps in memory the values of `meta` and `cb_kwargs` that have
    no packed form; without it a request with such a value cannot be kept.
    """
    # The frontier fetches canonical URLs, also of a request with `verbatim_url`
    url = request.url if needs_no_host(request.url) else canonical(request.url)
    via = referer(request)
    fields = _fields_of(request, spider)
    fields["meta"] = {key: value for key, value in request.meta.items() if key not in NOT_STORED}
    values_in_memory: Values = {}
    for field in VALUE_FIELDS:
        if not fields[field] or _is_plain(fields[field]):
            continue
        packer = ValuePacker(spider, allow_classes=allow_classes)
        packed, in_memory = _pack_values(request, field, fields[field], packer, held_values)
        fields[field] = packed
        if in_memory:
            values_in_memory[field] = in_memory
    word = _pack_word(_fields_beside_url(fields, allow_classes=allow_classes))
    try:
        # In front of the word, where a link's priority can be read without unpacking
        if request.priority:
            word = f"{request.priority:d}.{word}"
        path = "L" * int(request.meta.get("depth", 0))
    except (TypeError, ValueError) as error:
        raise CannotBeKept(
            "number", f"its priority and its depth must be whole numbers ({error})"
        ) from error
    if values_in_memory and held_values is not None:
        held_values.store_values(word, values_in_memory, has_errback=request.errback is not None)
    return Link(url, path, via, request=word)


def _fields_beside_url(fields: Mapping[str, Any], *, allow_classes: bool) -> dict[str, Any]:
    """Return the fields in which a request differs from a plain GET of its URL."""
    own_fields: dict[str, Any] = {}
    for key, value in fields.items():
        is_default = value == DEFAULT_FIELDS.get(key)
        if key == "url" or is_default:
            continue
        # Fields that no plain Request has belong to the request's class
        if allow_classes or key in DEFAULT_FIELDS:
            own_fields[key] = value
    return own_fields


def _pack_word(fields: Mapping[str, Any]) -> str:
    """Return these fields of a request as one word, empty for a plain GET.

    Raise CannotBeKept, with the name of the field, if one has a value that msgpack cannot pack.
    """
    if not fields:
        return ""
    try:
        return urlsafe_b64encode(msgpack.packb(fields)).decode()
    except (TypeError, ValueError, OverflowError) as error:
        key = next(key for key, value in fields.items() if not _is_plain(value))
        raise CannotBeKept(
            key,
            f"its {key} must consist of plain values: strings, numbers, lists and dicts of them",
        ) from error


def _pack_values(
    request: Request,
    field: str,
    values: Mapping[Any, Any],
    packer: ValuePacker,
    held_values: HeldValues | None,
) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Return the values of `meta` or `cb_kwargs` as msgpack takes them, and those kept in memory.

    In the first dictionary a placeholder stands for each value of the second. Raise CannotBeKept if
    a value would have to be kept in memory, but `held_values` is None.
    """
    packed = {}
    in_memory = {}
    for key, value in values.items():
        try:
            packed[key] = packer.of(value)
            msgpack.packb(packed[key])
        except (CannotBePacked, TypeError, ValueError, OverflowError, RecursionError) as error:
            unpackable = error.kind if isinstance(error, CannotBePacked) else type(value)
            if held_values is None:
                raise CannotBeKept(
                    field,
                    f"its {field} {key!r} has a {unpackable.__qualname__}, which cannot be sent to "
                    "another drone",
                ) from error
            packed[key] = held_values.placeholder(field, key, type(value), unpackable, request)
            in_memory[key] = value
    return packed, in_memory


def _fields_of(request: Request, spider: Spider) -> dict[str, Any]:
    """Return the fields of a request, its callback and errback by their names.

    Raise CannotBeKept if one of the two is not a method of the spider.
    """
    try:
        return request.to_dict(spider=spider)
    except ValueError as error:
        for field in METHOD_FIELDS:
            method = getattr(request, field)
            # A method's name is all that the disk keeps of it
            if callable(method) and getattr(method, "__self__", None) is not spider:
                name = getattr(method, "__qualname__", type(method).__name__)
                raise CannotBeKept(
                    field,
                    f"its {field} {name} is not a method of the spider: use one, as in "
                    f"{field}=self.parse_item",
                ) from error
        raise CannotBeKept("request", str(error)) from error


def variant(request: Request) -> str:
    """Return the text that distinguishes a request from a GET of its URL, empty for a GET.

    The seen store tests it together with the URL.
    """
    if request.method == "GET" and not request.body:
        return ""
    return f"{request.method} {sha256(request.body).hexdigest()}"


def is_start(request: Request) -> bool:
    """Return whether a request comes from the spider's `start`, and is not derived from one that does.

    Retries, redirects and replacements of a start request copy Scrapy's mark in its meta. They copy
    its trip as well, which a start request has not got yet.
    """
    return bool(request.meta.get("is_start_request")) and KEY not in request.meta


def start_variant(link: Link, request: Request) -> str:
    """Return the variant of a start request, as `variant` does.

    With `dont_filter` Scrapy sends each of several start requests for one URL, such as one per
    cookie jar. So here all their fields count, and each is sent once, however often the crawl is
    resumed.
    """
    if not request.dont_filter:
        return variant(request)
    fields = _readable_fields(link) if link.request else {}
    has_only_marks = fields.keys() <= {"dont_filter", "meta"}
    if has_only_marks and fields.get("meta") in (None, START):
        return variant(request)
    return f"start {sha256(link.request.encode()).hexdigest()}"


def to_request(
    link: Link,
    spider: Spider,
    trip: Trip,
    *,
    allow_classes: bool = True,
    held_values: HeldValues | None = None,
) -> Request:
    """Return the request of a link, restored, with its trip.

    Raise CannotBeMade if the spider lacks a method or class that the request names, if a value was
    only in the memory of an earlier run, or if the word cannot be read.
    """
    if not link.request:
        errback = getattr(spider, "failed", None)
        meta = {"depth": link.depth, "verbatim_url": True}
        return attach_trip(
            Request(link.url, headers=cookie_headers(link), errback=errback, meta=meta), trip
        )
    fields = _restored_fields(link, spider, allow_classes=allow_classes, held_values=held_values)
    request = _restored_request(link, fields, spider, allow_classes=allow_classes)
    request.meta["depth"] = link.depth
    return attach_trip(request, trip)


def to_refused_request(
    link: Link,
    spider: Spider,
    trip: Trip,
    *,
    allow_classes: bool = True,
    held_values: HeldValues | None = None,
) -> Request:
    """Return the request of a link that was refused, for its errback: it has no callback.

    Values that were only in the memory of an earlier run are missing. Raise CannotBeMade as
    `to_request` does for anything else.
    """
    fields = _restored_fields(
        link, spider, allow_classes=allow_classes, held_values=held_values, may_lack_values=True
    )
    if held_values is not None:
        held_values.release(link.request)
    fields.pop("callback", None)
    return attach_trip(_restored_request(link, fields, spider, allow_classes=allow_classes), trip)


def _restored_request(
    link: Link, fields: dict[str, Any], spider: Spider, *, allow_classes: bool
) -> Request:
    """Return the request with these fields and the link's URL. Raise CannotBeMade."""
    for field in METHOD_FIELDS:
        name = fields.get(field)
        if name and not has_method(spider, name):
            raise CannotBeMade(
                link,
                f"{field} {name}",
                f"the spider has no method {name}, which a request names as its {field}",
            )
    if not allow_classes:
        fields.pop(CLASS_FIELD, None)
    try:
        return request_from_dict({**fields, "url": link.url}, spider=spider)
    except Exception as error:
        # A request class of the user's may raise anything
        raise CannotBeMade(
            link, "request", f"a request cannot be restored ({error!r:.200})"
        ) from error


def _restored_fields(
    link: Link,
    spider: Spider,
    *,
    allow_classes: bool,
    held_values: HeldValues | None,
    may_lack_values: bool = False,
) -> dict[str, Any]:
    """Return the fields of the request behind a link, with their values.

    Raise CannotBeMade if the word cannot be read, or if a value was only in the memory of an
    earlier run; with `may_lack_values` such a value is left out instead.
    """
    try:
        fields = read_word(link.request, ValueUnpacker(spider, allow_classes=allow_classes).ext)
    # The classes of the values decide which errors they raise
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
    values_in_memory = held_values.of(link.request) if held_values is not None else {}
    for field in VALUE_FIELDS:
        in_memory = values_in_memory.get(field, {})
        for key, value in list((fields.get(field) or {}).items()):
            if not isinstance(value, HeldValue):
                continue
            if key in in_memory:
                fields[field][key] = in_memory[key]
            elif may_lack_values:
                del fields[field][key]
            else:
                raise CannotBeMade(
                    link,
                    f"{field} {key}",
                    f"the {field} {key!r} of a request, a {value.kind}, was only in the memory of an "
                    "earlier run",
                )
    return fields


def cookie_headers(link: Link) -> dict[str, bytes] | None:
    """Return a Cookie header with the cookies that redirects to this link have set, or None."""
    value = cookie_header(link.chain, link.url) if link.chain else b""
    return {"Cookie": value} if value else None


def has_errback(link: Link) -> bool:
    """Return whether the request behind this link has an errback to call when it fails."""
    return "errback" in _readable_fields(link)


def stored_meta(link: Link) -> dict[str, Any]:
    """Return the stored meta of the request behind this link, its packed values as they are."""
    return dict(_readable_fields(link).get("meta") or {})


def _readable_fields(link: Link) -> dict[str, Any]:
    """Return the fields of a link's request word, with packed values as they are.

    Return an empty dictionary if the word is unreadable: `to_request` raises the error when the
    link is due.
    """
    try:
        return read_word(link.request)
    except (TypeError, ValueError):
        return {}


def referer(request: Request) -> str:
    """Return the URL in a request's Referer header, where Scrapy notes the page, or ""."""
    # The spider may have set the header to any bytes
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


LIBRARY_MODULES = ("scrapy.", "webcrawl.")  # whose spiders are base classes of a user's
ANSWER_PARAMETERS = ("response", "failure")  # the first parameter of their methods for answers
# Scrapy calls these methods of a spider, but not with an answer
NEVER_CALLBACKS = frozenset(("closed", "start_requests", "make_request_from_data"))


def has_method(spider: Spider, name: object) -> bool:
    """Return whether the spider has a method of this name, which a request of its own may name."""
    return isinstance(name, str) and callable(getattr(spider, name, None))


class CallbackCheck:
    """Decides what a request from outside, from another drone or as a seed, may name."""

    def __init__(self, spider: Spider) -> None:
        self._kind = type(spider)

    def takes(self, kind: str, name: str, keywords: Mapping[str, Any]) -> bool:
        """Return whether a request from outside may name this method, or this class.

        A callback or errback must be a plain method of the spider's class that can be called with
        an answer and these keyword arguments. Parameters without a value are allowed, because
        add-ons inject arguments. If `kind` is A_CLASS, `name` is module:class, and the class must
        be of the spider's project.
        """
        if kind == A_CLASS:
            module, _, class_name = name.partition(":")
            return self._takes_class(module, class_name)
        # Without `getattr_static` a property would run
        method = getattr_static(self._kind, name, None)
        if not isinstance(method, FunctionType) or name in NEVER_CALLBACKS:
            return False
        parameters = signature(method)
        # The first one is `self`
        takes_answer = [*parameters.parameters][1:2] in ([answer] for answer in ANSWER_PARAMETERS)
        if self._is_of_library(name) and not takes_answer:
            return False
        try:
            parameters.bind_partial(None, None, **keywords)
        except TypeError:
            return False
        return True

    def _takes_class(self, module: str, name: str) -> bool:
        """Return whether an object of this class may come from outside.

        The class must be loaded, belong to a package of the spider's own classes, and have a form
        that can be kept.
        """
        value_class = loaded_class(module, name)
        packages = {kind.__module__.partition(".")[0] for kind in self._kind.__mro__}
        own_packages = packages - {"scrapy", "webcrawl", "builtins"}
        if value_class is None or module.partition(".")[0] not in own_packages:
            return False
        return bool(form_of(value_class))

    def _is_of_library(self, name: str) -> bool:
        """Return whether a base class of Scrapy's or of webcrawl's has a method of this name."""
        return any(
            name in vars(kind)
            for kind in self._kind.__mro__
            if kind.__module__.startswith(LIBRARY_MODULES)
        )
