"""The protocol of outputs: what a class has to implement to get the pages of a crawl.

An output of the crawl's own derives from `output.Output`; an item pipeline of a user's derives from
nothing. Both are judged by these protocols alone:

    TakesPages        to get each page, in the order of the outputs. Without it an output hears of
                      URLs by other ways, as `output.on_end`
    NamesTypes        beside TakesPages: to get pages of some content types only, as a module
    OpensAndCloses    to have files or connections as long as the crawl
    TakesPart         to return to the last checkpoint after a crash. Both hooks or none

An output that writes by `output.open_output` needs no TakesPart: that file is part of each
checkpoint already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Any, Protocol, TypeGuard, runtime_checkable

from webcrawl.base.own_code import members


@runtime_checkable
class TakesPages(Protocol):
    """The one method that an item pipeline must have."""

    def process_item(self, item: Any, /) -> Any:
        """Return the item for the next output, or an awaitable of it.

        Raise Scrapy's DropItem, or `Output.dropped`, for a page that goes no further.
        """


class NamesTypes(TakesPages, Protocol):
    """A processing module. It may return None, and an error of its own costs no page."""

    content_types: str | Iterable[str]  # text/html or image/*, one or several
    unchanged: bool  # may be missing: whether it gets pages that have not changed, too


class OpensAndCloses(Protocol):
    """A pipeline that is told of the beginning and the end of the crawl."""

    def open_spider(self) -> Any:
        """Open what the pipeline needs: the crawl is open, and no page has come."""

    def close_spider(self) -> Any | Awaitable[Any]:
        """Close it: no page comes any more, and the last checkpoint is next."""


class TakesPart(Protocol):
    """A pipeline that has a position in every checkpoint."""

    def checkpoint(self) -> Any:
        """Return the position, which msgpack can pack; all that was done must be safe on disk."""

    def restore(self, position: Any, /) -> None:
        """Go back to the position at the last checkpoint; None if that checkpoint had none."""


def is_module(pipeline: object) -> TypeGuard[NamesTypes]:
    """Return whether a pipeline is to be called for its content types only."""
    names_types = getattr(pipeline, "content_types", None) is not None
    return names_types and isinstance(pipeline, TakesPages)


def hooks_of(pipeline: object) -> list[str]:
    """Return the hooks of TakesPart that a pipeline has."""
    return [hook for hook in members(TakesPart) if callable(getattr(pipeline, hook, None))]


def takes_part(pipeline: object) -> TypeGuard[TakesPart]:
    """Return whether a pipeline has both hooks. One alone could not be undone after a crash."""
    return hooks_of(pipeline) == members(TakesPart)


# All names that mean something in a pipeline; one that is nearly one of these is reported.
PIPELINE_NAMES = (
    "from_crawler",  # Scrapy's, which the others may rely on
    *members(NamesTypes),
    *NamesTypes.__annotations__,
    *members(OpensAndCloses),
    *members(TakesPart),
)
