"""Turns what an operator calls a host into its name in the frontier: in canonical form, whatever it is written in."""

from __future__ import annotations

from webcrawl.base.hosts import host_of
from webcrawl.crawl.control.command import CommandError
from webcrawl.urls.canonical import InvalidUrl, canonical

LONGEST = 300  # characters of a name that are looked at and repeated
DEFAULT = "default"  # in place of a value: what holds for all


def url_named(word: str) -> str:
    """A URL, or the root of the host that a name or address with or without a port means. Raises CommandError."""
    if "://" in word:
        return _canonical(word, word)
    written = f"[{word}]" if word.count(":") > 1 and not word.startswith("[") else word
    if "*" in written:  # a URL may have it, but who writes it here means many hosts, and would think that they obey
        raise CommandError(f"{word[:LONGEST]}: a host is named, and a * stands for nothing here")
    if any(mark in written for mark in "/?#@\\ %"):
        raise CommandError(f"{word[:LONGEST]} is neither a host nor a URL")
    return _canonical(f"http://{written}/", word)


def host_named(word: str) -> str:
    """The host of a name, an address or a URL. Raises CommandError."""
    return host_of(url_named(word))


def _canonical(url: str, word: str) -> str:
    try:
        return canonical(url)
    except InvalidUrl as error:
        raise CommandError(f"{word[:LONGEST]} is neither a host nor a URL: {error.reason}") from error
