"""The key directory to publish: a JWKS, and the fields of its response, signed by every key in it.

A web server that serves files sends the same fields for weeks, so the signatures say until when they hold, and a cron
job renews them (docs/identity.md).
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from webcrawl.identity.keys import SigningKey, jwk
from webcrawl.store.disk import Disk

PATH = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"
TAG = "http-message-signatures-directory"
COMPONENTS = '("@authority";req "content-digest")'
DAY = 86_400
MAX_AGE = DAY  # seconds for which verifiers may keep it: a new key is to be in it for that long before it signs
BACK = 60  # seconds before now from which signatures hold: verifiers' clocks may be behind
HEADERS, NGINX = "_headers", "nginx.conf"


def body(keys: Iterable[SigningKey]) -> bytes:
    """The directory itself."""
    return json.dumps({"keys": [jwk(key.public) for key in keys]}, separators=(",", ":")).encode("ascii")


def headers(content: bytes, keys: Sequence[SigningKey], authority: str, created: int, days: int) -> dict[str, str]:
    """The fields of a response with this directory, to a request for this authority."""
    digest = f"sha-256=:{b64encode(sha256(content).digest()).decode('ascii')}:"
    inputs, signatures = [], []
    for number, key in enumerate(keys):
        times = f"created={created};expires={created + days * DAY}"
        parameters = f'{COMPONENTS};{times};keyid="{key.keyid}";alg="ed25519";tag="{TAG}"'
        base = f'"@authority";req: {authority}\n"content-digest": {digest}\n"@signature-params": {parameters}'
        inputs.append(f"binding{number}={parameters}")
        signatures.append(f"binding{number}=:{b64encode(key.sign(base.encode('ascii'))).decode('ascii')}:")
    return {
        "Content-Type": MEDIA_TYPE,
        "Cache-Control": f"max-age={MAX_AGE}",
        "Content-Digest": digest,
        "Signature-Input": ", ".join(inputs),
        "Signature": ", ".join(signatures),
    }


def write(folder: Path, content: bytes, fields: Mapping[str, str], disk: Disk | None = None) -> None:
    """The directory and two forms of its fields, as files below this folder; each is replaced as a whole."""
    disk = disk or Disk()
    place = folder / PATH.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    _replace(disk, place, content)
    _replace(disk, folder / HEADERS, _as_lines(fields).encode("ascii"))
    _replace(disk, folder / NGINX, _as_nginx(fields, place.absolute()).encode())


def authority_of(origin: str) -> str:
    """What a request for this origin has as its Host."""
    return origin.partition("://")[2]


def _as_lines(fields: Mapping[str, str]) -> str:
    """As hosts of static sites read it: the path, then its fields."""
    return "\n".join([PATH, *(f"  {name}: {value}" for name, value in fields.items()), ""])


def _as_nginx(fields: Mapping[str, str], place: Path) -> str:
    added = "".join(f"    add_header {name} '{value}';\n" for name, value in fields.items() if name != "Content-Type")
    return (
        "# for the server block of the origin, as: include …/nginx.conf;\n"
        f"location = {PATH} {{\n    alias {json.dumps(os.fspath(place), ensure_ascii=False)};\n    types {{ }}\n"
        f"    default_type {MEDIA_TYPE};\n    gzip off;\n{added}}}\n"
    )


def _replace(disk: Disk, path: Path, data: bytes) -> None:
    new = path.with_name(f"{path.name}.new")
    disk.unlink(new)
    descriptor = disk.create(new)
    try:
        disk.write(descriptor, data)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)
    disk.rename(new, path)
