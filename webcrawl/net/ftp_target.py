"""Parses an FTP URL into what is sent to the server (RFC 1738 3.2)."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from webcrawl.net.authority import LINE_BREAKING, host_port_path, queryless
from webcrawl.net.errors import BadUrl

_URL = queryless("ftp")  # RFC 1738 has no query: a `?` is part of the name, as for curl
_TYPE = re.compile(r";type=([aidAID])$")
_MAX_FOLDERS = 100  # one round trip each


class FtpTarget(NamedTuple):
    """Where to connect, the folders to enter one by one, and the file; names are bytes."""

    host: str
    port: int
    folders: list[bytes]
    name: bytes  # empty for a listing
    ascii: bool


def parse_ftp(url: str) -> FtpTarget:
    """Parse an absolute ftp URL; raises BadUrl."""
    host, port, path = host_port_path(url, _URL, 21)
    path, kind = split_type(path)
    *folders, name = [unquote_to_bytes(segment) for segment in path.split("/")]
    if LINE_BREAKING.search(b"".join((*folders, name))):
        raise BadUrl(f"a name that cannot be sent: {url[:200]!r}")
    if kind == "d":
        folders, name = [*folders, name], b""
    if len(folders) > 1 and not folders[0]:
        folders[0] = b"/"  # `//etc` is relative to the root, as for curl; other empty names are ignored
    folders = [folder for folder in folders if folder]
    if len(folders) > _MAX_FOLDERS:
        raise BadUrl(f"{len(folders)} folders deep")
    return FtpTarget(host, port, folders, name, kind == "a")


def split_type(path: str) -> tuple[str, str]:
    """The path before `;type=`, and the letter after it in lower case, empty if there is none."""
    match = _TYPE.search(path)
    return (path[: match.start()], match[1].lower()) if match else (path, "")


def as_folder(url: str) -> str:
    """The URL of a folder, with a final `/` so that its entries can be relative to it."""
    return quote(split_type(url.partition("#")[0])[0], safe="!$%&'()*+,/:;=@[]~") + "/"
