"""The contract of URL filters, and what they may do besides filtering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from webcrawl.urls.host_names import RegisteredDomains

Clock = Callable[[], float]
Dropped = Callable[[str, Sequence[str], str], None]  # the reason, the URLs, the page that they are on


@dataclass(slots=True, frozen=True)
class Origin:
    """Where the links of a batch come from: the page's canonical URL (empty for seeds), and the depth of the links.

    `path` is their discovery path (model.Link, urls/host_names.py); it is empty if they have none but of their own.
    """

    url: str = ""
    depth: int = 0
    path: str = ""


class UrlFilter(Protocol):
    """One rule about canonical URLs; `name` is the counter of the URLs that it drops.

    Its class may have a class method `from_setup(setup)`, which builds it, or returns None if the settings leave it
    nothing to do.
    """

    name: str

    def keep(self, urls: list[str], origin: Origin, /) -> list[str]:
        """Returns the URLs that pass, in their order; may return `urls` itself, but never changes it."""


@runtime_checkable
class Suspects(Protocol):
    """A filter that passes every URL that this RE2 expression (see Lines) does not match."""

    suspects: str


@runtime_checkable
class Rechecks(Protocol):
    """A filter whose rules may change while URLs are queued."""

    def reject(self, url: str) -> bool:
        """Return whether this URL must no longer be fetched."""


@runtime_checkable
class Remembers(Protocol):
    """A filter that learns from the URLs that pass, in bounded memory, and is saved in checkpoints."""

    def state(self) -> bytes:
        """Everything it has learnt."""

    def restore(self, state: bytes) -> None:
        """Restore what `state` returned. Raises ValueError for any other bytes."""


@runtime_checkable
class Bounds(Protocol):
    """A filter that says how far a crawl goes. What its pages need to be shown is beyond that (REQUISITES)."""

    for_requisites: UrlFilter | None
    """The filter that holds for requisites in its place."""

    def within(self, url: str) -> bool:
        """Return whether a page fetched as a requisite is one of the crawl's all the same: its links are followed."""


@dataclass(slots=True, frozen=True)
class Setup:
    """The values that filters are built from: the settings, the clock, the crawl's key, and registered domains."""

    settings: Mapping[str, Any]
    clock: Clock
    key: bytes
    domains: RegisteredDomains
