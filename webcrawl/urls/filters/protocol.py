"""What a URL filter is, and what it may do beside filtering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from webcrawl.urls.hosts import RegisteredDomains

Clock = Callable[[], float]


@dataclass(slots=True, frozen=True)
class Origin:
    """Where the links of a batch stand: the page's canonical URL, empty for seeds, and the links' depth."""

    url: str = ""
    depth: int = 0


class UrlFilter(Protocol):
    """One rule about canonical URLs, under the name by which those it drops are counted."""

    name: str

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        """Those that pass, in their order; perhaps the list itself, which is never changed."""


@runtime_checkable
class Suspects(Protocol):
    """A filter that passes every URL which this RE2 expression (see Lines) does not match."""

    suspects: str


@runtime_checkable
class Rechecks(Protocol):
    """A filter whose mind may change while URLs are queued."""

    def reject(self, url: str) -> bool:
        """Whether this URL must not be fetched any more."""


@runtime_checkable
class Remembers(Protocol):
    """A filter that learns from what passes, in bounded memory, and takes part in checkpoints."""

    def state(self) -> bytes:
        """All it has learnt."""

    def restore(self, state: bytes) -> None:
        """Go on from there; ValueError for bytes that `state` did not make."""


@dataclass(slots=True, frozen=True)
class Setup:
    """What filters are built from: the settings, and the world as arguments."""

    settings: Mapping[str, Any]
    clock: Clock
    key: bytes
    domains: RegisteredDomains


class FromSetup(Protocol):
    """A filter class that URL_FILTERS can name."""

    @classmethod
    def from_setup(cls, setup: Setup, /) -> UrlFilter | None:
        """The filter as the settings want it; None when they leave it nothing to do."""
