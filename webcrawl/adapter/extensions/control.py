"""Takes commands through a Unix socket in JOBDIR, while the crawl runs (docs/control.md)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.commanded_crawl import CommandedCrawl
from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.base.program import program
from webcrawl.crawl.control.client import NAME, UNKEPT
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import COMMANDS, obey, refuse_host_elsewhere
from webcrawl.crawl.control.server import ControlServer
from webcrawl.store.errors import StoreError

logger = logging.getLogger(__name__)

CHECKPOINT_TIMEOUT = 20.0  # seconds that a command waits for the checkpoint that includes it
NOT_KEPT = f"{UNKEPT}no checkpoint includes it yet: if the crawl is killed now, it is forgotten"


class Control:
    """Obeys commands from the socket. A change is logged, and answered once a checkpoint has it."""

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler = crawler
        self._folder = folder
        self._commanded_crawl = CommandedCrawl(crawler, scheduler_of)
        self._server: ControlServer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if not values["CONTROL"]:
            raise NotConfigured
        return connect_extension(crawler, cls(crawler, Path(values["JOBDIR"])))

    def opened(self) -> None:
        """Open the socket. Warn if that is impossible, and let the crawl run without commands."""
        # Raises NotConfigured if there is no crawl
        scheduler_of(self._crawler)
        try:
            self._server = ControlServer(self._folder, self._obey)
        except OSError as error:
            reason = error.strerror or error
            logger.warning(
                "%s: %s, so `%s ctl` cannot reach this crawl",
                self._folder / NAME,
                reason,
                program(),
            )
        else:
            self._server.start()

    def closed(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _obey(self, name: str, words: Sequence[str]) -> str | Mapping[str, Any]:
        """Obey a command with these arguments, and return its answer. Raise CommandError."""
        if name == "seeds" and self._commanded_crawl.status()["state"] == "stopping":
            raise CommandError(
                "the crawl is ending and reads no more seeds: add them in its next run"
            )
        refuse_host_elsewhere(self._commanded_crawl, name, *words)
        answer = obey(self._commanded_crawl, name, *words)
        # Until a checkpoint has a change, a kill would undo it
        changes_crawl = COMMANDS[name].lasts(*words)
        if changes_crawl:
            logger.info("by command: %s: %s", " ".join((name, *words)), answer)
        if isawaitable(answer):
            try:
                answer = await answer
            except StoreError as error:  # of the checkpoint; the crawl ends by the same error
                raise CommandError(str(error)) from error
        if changes_crawl:
            await self._await_checkpoint()
        return answer

    async def _await_checkpoint(self) -> None:
        """Have a checkpoint taken, and wait for it.

        Raise CommandError if none is made within CHECKPOINT_TIMEOUT seconds, or if it fails.
        """
        try:
            async with asyncio.timeout(CHECKPOINT_TIMEOUT):
                await self._commanded_crawl.checkpoint()
        except TimeoutError as error:
            raise CommandError(NOT_KEPT) from error
        except (CommandError, StoreError) as error:
            raise CommandError(f"{UNKEPT}it was not saved: {error}") from error
