"""The key directory: a JWKS, and the fields of its response, signed by every key in it.

A web server that serves files sends the same fields for weeks, so the signatures say until when
they hold, and a cron job renews them (docs/site-owners-operator.md). `fetch` fetches a published one, as a
server does that we ask for the first time.
"""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from ssl import create_default_context
from urllib.parse import urlsplit

from webcrawl.base.dates import read_any_date
from webcrawl.base.errors import words_of
from webcrawl.net.identity.signing_key import SigningKey, jwk
from webcrawl.store.disk import Disk, replacing

PATH = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"
TAG = "http-message-signatures-directory"
COMPONENTS = '("@authority";req "content-digest")'
DAY = 86_400
# seconds for which verifiers may keep it: a new key is to be in it for that long before it signs
MAX_AGE = DAY
# seconds before now from which signatures hold: verifiers' clocks may be behind
SIGNED_BEFORE_NOW = 60
HEADERS, NGINX = "_headers", "nginx.conf"


def body(keys: Iterable[SigningKey]) -> bytes:
    return json.dumps({"keys": [jwk(key.public) for key in keys]}, separators=(",", ":")).encode(
        "ascii"
    )


def headers(
    content: bytes, keys: Sequence[SigningKey], authority: str, created: int, days: int
) -> dict[str, str]:
    """Return the fields of a response with this directory, to a request for this authority."""
    digest = f"sha-256=:{b64encode(sha256(content).digest()).decode('ascii')}:"
    inputs = []
    signatures = []
    for number, key in enumerate(keys):
        times = f"created={created};expires={created + days * DAY}"
        parameters = f'{COMPONENTS};{times};keyid="{key.keyid}";alg="ed25519";tag="{TAG}"'
        base = f'"@authority";req: {authority}\n"content-digest": {digest}\n"@signature-params": {parameters}'
        inputs.append(f"binding{number}={parameters}")
        signatures.append(
            f"binding{number}=:{b64encode(key.sign(base.encode('ascii'))).decode('ascii')}:"
        )
    return {
        "Content-Type": MEDIA_TYPE,
        "Cache-Control": f"max-age={MAX_AGE}",
        "Content-Digest": digest,
        "Signature-Input": ", ".join(inputs),
        "Signature": ", ".join(signatures),
    }


def write(
    folder: Path, content: bytes, fields: Mapping[str, str], disk: Disk | None = None
) -> None:
    """Write the directory and two forms of its fields, as files below this folder.

    Each is replaced as a whole.
    """
    disk = disk or Disk()
    place = folder / PATH.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    for path, data in (
        (place, content),
        (folder / HEADERS, _as_lines(fields).encode("ascii")),
        (folder / NGINX, _as_nginx(fields, place.absolute()).encode()),
    ):
        with replacing(disk, path) as descriptor:
            disk.write(descriptor, data)


def authority_of(origin: str) -> str:
    """Return the Host of a request for this origin."""
    return origin.partition("://")[2]


def _as_lines(fields: Mapping[str, str]) -> str:
    """Return the format of hosts of static sites: the path, then its fields."""
    return "\n".join([PATH, *(f"  {name}: {value}" for name, value in fields.items()), ""])


def _as_nginx(fields: Mapping[str, str], place: Path) -> str:
    """Return the configuration with which nginx serves the directory; `place`: its file."""
    added = "".join(
        f"    add_header {name} '{value}';\n"
        for name, value in fields.items()
        if name != "Content-Type"
    )
    return (
        "# for the server block of the origin, as: include …/nginx.conf;\n"
        f"location = {PATH} {{\n    alias {json.dumps(os.fspath(place), ensure_ascii=False)};\n    types {{ }}\n"
        f"    default_type {MEDIA_TYPE};\n    gzip off;\n{added}}}\n"
    )


LONGEST_DIRECTORY = 65_536  # bytes of a directory
PATIENCE = 10.0  # seconds for the connection, and for each part of the answer
NOTABLE_CLOCK_DIFFERENCE = 30.0  # seconds by which two clocks differ notably


class NotPublished(Exception):  # noqa: N818 - reads as what it is
    """There is no key directory there, with the reason in a line."""


@dataclass(frozen=True, slots=True)
class Published:
    """A directory, and the response that brought it. Names of fields are in lower case."""

    content: bytes
    fields: dict[str, str] = field(default_factory=dict)
    authority: str = ""
    ahead: float | None = None  # seconds by which our clock is ahead of the server's, if it has one


def fetch(url: str) -> Published:
    """Return the directory of this origin.

    No redirect is followed: a server does not do so either.
    """
    origin = _origin(url)
    authority = authority_of(origin)
    try:
        connection = HTTPSConnection(authority, timeout=PATIENCE, context=create_default_context())
        try:
            connection.request(
                "GET", PATH, headers={"Accept": MEDIA_TYPE, "User-Agent": "webcrawl identity"}
            )
            response = connection.getresponse()
            # One byte more shows that there is more
            content = response.read(LONGEST_DIRECTORY + 1)
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        raise NotPublished(f"{origin}{PATH}: {words_of(error)}") from error
    if response.status != 200:
        raise NotPublished(
            f"{origin}{PATH}: status {response.status}, but it must be 200; redirects are not followed"
        )
    if len(content) > LONGEST_DIRECTORY:
        raise NotPublished(f"{origin}{PATH}: more than {LONGEST_DIRECTORY} bytes")
    fields: dict[str, str] = {}
    for name, value in response.getheaders():
        fields[name.lower()] = (
            f"{fields[name.lower()]}, {value}" if name.lower() in fields else value
        )
    return Published(content, fields, authority, _ahead(fields.get("date", ""), time.time()))


def _origin(url: str) -> str:
    """Return the origin whose directory an operator has named by this URL.

    Raise NotPublished if it is no https origin, or the address of another page.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NotPublished(f"{url}: {error}") from error
    names_more = any((parts.username, parts.query, parts.fragment))
    if parts.scheme != "https" or not parts.hostname or names_more:
        raise NotPublished(f"{url}: expected an https origin, such as https://bot.example.org")
    if parts.path not in ("", "/", PATH):
        raise NotPublished(f"{url}: the directory must be at {PATH} of its origin")
    return _https_origin(parts.hostname, port)


def _https_origin(host: str, port: int | None) -> str:
    is_ipv6 = ":" in host
    written = f"[{host}]" if is_ipv6 else host
    if port in (None, 443):
        return f"https://{written}"
    return f"https://{written}:{port}"


def _ahead(date: str, now: float) -> float | None:
    at = read_any_date(date)
    return now - at if at is not None else None
