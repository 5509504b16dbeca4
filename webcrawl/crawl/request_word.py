"""Checks requests that come from outside, from other drones or as seeds, field by field.

A *request word* is what a Scrapy request has beside its URL, as text in the link (`Link.request`):
its priority and a dot if that is not 0, then a msgpack of its fields in base64. Its form is closed:
fields that are not listed here are refused.

A spider's own code may ask for anything. Whoever can write to the hive's server, or to the key of
its seeds, chooses among URLs, forms and the spider's callbacks; never a class or module to load,
and never where a connection goes.
"""

from __future__ import annotations

import codecs
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import Any

import msgpack

from webcrawl.base.model import Link
from webcrawl.base.readable import readable
from webcrawl.crawl.redirect_chain import cookie_header

Takes = Callable[[str, str, Mapping[str, Any]], bool]
"""(callback or errback, name, keyword arguments): whether the spider has such a method, and it may be called so.

("class", module:name, {}): whether an object of this class may come from outside.
"""

WORD = re.compile(r"(?:-?\d{1,19}\.)?[A-Za-z0-9_-]+={0,2}")
CHAIN = re.compile(r"[0-9a-f.]*(?:~[A-Za-z0-9_=-]*)?")
ORIGIN = re.compile(r"[a-z]+://[^/?#@\s]+")
METHOD = re.compile(r"[A-Z]{1,32}")
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
ENCODING = re.compile(r"[A-Za-z0-9_:-]{1,40}")
OUR_META = frozenset(("depth", "webcrawl", "webcrawl_private"))  # the crawl itself says these
# Keys of meta that choose where a connection goes, or a file that is written.
CONNECTING = frozenset(
    ("_auth_proxy", "_scheme_proxy", "bindaddress", "ftp_local_filename", "proxy")
)
BROWSER = "playwright_"  # its options may name a proxy, a file, a function by its module
HARMLESS = frozenset((f"{BROWSER}include_page", f"{BROWSER}page_goto_kwargs"))
DATA = (type(None), bool, int, float, str, bytes)
# What msgpack has no form of is an ExtType: of these types by their place here, so that new ones
# come last. The others have a code of their own (adapter/stored_values.py).
SIMPLE = (
    *(
        "integer",
        "tuple",
        "set",
        "frozenset",
        "datetime",
        "date",
        "time",
        "timedelta",
        "Decimal",
        "UUID",
        "complex",
    ),
    *("PosixPath", "PurePosixPath", "OrderedDict", "Counter", "defaultdict", "deque"),
)
# The codes of the others: a request within this one; a method of the spider, by its name; an object
# of a class that the spider uses; a value that was not stored, and is only in another process.
A_REQUEST, A_METHOD, AN_OBJECT, IN_MEMORY = 100, 101, 102, 103
A_CLASS = "class"  # asked of Takes in the place of callback or errback
DEEPEST = 32  # values within values


class UnfitRequest(ValueError):  # noqa: N818 - reads as what it is
    """A request from outside that is not of the closed form; says in a few words why."""


def read_word(
    word: str, extension: Callable[[int, bytes], Any] = msgpack.ExtType
) -> dict[str, Any]:
    """Return the fields of a request word, whatever wrote it.

    Raise ValueError or TypeError if it is not a request word, or if `extension` refuses a value.
    """
    data = urlsafe_b64decode(word.rpartition(".")[2])
    return dict(msgpack.unpackb(data, strict_map_key=False, ext_hook=extension))


def check_link(link: Link, takes: Takes) -> None:
    """Raise UnfitRequest if a field of a link other than its URL is not of the closed form."""
    if link.chain:
        _check_chain(link)
    if link.is_prerequisite and not ORIGIN.fullmatch(link.history):
        raise UnfitRequest("a request for robots.txt does not say for which origin")
    if link.request:
        check_word(link.request, takes)


def check_word(word: str, takes: Takes) -> None:
    """Raise UnfitRequest if a request word is not of the closed form."""
    if not WORD.fullmatch(word):
        raise UnfitRequest("not a valid request word")
    try:
        fields = read_word(word)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnfitRequest(f"an unreadable request word ({error})") from error
    _check_fields(fields, takes, 0)


