"""Fetches a published key directory, as a server does that is asked by us for the first time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPSConnection
from ssl import create_default_context
from urllib.parse import urlsplit

from webcrawl.identity.directory import MEDIA_TYPE, PATH, authority_of

LONGEST = 65_536  # bytes of a directory
PATIENCE = 10.0  # seconds for the connection, and for each part of the answer
FAR = 30.0  # seconds by which two clocks differ notably


class NotPublished(Exception):  # noqa: N818 - reads as what it is
    """There is no key directory there, with the reason in a line."""


@dataclass(frozen=True, slots=True)
class Published:
    """A directory, and the response that brought it. Names of fields are in lower case."""

    content: bytes
    fields: dict[str, str] = field(default_factory=dict)
    authority: str = ""
    ahead: float | None = None  # seconds by which our clock is ahead of the server's, if it has one


def fetch(url: str, now: Callable[[], float] = time.time) -> Published:
    """The directory of this origin. No redirect is followed: a server does not do so either."""
    origin = _origin(url)
    authority = authority_of(origin)
    try:
        connection = HTTPSConnection(authority, timeout=PATIENCE, context=create_default_context())
        try:
            connection.request("GET", PATH, headers={"Accept": MEDIA_TYPE, "User-Agent": "webcrawl identity"})
            response = connection.getresponse()
            content = response.read(LONGEST + 1)
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        raise NotPublished(f"{origin}{PATH}: {error or type(error).__name__}") from error
    if response.status != 200:
        raise NotPublished(f"{origin}{PATH}: status {response.status}, must be 200: redirects are not followed either")
    if len(content) > LONGEST:
        raise NotPublished(f"{origin}{PATH}: more than {LONGEST} bytes")
    fields: dict[str, str] = {}
    for name, value in response.getheaders():
        fields[name.lower()] = f"{fields[name.lower()]}, {value}" if name.lower() in fields else value
    return Published(content, fields, authority, _ahead(fields.get("date", ""), now()))


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NotPublished(f"{url}: {error}") from error
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise NotPublished(f"{url}: not an https origin, such as https://bot.example.org")
    if parts.path not in ("", "/", PATH):
        raise NotPublished(f"{url}: the directory is at {PATH} of its origin, and nowhere else")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}" if port in (None, 443) else f"https://{host}:{port}"


def _ahead(date: str, now: float) -> float | None:
    try:
        return now - parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
