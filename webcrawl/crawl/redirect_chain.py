"""The state of a chain of redirects: the URLs it has requested, and the cookies they have set.

Redirects are followed, and their number is bounded, in visitor.py.

The chain is a field of the link, so it is stored wherever the link is, and forgotten with the last hop.
Most redirects set no cookie: then it is the keys of the URLs, and reading it takes no decoding.

As text a chain is ".KEY.KEY~WORD": the keys of the URLs in hexadecimal digits, and the cookies as a
word of msgpack in base64, which is empty without cookies.

Nothing is kept here. A cookie belongs to the host that set it and goes to no other, whatever its
Domain says. It has no expiry, but one that is set to have expired is removed.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgpack

from webcrawl.base.dates import read_any_date
from webcrawl.base.url_text import host_of

# A link whose chain has one session cookie is 90 characters longer in its queue, at worst 6 KB.
COUNT = 20  # cookies kept at most,
# and bytes of their names, values and paths with what is between them: no Cookie header is longer
BYTES = 4096
LINES = 50  # Set-Cookie headers of one answer that are read: dates and all, 3 ms
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # a server that sends these means nothing good
_NUMBER = re.compile(rb"-?[0-9]+")
DATE = 64  # bytes of an Expires that are read


class Cookie(NamedTuple):
    """One cookie. Its first three fields tell it from others."""

    host: str
    path: bytes
    name: bytes
    value: bytes
    secure: bool

    @property
    def size(self) -> int:
        return len(self.path) + len(self.name) + len(self.value) + 2


Jar = tuple[Cookie, ...]
"""In the order in which they were first set."""


def after(jar: Jar, lines: Sequence[bytes], url: str, now: float) -> Jar:
    """Return the cookies after an answer of this URL with these Set-Cookie headers (`lines`).

    Those that do not fit are left out. `now`: seconds since 1970.
    """
    kept = {cookie[:3]: cookie for cookie in jar}
    for line in lines[:LINES]:
        cookie, is_expired = _read(line, url, now)
        if cookie is None or _guarded(cookie, kept.values(), url):
            continue
        if is_expired:
            kept.pop(cookie[:3], None)
        elif _fits(cookie, kept):
            kept[cookie[:3]] = cookie
    return tuple(kept.values())


def _fits(cookie: Cookie, kept: Mapping[tuple[str, bytes, bytes], Cookie]) -> bool:
    """Return whether there is room for a cookie, which may replace one of the same key."""
    if cookie[:3] not in kept and len(kept) >= COUNT:
        return False
    size_of_others = sum(other.size for key, other in kept.items() if key != cookie[:3])
    return size_of_others + cookie.size <= BYTES


def header(jar: Jar, url: str) -> bytes:
    """Return the Cookie header of a request for this URL; empty if there is nothing to send.

    Longer paths go first.
    """
    scheme = url.partition(":")[0]
    host = host_of(url)
    path = _path(url)
    if scheme not in ("http", "https"):
        return b""
    own = [cookie for cookie in jar if cookie.host == host and _covers(cookie.path, path)]
    if scheme == "http":
        own = [cookie for cookie in own if not cookie.secure]
    # RFC 6265 5.4; `sort` keeps the order in which cookies of equal length were set.
    own.sort(key=lambda cookie: -len(cookie.path))
    return b"; ".join(b"%b=%b" % (cookie.name, cookie.value) for cookie in own)


def _read(line: bytes, url: str, now: float) -> tuple[Cookie | None, bool]:
    """Return the cookie that a Set-Cookie header sets, if it may, and whether it has expired."""
    if _CONTROL.search(line):
        return None, False
    cookie_part, *attribute_parts = line.split(b";")
    name, equals, value = _split_at_equals(cookie_part)
    has_name_and_value = bool(name and equals)
    is_too_long = len(name) + len(value) > BYTES
    if not has_name_and_value or is_too_long:
        return None, False
    split_parts = map(_split_at_equals, attribute_parts)
    attributes = {key.lower(): text for key, _, text in split_parts}
    host = host_of(url)
    secure = b"secure" in attributes
    is_safe = secure and url.startswith("https:")
    if not _may_set(name.lower(), attributes, host, safe=is_safe, secure=secure):
        return None, False
    path = _covered_path(attributes, url)
    return Cookie(host, path, name, value, secure), _has_expired(attributes, now)


def _split_at_equals(part: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what is before a "=", the "=" if there is one, and what follows it."""
    name, equals, value = part.partition(b"=")
    return name.strip(b" \t"), equals, value.strip(b" \t")


