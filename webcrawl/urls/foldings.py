"""Foldings of the comparison form: each turns a canonical URL into what is fingerprinted in its place.

They say which URLs are regarded as one (LARM's normaliser); the URL that is fetched stays as it is. None is
on by default: each of them is wrong for some site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from webcrawl.urls.sessions import without_session

Folding = Callable[[str], str]

_INDEX = re.compile(r"/(?:index|default)\.[a-z0-9]{1,5}(?=\?|$)", re.IGNORECASE)
_SLASHES = re.compile(r"//+")


def lower_path(url: str) -> str:
    """Upper and lower case are one in paths, as on Windows servers."""
    path, mark, query = url.partition("?")
    return path.lower() + mark + query


def no_index(url: str) -> str:
    """`/index.html` and `/default.asp` are the folder they stand in."""
    path, mark, query = url.partition("?")
    return _INDEX.sub("/", path) + mark + query


def single_slashes(url: str) -> str:
    """`/a//b` is `/a/b`."""
    path, mark, query = url.partition("?")
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{_SLASHES.sub('/', rest)}{mark}{query}"


def no_session_ids(url: str) -> str:
    """The visitor's session is no part of the page's name."""
    return without_session(url)


def sorted_query(url: str) -> str:
    """The order of parameters says nothing."""
    path, mark, query = url.partition("?")
    return path + mark + "&".join(sorted(query.split("&")))


def one_scheme(url: str) -> str:
    """The schemes http and https serve the same pages."""
    return "http" + url[5:] if url.startswith("https:") else url


def compose(foldings: Sequence[Folding]) -> Folding | None:
    """All foldings in their order as one; None when there is none, so that the usual case costs nothing."""
    if len(foldings) < 2:
        return foldings[0] if foldings else None

    def fold(url: str) -> str:
        for folding in foldings:
            url = folding(url)
        return url

    return fold
