"""The logins that an operator has for hosts: AUTH_FILE (docs/logins.md).

The client adds a login to the bytes that it sends, and to nothing that it returns: no archive, log
or state can have it. A login belongs to one origin, and every request looks up its own: a redirect
to another host, scheme or port takes none along.

No message here shows anything of a login.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from webcrawl.base.errors import words_of
from webcrawl.base.readable import readable, shortened, url_without_credentials
from webcrawl.net.errors import BadUrl
from webcrawl.net.http_request import (
    FIELD_NAME,
    FIELD_VALUE,
    OF_CLIENT,
    RequestTarget,
    parse_target,
    with_fields,
)
from webcrawl.store.disk import private_bytes
from webcrawl.urls.canonical import InvalidUrl, canonical

logger = logging.getLogger(__name__)

LONGEST_FILE = 1 << 20  # bytes of a file
Origin = tuple[bool, str, int]  # whether by TLS, host, port
KINDS = ("basic", "bearer", "header", "cookies")
_TOKEN = re.compile(r"[!-~]+")
_PLACE = re.compile(r"\(at [a-z0-9, ]+\)")  # in an error of tomllib, which may quote the file
_COOKIE = re.compile(rb"(\r\nCookie: )([^\r\n]*)", re.IGNORECASE)
_COOKIE_TEXT = re.compile(r"[!#-+\--:<-\[\]-~ \"]*")  # without what ends a cookie or a line


class SavedCookie(NamedTuple):
    """One cookie of a cookies.txt."""

    name: bytes
    value: bytes
    domain: str
    has_subdomains: bool
    path: str
    secure: bool
    expires: float  # seconds since 1970; 0: with the session

    def has_expired(self, now: float) -> bool:
        return 0 < self.expires <= now

    def is_of(self, host: str) -> bool:
        return host == self.domain or (self.has_subdomains and host.endswith(f".{self.domain}"))

    def fits(self, target: RequestTarget) -> bool:
        """Return whether a request takes the cookie (RFC 6265 5.4), until it expires."""
        if self.secure and not target.secure:
            return False
        path = target.path.partition("?")[0]
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """What requests to one origin take along."""

    fields: tuple[tuple[bytes, bytes], ...] = ()
    cookies: tuple[SavedCookie, ...] = ()

    def added_to(self, head: bytes, target: RequestTarget, now: float) -> bytes:
        """Return the head with this login. A field or cookie that the request has itself stays."""
        own = {line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
        more = b""
        for name, value in self.fields:
            if name.lower() not in own:
                more += b"%b: %b\r\n" % (name, value)
        head = with_fields(head, more)
        fitting = [one for one in self.cookies if one.fits(target)]
        sent = [one for one in fitting if not one.has_expired(now)]
        return _with_cookies(head, sent) if sent else head


class Logins:
    """The logins of a crawl, by origin."""

    def __init__(self, by_origin: Mapping[Origin, Login]) -> None:
        self._by_origin = by_origin
        self._told: set[Origin] = set()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Logins:
        """Return the logins of a file. Raise ValueError with the reason in a line, or OSError."""
        try:
            tables = tomllib.loads(private_bytes(path, LONGEST_FILE).decode())
        except tomllib.TOMLDecodeError as error:
            # The error may quote the file, so it is not raised on (`from None`).
            place = _PLACE.search(str(error))
            raise ValueError(f"it is not TOML {place[0] if place else ''}".strip()) from None
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8") from None
        by_origin: dict[Origin, Login] = {}
        for key, table in tables.items():
            shown = f'["{shortened(readable(url_without_credentials(key)))}"]'
            try:
                origin = _origin(key)
                login = _login(table, origin, Path(path).parent)
            except ValueError as error:
                raise ValueError(f"{shown}: {error}") from None
            if origin in by_origin:
                raise ValueError(f"{shown}: an earlier table is for the same host")
            by_origin[origin] = login
        if not by_origin:
            raise ValueError("it has no login")
        return cls(by_origin)

    @property
    def urls(self) -> tuple[str, ...]:
        """Return the canonical URL of each host that has a login."""
        return tuple(_url(origin) for origin in self._by_origin)

    def of(self, target: RequestTarget) -> Login | None:
        return self._by_origin.get((target.secure, target.host, target.port))

    def keeps_from(self, page: str, url: str) -> bool:
        """Return whether a page in a browser must not request this URL.

        Scripts of one site would read or do things on another with the operator's login.
        """
        url_origin = _origin_of(url)
        return url_origin in self._by_origin and url_origin != _origin_of(page)

    def expired(self, now: float) -> str:
        """Return the URL of a host whose cookies have all expired; empty if there is none."""
        for origin, login in self._by_origin.items():
            have_expired = all(one.has_expired(now) for one in login.cookies)
            if login.cookies and have_expired:
                return _url(origin)
        return ""

    def warn_if_refused(self, target: RequestTarget, status: int) -> None:
        """Warn once of a host that does not accept its login."""
        origin = (target.secure, target.host, target.port)
        if status != 401 or origin in self._told:
            return
        self._told.add(origin)
        line = (
            "%s answers 401 although AUTH_FILE has a login for it: it may be wrong or have expired "
            "(this is logged once per host)"
        )
        logger.warning(line, _url(origin))


def _url(origin: Origin) -> str:
    is_secure, host, port = origin
    scheme, default = ("https", 443) if is_secure else ("http", 80)
    name = f"[{host}]" if ":" in host else host
    place = name if port == default else f"{name}:{port}"
    return f"{scheme}://{place}/"


def _origin_of(url: str) -> Origin | None:
    """Return the origin of a URL, or None if it is not one of http or https."""
    try:
        target = parse_target(url)
    except BadUrl:
        return None
    return target.secure, target.host, target.port


def _origin(key: str) -> Origin:
    """Return the origin that a table is for. Raise ValueError."""
    if url_without_credentials(key) != key:
        raise ValueError("a user or password belongs in the table, not in its name")
    try:
        target = parse_target(canonical(key))
    except (InvalidUrl, BadUrl):
        target = None
    if target is None or target.path != "/":
        raise ValueError("must be a scheme, host and port, such as https://www.example.org:8443")
    return target.secure, target.host, target.port


def _login(table: Any, origin: Origin, folder: Path) -> Login:
    """Return the login of one table. Raise ValueError."""
    if not isinstance(table, dict) or not table:
        raise ValueError(f"must be a table with one or more of {', '.join(KINDS)}")
    for kind, value in table.items():
        _check_entry(kind, value)
    fields = [_FIELDS[kind](value) for kind, value in table.items() if kind in _FIELDS]
    names = {name.lower() for name, _ in fields}
    if len(names) < len(fields):
        raise ValueError("two of its logins use the same header")
    cookies: tuple[SavedCookie, ...] = ()
    if "cookies" in table:
        cookies = _cookies(folder, table["cookies"], origin[1])
    return Login(tuple(fields), cookies)


def _check_entry(kind: Any, value: Any) -> None:
    """Raise ValueError for an entry of a table that does not belong to a login."""
    if kind not in KINDS:  # not shown: it may be a login in the wrong place
        raise ValueError(f"it has an unknown key; use {', '.join(KINDS)}")
    if not isinstance(value, str):
        raise ValueError(f"{kind}: must be a text in quotation marks")  # noqa: TRY004 - as for other values


def _basic(value: str) -> tuple[bytes, bytes]:
    user, colon, _ = value.partition(":")
    if not user or not colon or not value.isprintable():
        raise ValueError("basic: must have the form user:password")
    return b"Authorization", b"Basic " + b64encode(value.encode())  # RFC 7617 2.1: UTF-8


def _bearer(value: str) -> tuple[bytes, bytes]:
    if not _TOKEN.fullmatch(value):
        raise ValueError("bearer: must be a token, without spaces")
    return b"Authorization", b"Bearer " + value.encode()


def _header(value: str) -> tuple[bytes, bytes]:
    """Return name and value of a header to send. Raise ValueError for one that cannot be."""
    name, colon, text = value.partition(":")
    field = name.strip().encode(), text.strip().encode()
    is_valid = FIELD_NAME.fullmatch(field[0]) and FIELD_VALUE.fullmatch(field[1])
    is_whole = bool(colon) and bool(field[1])
    if not is_valid or not is_whole:
        raise ValueError("header: must have the form Name: value")
    if field[0].lower() == b"cookie":
        raise ValueError("header: cookies belong in a file, which `cookies` names")
    if field[0].lower() in OF_CLIENT:
        raise ValueError(f"header: the crawl itself sets {name.strip()}")
    return field


_FIELDS: dict[str, Callable[[str], tuple[bytes, bytes]]] = {
    "basic": _basic,
    "bearer": _bearer,
    "header": _header,
}


def _cookies(folder: Path, name: str, host: str) -> tuple[SavedCookie, ...]:
    """Return the cookies of a cookies.txt that are for this host. Raise ValueError."""
    try:
        text = private_bytes(folder / name, LONGEST_FILE).decode()
        found = tuple(one for one in _read_cookies(text) if one.is_of(host))
    except UnicodeDecodeError:
        raise ValueError(f"{name} is not UTF-8") from None
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or words_of(error)}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not found:
        raise ValueError(f"{name} has no cookie for {host}")
    return found


def _read_cookies(text: str) -> Iterator[SavedCookie]:
    """Yield the cookies of a file in Netscape's form, as browsers and curl write it."""
    for number, written in enumerate(text.splitlines(), 1):
        # A cookie that scripts must not read has a prefix that looks like a comment.
        line = written.removeprefix("#HttpOnly_")
        if not line.strip() or line.startswith("#"):
            continue
        try:
            domain, subdomains, path, secure, expires, name, value = line.split("\t")
            if not (name and _COOKIE_TEXT.fullmatch(name + value)):
                raise ValueError  # noqa: TRY301 - as a line with other fields
            yield SavedCookie(
                name.encode(),
                value.encode(),
                domain.lower().removeprefix("."),
                subdomains == "TRUE",
                path,
                secure == "TRUE",
                float(expires or 0),
            )
        except ValueError:
            raise ValueError(f"line {number} is not a cookie in Netscape's form") from None


def _with_cookies(head: bytes, cookies: list[SavedCookie]) -> bytes:
    """Return the head with more cookies, in the one line that it may have (RFC 6265 5.4)."""
    found = _COOKIE.search(head)
    given = found[2] if found else b""
    own = {one.partition(b"=")[0].strip() for one in given.split(b";")}
    pairs = [b"%b=%b" % (one.name, one.value) for one in cookies if one.name not in own]
    if found is None:
        return with_fields(head, b"Cookie: %b\r\n" % b"; ".join(pairs))
    line = b"; ".join([given, *pairs])
    return head[: found.start(2)] + line + head[found.end(2) :]
