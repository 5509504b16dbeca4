"""A command to a running crawl: its row in the table, and why one is not carried out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

Answer = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table."""

    name: str
    run: Callable[..., Answer | Awaitable[Answer]]  # quick, between two pages; what takes long is awaited
    words: str  # what follows the name
    says: str
    least: int = 0
    most: int | None = 0  # words; None: any number
    lasting: bool = False  # in force after a restart too, until it is taken back
    check: Callable[..., None] | None = None  # raises CommandError for words that no crawl would take
    only_looks: Callable[..., bool] | None = None  # whether a lasting command changes nothing with these words

    @property
    def usage(self) -> str:
        return f"{self.name} {self.words}".strip()

    def lasts(self, *words: str) -> bool:
        """True if what these words order is in force after a restart too."""
        return self.lasting and not (self.only_looks is not None and self.only_looks(*words))


class CommandError(ValueError):
    """The command, its words or its value cannot be; the message is one line for whoever gave it."""


class NotRunning(Exception):  # noqa: N818 - reads as what it is
    """No crawl listens where it was asked for; the message is one line."""


class NoAnswer(CommandError):  # noqa: N818 - as above
    """The command may be carried out, and may be forgotten: nobody knows."""