def _may_set(
    name: bytes, attributes: dict[bytes, bytes], host: str, *, safe: bool, secure: bool
) -> bool:
    """Return whether this host may set a cookie of this name and these attributes.

    `name` is in small letters. `secure`: the cookie has the attribute Secure. `safe`: it has, and
    came encrypted.
    """
    domain = attributes.get(b"domain", b"").lower().removeprefix(b".")
    # RFC 6265 5.3: a server sets cookies for its host, or for a domain that its host is in.
    # The dots: example.com is not in ample.com.
    is_foreign = bool(domain) and not (b"." + host.encode()).endswith(b"." + domain)
    if is_foreign:
        return False
    # The two prefixes are those of RFC 6265bis.
    if name.startswith(b"__host-"):
        return safe and attributes.get(b"path") == b"/" and not domain
    must_be_safe = secure or name.startswith(b"__secure-")
    return safe or not must_be_safe


def _guarded(cookie: Cookie, kept: Iterable[Cookie], url: str) -> bool:
    """Return whether a cookie that came unencrypted would replace or hide a secure one."""
    if url.startswith("https:"):
        return False
    return any(
        other.secure and other.name == cookie.name and other.host == cookie.host for other in kept
    )


def _covered_path(attributes: Mapping[bytes, bytes], url: str) -> bytes:
    """Return the path below which a cookie is sent, which this URL has set."""
    path = attributes.get(b"path", b"")
    if path.startswith(b"/"):
        return path
    # RFC 6265 5.1.4: by default, the folder of the URL
    return _path(url).rpartition(b"/")[0] or b"/"


def _has_expired(attributes: dict[bytes, bytes], now: float) -> bool:
    """Return whether a cookie is set to be removed, by Max-Age, or else by Expires."""
    max_age = attributes.get(b"max-age", b"")
    if _NUMBER.fullmatch(max_age):
        # Below 0, or 0 itself; the digits are not made a number, because there may be any number.
        return max_age.startswith(b"-") or not max_age.strip(b"0")
    # RFC 6265 5.1.1: all are in UTC
    until = read_any_date(attributes.get(b"expires", b"")[:DATE].decode("latin-1"))
    return until is not None and until <= now


def _path(url: str) -> bytes:
    """Return the path of a canonical URL."""
    return b"/" + url.split("/", 3)[3].partition("?")[0].encode()


def _covers(path: bytes, requested: bytes) -> bool:
    """Return whether the path of a cookie covers one that is requested (RFC 6265 5.1.4)."""
    if not requested.startswith(path):
        return False
    rest = requested[len(path) :]
    return not rest or path.endswith(b"/") or rest.startswith(b"/")


def follow(chain: str, key: int, url: str, lines: Sequence[bytes], now: float) -> str:
    """Return the chain after a redirect from the URL of this key, with these Set-Cookie headers."""
    keys, _, word = chain.partition("~")
    # A redirect without cookies takes 32 us in all, one that sets some 51 to 69.
    if lines:
        word = _word_of(after(_jar(word), lines, url, now))
    return f"{keys}.{key:x}~{word}"


def cookie_header(chain: str, url: str) -> bytes:
    """Return the Cookie header for the next URL of the chain; empty if it gets none."""
    word = chain.partition("~")[2]
    return header(_jar(word), url) if word else b""


def has_requested(chain: str, key: int) -> bool:
    """Return whether the URL with this key was requested in this chain."""
    return f"{key:x}" in chain.partition("~")[0].split(".")


def hops(chain: str) -> int:
    """Return how many redirects the chain has followed."""
    return chain.partition("~")[0].count(".")


def _word_of(jar: Jar) -> str:
    return urlsafe_b64encode(msgpack.packb(jar)).decode() if jar else ""


def _jar(word: str) -> Jar:
    if not word:
        return ()
    return tuple(Cookie(*saved) for saved in msgpack.unpackb(urlsafe_b64decode(word)))