def _check_fields(fields: Mapping[Any, Any], takes: Takes, depth: int) -> None:
    """Raise UnfitRequest unless each field of a request is known and valid.

    `depth`: of the request, which may be a value in another one's meta.
    """
    for name, value in fields.items():
        is_valid = FIELDS.get(name)
        if is_valid is None or not is_valid(value):
            raise UnfitRequest(
                f"field {_shown(name)} is not allowed in a request between drones, "
                "or has an invalid value"
            )
    meta = fields.get("meta")
    keywords = fields.get("cb_kwargs")
    check_meta(meta or {})
    # The tests of FIELDS have looked into all other fields.
    _check_value(meta, takes, depth)
    _check_value(keywords, takes, depth)
    _check_method_of_spider("callback", fields.get("callback"), keywords or {}, takes)
    _check_method_of_spider("errback", fields.get("errback"), {}, takes)


def _check_method_of_spider(
    kind: str, name: Any, keywords: Mapping[str, Any], takes: Takes
) -> None:
    if name is not None and not takes(kind, name, keywords):
        raise UnfitRequest(f"the spider has no {kind} {_shown(name)} that takes these arguments")


def _check_value(value: Any, takes: Takes, depth: int) -> None:
    """Raise UnfitRequest for a value that may not come from outside, or has one within."""
    if depth > DEEPEST:
        raise UnfitRequest("a value is nested too deeply")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_value(key, takes, depth + 1)
            _check_value(item, takes, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_value(item, takes, depth + 1)
    elif isinstance(value, msgpack.ExtType):
        _check_extension(
            value.code, msgpack.unpackb(value.data, strict_map_key=False), takes, depth + 1
        )


def _check_extension(code: int, parts: Any, takes: Takes, depth: int) -> None:
    """Raise UnfitRequest for a value that msgpack has no form of, unless it may come from outside.

    `code`: its type, by SIMPLE or one of the codes below that. `parts`: what it is made of.
    """
    is_simple = 0 <= code < len(SIMPLE)
    if is_simple:
        _check_value(parts, takes, depth)
    elif code == A_METHOD:
        if not (isinstance(parts, str) and takes("callback", parts, {})):
            raise UnfitRequest(f"the spider has no callback {_shown(parts)}")
    elif code == A_REQUEST:
        _check_inner_request(parts, takes, depth)
    elif code == AN_OBJECT and _is_object(parts):
        _check_object(*parts, takes=takes, depth=depth)
    elif code == IN_MEMORY:
        raise UnfitRequest("a value exists only in the memory of another process")
    else:
        raise UnfitRequest(f"a value has an unknown type ({code})")


def _check_inner_request(fields: Any, takes: Takes, depth: int) -> None:
    # A request within another has its URL among its fields; that of the outer one is the link's.
    url = fields.pop("url", None) if isinstance(fields, dict) else None
    if not isinstance(url, str):
        raise UnfitRequest("a request inside a request has no URL")
    _check_fields(fields, takes, depth)


def _is_object(parts: Any) -> bool:
    return isinstance(parts, list) and len(parts) == len(("module", "name", "fields"))


def _check_object(module: Any, name: Any, fields: Any, *, takes: Takes, depth: int) -> None:
    if not takes(A_CLASS, f"{module}:{name}", {}):
        raise UnfitRequest(
            f"an object has a class that the spider does not use: {_shown(module)}.{_shown(name)}"
        )
    _check_value(fields, takes, depth)


def check_meta(meta: Mapping[str, Any]) -> None:
    """Raise UnfitRequest for a key that only the spider's own code may set, or a wrong type."""
    for key, value in meta.items():
        steers_browser = key.startswith(BROWSER) and key not in HARMLESS
        if key in CONNECTING or steers_browser:
            raise UnfitRequest(f"meta {_shown(key)}: only the spider's own code may set it")
        if key in OUR_META:
            raise UnfitRequest(f"meta {_shown(key)}: only the crawl itself sets it")
        is_valid = OPTIONS.get(key)  # None: a key of the spider's own, with any value
        if is_valid is not None and not is_valid(value):
            raise UnfitRequest(f"meta {_shown(key)}: the value has the wrong type")


def _check_chain(link: Link) -> None:
    if not CHAIN.fullmatch(link.chain):
        raise UnfitRequest("not a valid chain of redirects")
    try:
        cookie_header(link.chain, link.url)
    except Exception as error:  # its cookies may be anything
        raise UnfitRequest("a chain of redirects with unreadable cookies") from error


def _shown(name: object) -> str:
    return readable(f"{name!s:.80}")


# -- one test per field


def _is_name(value: Any) -> bool:
    if value is None:
        return True
    # `__init__` and its like are methods of every spider.
    return isinstance(value, str) and value.isidentifier() and not value.startswith("__")


def _is_method(value: Any) -> bool:
    return isinstance(value, str) and METHOD.fullmatch(value) is not None


def _are_headers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_header, value, value.values()))


