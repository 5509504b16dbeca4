"""Pipelines that take part in the checkpoint, so that their state always matches the crawl's (docs/extending.md)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeGuard

import msgpack

from webcrawl.base import names
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

PREFIX = "pipeline."  # before a pipeline's dotted path, in the table meta
HOOKS = ("checkpoint", "restore")


class TakesPart(Protocol):
    """A pipeline with both hooks."""

    def checkpoint(self) -> Any:
        """Returns its position, as a value that msgpack can pack; all it did so far must be safe on disk."""

    def restore(self, position: Any) -> None:
        """Goes back to its position at the last checkpoint; None if that checkpoint had none."""


class Positions:
    """Restores every pipeline once, then saves the position of each with every checkpoint.

    A hook that raises ends the crawl: without a checkpoint more and more would have to be done again, and with one
    that lacks a position the pipeline would have lost pages.
    """

    def __init__(self, db: CrawlDB, pipelines: Iterable[object]) -> None:
        self._db = db
        self._pipelines = {_name(one): one for one in pipelines if _takes_part(one)}
        for name, pipeline in self._pipelines.items():
            data = db.get(PREFIX + name)
            position = None if data is None else msgpack.unpackb(data, strict_map_key=False)
            try:
                pipeline.restore(position)
            except Exception as error:
                raise _failed(name, "restore", error) from error
        if self._pipelines:
            db.join(self, first=True)  # before the outputs: a hook may write to one

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        for name, pipeline in self._pipelines.items():
            try:
                data = msgpack.packb(pipeline.checkpoint())
            except Exception as error:
                raise _failed(name, "checkpoint", error) from error
            self._db.set(PREFIX + name, data)


def _takes_part(pipeline: object) -> TypeGuard[TakesPart]:
    has = [hook for hook in HOOKS if callable(getattr(pipeline, hook, None))]
    if len(has) == 1:
        logger.warning("%s has %s, but not both hooks: it takes no part in the checkpoint", _name(pipeline), has[0])
    return len(has) == len(HOOKS)


def _name(pipeline: object) -> str:
    return names.former(names.path_of(type(pipeline)))


def _failed(name: str, hook: str, error: Exception) -> StoreError:
    """The bug is in the pipeline: its traceback goes to logs/errors.log."""
    logger.error("%s.%s failed", name, hook, exc_info=error)
    return StoreError(f"{name}.{hook}: {error!r}")
