"""A command to a crawl: its row in the table, its refusal, and hosts as operators name them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.base.url_text import host_of

Answer = str | Mapping[str, Any]
LONGEST_NAME = 300  # characters of a name that are looked at and repeated
DEFAULT = "default"  # in place of a value: what holds for all


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table."""

    name: str
    # quick, between two pages; what takes long is awaited
    run: Callable[..., Answer | Awaitable[Answer]]
    words: str  # what follows the name
    says: str
    least: int = 0
    most: int | None = 0  # words; None: any number
    lasting: bool = False  # in force after a restart too, until it is taken back
    # raises CommandError for words that no crawl would take
    check: Callable[..., object] | None = None
    # whether a lasting command changes nothing with these words
    only_looks: Callable[..., bool] | None = None

    @property
    def usage(self) -> str:
        return f"{self.name} {self.words}".strip()

    def lasts(self, *words: str) -> bool:
        """Return whether the order in these words is in force after a restart, too."""
        return self.lasting and not (self.only_looks is not None and self.only_looks(*words))


class CommandError(ValueError):
    """The command, its words or its value are not valid. The message is one line for the operator."""


class NotRunning(Exception):  # noqa: N818 - reads as what it is
    """No crawl listens where it was asked for; the message is one line."""


class NoAnswer(CommandError):  # noqa: N818 - as above
    """It is not known whether the command was carried out."""


def mistake(error: Exception) -> str:
    """Return the words for an error that no command should raise."""
    return f"the command failed because of a bug; see the crawl's log: {error!r}"


def url_named(word: str) -> str:
    """Return the URL, or the root of the host that is named, with or without a port.

    Raise CommandError.
    """
    if "://" in word:
        return _canonical(word, word)
    written = f"[{word}]" if word.count(":") > 1 and not word.startswith("[") else word
    # a URL may have it, but who writes it here means many hosts, and would think that they obey
    if "*" in written:
        raise CommandError(
            f"{word[:LONGEST_NAME]}: give the name of one host; * is not a wildcard here"
        )
    if any(mark in written for mark in "/?#@\\ %"):
        raise CommandError(f"{word[:LONGEST_NAME]} is neither a host nor a URL")
    return _canonical(f"http://{written}/", word)


def host_named(word: str) -> str:
    """Return the host of a name, an address or a URL. Raise CommandError."""
    return host_of(url_named(word))


def _canonical(url: str, word: str) -> str:
    from webcrawl.urls.canonical import InvalidUrl, canonical  # noqa: PLC0415 - for commands that only send words

    try:
        return canonical(url)
    except InvalidUrl as error:
        raise CommandError(
            f"{word[:LONGEST_NAME]} is neither a host nor a URL: {error.reason}"
        ) from error