def _is_header(name: Any, lines: Any) -> bool:
    has_name = HEADER.fullmatch(_bytes(name)) is not None
    return has_name and isinstance(lines, list) and all(map(_is_line, lines))


def _is_line(value: Any) -> bool:
    # A line break would begin another header, or another request.
    return isinstance(value, (bytes, str)) and not {*b"\r\n\0"} & {*_bytes(value)}


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode(errors="replace") if isinstance(value, str) else b""


def _are_cookies(value: Any) -> bool:
    # Scrapy takes one dict of cookies, or a list of dicts with their attributes.
    if isinstance(value, list):
        return all(isinstance(cookie, dict) and _is_flat(cookie) for cookie in value)
    return isinstance(value, dict) and _is_flat(value)


def _is_flat(value: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(key, (str, bytes)) and isinstance(item, DATA) for key, item in value.items()
    )


def _is_encoding(value: Any) -> bool:
    if not isinstance(value, str) or not ENCODING.fullmatch(value):
        return False
    # Some codecs, such as `hex`, are no encodings of text: these `encode` refuses.
    try:
        "".encode(value)
    except (LookupError, ValueError):
        return False
    return codecs.lookup(value) is not None


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_whole(value: Any) -> bool:
    return type(value) is int  # a bool is an instance of int, too


def _is_number(value: Any) -> bool:
    """Return whether Scrapy can compute with this value; None stands for its default."""
    if value is None or isinstance(value, (int, float)):
        return True
    try:
        return isinstance(value, str) and float(value) is not None
    except ValueError:
        return False


def _are_whole(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_whole, value))


def _is_data(value: Any) -> bool:
    return isinstance(value, DATA)


FIELDS: dict[Any, Callable[[Any], bool]] = {
    "callback": _is_name,
    "errback": _is_name,
    "method": _is_method,
    "headers": _are_headers,
    "body": lambda value: isinstance(value, bytes),
    "cookies": _are_cookies,
    "meta": _is_named,
    "cb_kwargs": _is_named,
    "encoding": _is_encoding,
    "priority": _is_whole,
    "dont_filter": lambda value: isinstance(value, bool),
    "flags": _are_words,
}
"""All that a request word may hold. `_class`, by which Scrapy loads a class of any module, is none of them."""

OPTIONS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        (
            *(
                "download_timeout",
                "download_maxsize",
                "download_warnsize",
                "max_retry_times",
                "retry_times",
            ),
            *("priority_adjust", "redirect_times", "redirect_ttl"),
        ),
        _is_number,
    ),
    **dict.fromkeys(("handle_httpstatus_list",), _are_whole),
    **dict.fromkeys(("cookiejar", "rule"), _is_data),
    **dict.fromkeys(("redirect_urls", "redirect_reasons"), lambda value: isinstance(value, list)),
}
"""Keys of meta that Scrapy or this crawl computes with; whatever else is there is the spider's own."""
