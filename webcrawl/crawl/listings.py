"""The links of FTP listings and Gopher menus."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from webcrawl.content.html.found_links import Found, FoundLink
from webcrawl.net.ftp import split_type
from webcrawl.net.ftp_listing import LISTING, entries
from webcrawl.net.gopher_menu import MENU, item_url, items


def ftp_links(body: bytes, content_type: str, url: str) -> Found:
    """Files, folders and symbolic links of this folder; names that point elsewhere are left out."""
    base = split_type(url)[0]
    found = Found(base if base.endswith("/") else f"{base}/", _encoding(body))
    for entry in entries(body, mlsd=content_type.endswith("format=mlsd")):
        if entry.kind != "other" and entry.name not in (b".", b"..") and b"/" not in entry.name:
            slash = "/" if entry.kind == "folder" else ""
            found.links.append(_link(quote(entry.name, safe="") + slash, entry.name, found.encoding))
    return found


def menu_links(body: bytes, _: str, url: str) -> Found:
    """Items that are resources; searches are not."""
    found = Found(url, _encoding(body))
    for item in items(body):
        link = item_url(item)
        if link:
            found.links.append(_link(link, item.display, found.encoding))
    return found


LISTINGS: dict[str, Callable[[bytes, str, str], Found]] = {LISTING: ftp_links, MENU: menu_links}
"""Content type -> the function that extracts the links of such a body, as LinkReader.links does for HTML."""


def _link(href: str, name: bytes, encoding: str) -> FoundLink:
    return "a", href, name.decode(encoding, "replace").strip(), ""


def _encoding(body: bytes) -> str:
    """Neither protocol declares it: UTF-8 if the bytes are valid (RFC 2640 for FTP), else windows-1252."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"
