"""The key of a URL in an archive's index: a SURT, as programs that replay archives compute it.

To them `http://www.Example.com/a/?B=` and `https://example.com/A?b=` are one page:
`com,example)/a?b=`. The rules are those of the Internet Archive's package surt, by which pywb looks
up a URL. It is not used: it takes 36 us per URL where this takes 1.5 to 5, and may ask the
system's resolver.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

_PARTS = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?([^/?#]*)([^?#]*)\??([^#]*)", re.IGNORECASE
)
_PORT = re.compile(r":\d*$")
_WWW = re.compile(r"www\d*\.")
_DEFAULT_PORTS = frozenset(("http:80", "https:443"))
_STEP = re.compile(r"//|/\.")
_KEPT = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # what is not escaped, beside letters and digits
_IN_PATH = tuple(
    re.compile(rf"(.*/)\({one}\)/([^?]+\.aspx.*)")
    for one in (r"(?:[a-z]\([0-9a-z]{24}\))+", "[0-9a-z]{24}")
)
_IN_QUERY = tuple(
    re.compile(rf"(.*){one}(?:&(.*))?")
    for one in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)
# One of these is in every query that _IN_QUERY matches, and in few others
_MAY_HAVE_SESSION = re.compile("id=|cftoken|sessionid")


@lru_cache(64)  # index and table ask for the same one, right after each other
def surt(url: str) -> str:
    """Return the key of a URL of printable ASCII; what is no URL of a host is its own key."""
    parts = _PARTS.match(url)
    if parts is None:
        return url
    scheme, authority, path, query = parts.groups()
    key = f"{_host(scheme, authority)}){_path(path)}"
    query = query and _query(query)
    return f"{key}?{query}" if query else key


@lru_cache(4096)  # a crawl's hosts come again and again
def _host(scheme: str, authority: str) -> str:
    """Return the labels in reverse, without `www`, and the port unless it is the scheme's."""
    host, port = authority.lower(), ""
    if ":" in host:
        found = _PORT.search(host)
        if found is not None:
            host, port = host[: found.start()], found[0]
        if len(port) < 2 or f"{scheme.lower()}{port}" in _DEFAULT_PORTS:
            port = ""
        host = host.strip("[]")
    host = host.strip(".")
    if host.startswith("www"):
        host = _WWW.sub("", host, count=1)
    return ",".join(host.split(".")[::-1]) + port


def _path(path: str) -> str:
    """Return the path in lower case without escapes, `//`, `.`, `..`, ASP sessions and last slash."""
    is_escaped = "%" in path
    if is_escaped:
        path = _unescaped(path)
    # Without escapes an escaped dot or slash counts as one
    if _STEP.search(path):
        path = _stepped(path)
    if is_escaped:
        path = _escaped(path)
    path = path.lower()
    may_have_session = ".aspx" in path and "/(" in path
    if may_have_session:
        for session in _IN_PATH:
            path = session.sub(r"\1\2", path, count=1)
    if len(path) > 1:
        path = path.removesuffix("/")
    return path or "/"


def _stepped(path: str) -> str:
    """Return the path without `.` and what a `..` takes back, and with single slashes."""
    kept: list[str] = []
    for step in path.split("/")[1:]:
        if step == ".." and kept:
            kept.pop()
        elif step != ".":
            kept.append(step)
    if not kept:
        return "/"
    # An empty last step is the slash at the end
    *folders, last = kept
    return "/".join(["", *filter(None, folders), last])


def _query(query: str) -> str:
    """Return the query in lower case without session numbers, sorted by name and value."""
    if "%" in query:
        query = _escaped(_unescaped(query))
    query = query.lower()
    if _MAY_HAVE_SESSION.search(query) is not None:
        query = _without_sessions(query)
    if "&" in query and len(query) > 1:
        # They are sorted by name, then by value: as texts, `a-b=1` would come before `a=1`
        arguments = sorted(tuple(argument.split("=", 1)) for argument in query.split("&"))
        query = "&".join(map("=".join, arguments))
    return query


def _without_sessions(query: str) -> str:
    for session in _IN_QUERY:
        found = session.fullmatch(query)
        if found is not None:
            query = found[1] + (found[2] or "")
    return query


def _unescaped(text: str) -> str:
    """Return the text, unescaped until nothing is left to unescape.

    A byte is a character here.
    """
    data = text.encode("latin-1")
    while (less := unquote_to_bytes(data)) != data:
        data = less
    return data.decode("latin-1")


def _escaped(text: str) -> str:
    return quote_from_bytes(text.encode("latin-1"), safe=_KEPT)
