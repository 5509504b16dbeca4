"""Foldings of the comparison form: each turns a canonical URL into the form that is fingerprinted.

They decide which URLs count as the same (LARM's normaliser); the URL that is fetched stays as it is. All are off by
default, because each is wrong for some site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from webcrawl.urls.sessions import without_session

Folding = Callable[[str], str]

_INDEX = re.compile(r"/(?:index|default)\.[a-z0-9]{1,5}(?=\?|$)", re.IGNORECASE)
_SLASHES = re.compile(r"//+")


def lower_path(url: str) -> str:
    """Ignores case in paths, as Windows servers do."""
    path, mark, query = url.partition("?")
    return path.lower() + mark + query


def no_index(url: str) -> str:
    """`/index.html` and `/default.asp` become the folder they are in."""
    path, mark, query = url.partition("?")
    return _INDEX.sub("/", path) + mark + query


def single_slashes(url: str) -> str:
    """`/a//b` becomes `/a/b`."""
    path, mark, query = url.partition("?")
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{_SLASHES.sub('/', rest)}{mark}{query}"


def no_session_ids(url: str) -> str:
    """Removes session ids from path and query."""
    return without_session(url)


def sorted_query(url: str) -> str:
    """Ignores the order of parameters."""
    path, mark, query = url.partition("?")
    return path + mark + "&".join(sorted(query.split("&")))


def one_scheme(url: str) -> str:
    """Treats https as http."""
    return "http" + url[5:] if url.startswith("https:") else url


def compose(foldings: Sequence[Folding]) -> Folding | None:
    """Combines foldings, in their order, into one; no foldings become None, so that the usual case costs nothing."""
    if len(foldings) < 2:
        return foldings[0] if foldings else None

    def fold(url: str) -> str:
        for folding in foldings:
            url = folding(url)
        return url

    return fold
