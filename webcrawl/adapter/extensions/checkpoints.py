"""Takes a checkpoint every CHECKPOINT_INTERVAL seconds, and at once on SIGUSR1; pipelines may take part in it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, Self, TypeGuard

import msgpack
from scrapy.crawler import Crawler

from webcrawl.adapter.listeners import listening
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.loading import path_of
from webcrawl.base.readable import count
from webcrawl.crawl.panics import tamed
from webcrawl.store.crawldb import CrawlDB, Part
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


class Positions(Part):
    """Restores every pipeline once, then saves the position of each with every checkpoint.

    A hook that raises ends the crawl: without a checkpoint more and more would have to be done again, and with one
    that lacks a position the pipeline would have lost pages.
    """

    def __init__(self, db: CrawlDB, pipelines: Iterable[object]) -> None:
        self._db = db
        self._pipelines = {state_name(type(one)): one for one in pipelines if _takes_part(one)}
        for name, pipeline in self._pipelines.items():
            data = db.get(PREFIX + name)
            position = None if data is None else msgpack.unpackb(data, strict_map_key=False)
            try:
                pipeline.restore(position)
            except BaseException as error:
                raise _failed(name, "restore", tamed(error)) from error
        if self._pipelines:
            db.join(self, first=True)  # before the outputs: a hook may write to one

    def save(self) -> None:
        for name, pipeline in self._pipelines.items():
            try:
                data = msgpack.packb(pipeline.checkpoint())
            except BaseException as error:
                raise _failed(name, "checkpoint", tamed(error)) from error
            self._db.set(PREFIX + name, data)


def _takes_part(pipeline: object) -> TypeGuard[TakesPart]:
    has = [hook for hook in HOOKS if callable(getattr(pipeline, hook, None))]
    if len(has) == 1:
        logger.warning(
            "%s has %s, but not both hooks: it takes no part in the checkpoint", path_of(type(pipeline)), has[0]
        )
    return len(has) == len(HOOKS)


def state_name(pipeline_class: type) -> str:
    """Return the name under which the state keeps what pipelines of this class have saved.

    Version 5 of the state names this package's own pipelines without their room, `adapter`.
    """
    return path_of(pipeline_class).replace("webcrawl.adapter.pipelines.", "webcrawl.pipelines.", 1)


def _failed(name: str, hook: str, error: Exception) -> StoreError:
    """The bug is in the pipeline: its traceback goes to logs/errors.log."""
    logger.error("%s.%s failed", name, hook, exc_info=error)
    return StoreError(f"{name}.{hook}: {error!r}")


FIGURES = (("pages", "page"), ("queued", "URL"), ("hosts", "host"))


class Checkpoints:
    """One task, from the spider's opening to its closing; the last checkpoint is the scheduler's own.

    Pipelines are open when the spider is: those with hooks are restored here, before the first page.
    """

    def __init__(self, crawler: Crawler, interval: float) -> None:
        self._crawler, self._interval = crawler, interval
        self.seconds = 0.0  # that the last one took
        self._now = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls(crawler, values_of(crawler)["CHECKPOINT_INTERVAL"]))

    def opened(self) -> None:
        loop = asyncio.get_running_loop()
        self._hear(lambda *_: loop.call_soon_threadsafe(self._now.set))
        scheduler = scheduler_of(self._crawler)
        scheduler.keeping.soon = self._now.set
        scheduler.crawl.parts.in_force.listen(["CHECKPOINT_INTERVAL"], self._change)
        try:
            Positions(scheduler.crawl.parts.db, _pipelines(self._crawler))
        except Exception as error:  # noqa: BLE001 - Scrapy would go on, and no checkpoint would ever be taken
            scheduler.fail(error)
        self._task = loop.create_task(self._run(scheduler))

    def _change(self, values: Mapping[str, float]) -> None:
        """From now on: one is taken at once, so that nobody waits for the end of a longer interval."""
        self._interval = values["CHECKPOINT_INTERVAL"]
        if self._task is not None:
            self._now.set()

    def closed(self) -> None:
        self._hear(signal.SIG_IGN)  # by default it would end the process, which has saved all
        if self._task is not None:
            self._task.cancel()

    @staticmethod
    def _hear(handler: Callable[..., object] | signal.Handlers) -> None:
        """Not by the event loop, which has a signal end the process for a moment when it no longer listens to it."""
        with contextlib.suppress(ValueError):  # only the main thread may handle signals
            signal.signal(signal.SIGUSR1, handler)

    async def _run(self, scheduler: FrontierScheduler) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), self._interval)
            self._now.clear()
            begun = time.perf_counter()
            try:
                await scheduler.checkpoint()
            except Exception as error:  # noqa: BLE001 - whatever it is, this checkpoint was not made
                scheduler.fail(error)
                return
            self.seconds = time.perf_counter() - begun
            _tell(self.seconds, scheduler.crawl.stats())


def _tell(seconds: float, figures: Mapping[str, float]) -> None:
    pages, queued, hosts = (count(int(figures[name]), one) for name, one in FIGURES)
    logger.info("checkpoint in %.2f s: %s, %s queued, %s in rotation", seconds, pages, queued, hosts)


def _pipelines(crawler: Crawler) -> tuple[object, ...]:
    """In their order. Any ITEM_PROCESSOR keeps them where Scrapy's own does."""
    pipelines: tuple[object, ...] = crawler.engine.scraper.itemproc.middlewares if crawler.engine else ()
    return pipelines
