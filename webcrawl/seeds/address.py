"""Turns the text of a seed into the URL to fetch."""

from __future__ import annotations

import re

from webcrawl.seeds.errors import BadLineError
from webcrawl.urls.canonical import canonical

_UNWRITTEN = re.compile(r"[\x00-\x20\x7f]")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# A domain, and what people write after it. Of ASCII, a name has only letters, digits, "-", "." and "_".
_DOMAIN = re.compile(r"([-.0-9A-Z_a-z\x80-\U0010ffff]+)(:\d+)?([/?#].*)?")
_NUMBERS = re.compile(r"[\d.]+")


def seed_url(text: str, max_length: int) -> str:
    """Returns the canonical form of a URL, or `http://domain/` for a domain. Raises BadLineError."""
    if _UNWRITTEN.search(text):
        raise BadLineError("contains a space or a control character")
    if _URL.match(text):
        return _fetchable(text, max_length)
    domain = _DOMAIN.fullmatch(text)
    if domain is None:
        raise BadLineError("is neither a URL nor a domain")
    url = _fetchable(f"http://{text}", max_length)
    host = url[7:].partition("/")[0].partition(":")[0]
    # The URL standard turns any number into an address (1 -> 0.0.0.1); in a list, a number is the wrong column.
    if _NUMBERS.fullmatch(host) and host != domain[1]:
        raise BadLineError("is a number, not a domain")
    return url


def _fetchable(url: str, max_length: int) -> str:
    try:
        return canonical(url, max_length=max_length)
    except ValueError as error:
        raise BadLineError(f"is not a URL that can be fetched ({error})") from error
