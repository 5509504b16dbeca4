"""A chain of redirects, as it travels with a link: the URLs that were asked for, and the cookies that they set.

It is a field of the link, so it is stored wherever the link is, and forgotten with the last hop. Most redirects set no
cookie: then it is the keys of the URLs, and reading it takes no decoding.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

import msgpack

from webcrawl.crawl.cookies import Cookie, Jar, after, header


def follow(chain: str, key: int, url: str, lines: Sequence[bytes], now: float) -> str:
    """The chain after a redirect from this URL, which has this key, with these Set-Cookie headers."""
    keys, _, word = chain.partition("~")
    if lines:
        word = _pack(after(_jar(word), lines, url, now))
    return f"{keys}.{key:x}~{word}"


def cookie_header(chain: str, url: str) -> bytes:
    """The Cookie header for the next URL of the chain; empty if it gets none."""
    word = chain.partition("~")[2]
    return header(_jar(word), url) if word else b""


def has_asked(chain: str, key: int) -> bool:
    """True if the URL with this key was asked for in this chain."""
    return f"{key:x}" in chain.partition("~")[0].split(".")


def _pack(jar: Jar) -> str:
    return urlsafe_b64encode(msgpack.packb(jar)).decode() if jar else ""


def _jar(word: str) -> Jar:
    return tuple(Cookie(*saved) for saved in msgpack.unpackb(urlsafe_b64decode(word))) if word else ()
