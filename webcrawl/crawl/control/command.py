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
    words: str  # what follows the name, as the usage shows it
    says: str  # what the command does, for the help
    least: int = 0  # words after the name
    most: int | None = 0  # the same; None: any number
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
    """Return a URL in canonical form: the one given, or the root of the host that is named.

    The host may have a port. Raise CommandError for a word that is neither.
    """
    if "://" in word:
        return _canonical(word, word)
    # an IPv6 address, as operators write it: a URL has it in brackets
    is_bare_address = word.count(":") > 1 and not word.startswith("[")
    written = f"[{word}]" if is_bare_address else word
    # A host name in a URL may have a star. Here it would be meant for many hosts, and the command
    # would be taken to hold for all of them.
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
    """Return the canonical form of a URL. Raise CommandError about `word`, as the operator wrote it."""
    from webcrawl.urls.canonical import InvalidUrl, canonical  # noqa: PLC0415 - for commands that only send words

    try:
        return canonical(url)
    except InvalidUrl as error:
        raise CommandError(
            f"{word[:LONGEST_NAME]} is neither a host nor a URL: {error.reason}"
        ) from error
