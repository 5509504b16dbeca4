"""A crawl that is one drone of a hive: how it enters, and how it goes on with the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler

from webcrawl.adapter.commanding import Commanding
from webcrawl.adapter.redis_client import client_maker
from webcrawl.adapter.scheduler_protocol import Scheduled
from webcrawl.base.errors import with_place
from webcrawl.crawl.control.command import CommandError, mistake
from webcrawl.crawl.control.commands import checked, obey
from webcrawl.crawl.hive.drone_identity import KEY, Identity, keep_map, saved_map, take_up
from webcrawl.crawl.hive.drone_report import State
from webcrawl.crawl.hive.drone_server import Server, stream_memory
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.member import Membership
from webcrawl.crawl.hive.partition import Partition, partition_of
from webcrawl.crawl.hive.queen import Reign, Telling
from webcrawl.crawl.hive.registry import Member
from webcrawl.crawl.hive.running import Running
from webcrawl.crawl.hive.session import Companions
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError
from webcrawl.urls.host_names import RegisteredDomains

logger = logging.getLogger(__name__)

LOOK = 0.2  # seconds between two looks whether all drones of a new hive have come


class Entry:
    """The way into the hive: the state is opened, and the server asked, before there can be a crawl."""

    def __init__(self, crawler: Crawler, values: Mapping[str, Any], name: str) -> None:
        self._values, self._name = values, values["HIVE_NAME"] or name
        self._jobdir = str(Path(values["JOBDIR"]).absolute())
        self.db = CrawlDB(Path(values["JOBDIR"]) / "state")
        try:
            self._identity: Identity = take_up(self.db, self._name, values["HIVE_DRONE"])
            self._partition: Partition = partition_of(values["HIVE_PARTITION"], RegisteredDomains())
            memory = stream_memory(values["HIVE_DRONES"])
            self.server = Server(client_maker(crawler.settings), self._name, memory=memory)
            self._companions = Companions(self.db, self.server)
        except BaseException:
            self.db.close()
            raise

    async def member(self) -> Membership:
        """The membership of this drone. A drone that was in the hive before can go on while the server is away."""
        try:
            return await self._entered()
        except BaseException:
            self.db.close()
            await self.server.close()
            raise

    async def _entered(self) -> Membership:
        key, slots = self.db.get(KEY), saved_map(self.db)
        try:
            await self.join()
            if key is None:
                await self._await_founding()
        except Away as error:
            if key is None or slots is None:
                raise HiveError(f"REDIS_URL: a new drone cannot begin without its server: {error}") from error
        else:  # a later map than that of the state is learned when the crawl is open
            key, slots = self._hive.key, slots or self._hive.map
            self.db.set(KEY, key)
            keep_map(self.db, slots)
        return Membership(self._identity.drone, self._name, key, slots, self._partition)

    async def _await_founding(self) -> None:
        """Keeps nothing of a new hive before all its drones have come, for a while: one may have an older hive's key.

        So it is after a power cut, with a new server, if only some drones had taken their first checkpoint.
        """
        until = time.monotonic() + self._values["HIVE_LEASE"]
        while self._hive.fresh and time.monotonic() < until:
            await asyncio.sleep(LOOK)
            with contextlib.suppress(Away):  # it has joined: a server that is away now is asked again
                await self.join()

    async def join(self) -> str:
        """Enters the registry, or again; returns the epoch."""
        values, identity = self._values, self._identity
        await self.server.open()
        self._hive = await self.server.join(
            Member(
                drone=identity.drone,
                state=identity.id,
                jobdir=self._jobdir,
                host=socket.gethostname(),
                pid=os.getpid(),
                partition=self._partition.essence,
                groups=self._partition.groups,
                drones=values["HIVE_DRONES"],
                key=self.db.get(KEY),
                map=saved_map(self.db),
                **self._companions.known(),
            ),
            lease=values["HIVE_LEASE"],
        )
        return self._hive.epoch

    def running(self, scheduler: Scheduled) -> Running:
        """The loops, once there is a crawl."""
        post = scheduler.crawl.parts.post
        if post is None:
            raise HiveError("a crawl that was not opened as a drone")
        identity = self._identity
        about = {
            "drone": identity.drone,
            "identity": identity.id,
            "run": identity.run,
            "jobdir": self._jobdir,
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        reign = Reign(identity.drone, self.server, post, self._partition.groups, Telling(Path(self._jobdir)))
        lease = self._values["HIVE_LEASE"]
        return Running(post, self.server, Life(scheduler), reign, about, join=self.join, lease=lease)


class Life:
    """The crawl as the loops see it."""

    def __init__(self, scheduler: Scheduled) -> None:
        self._scheduler, self._crawl = scheduler, scheduler.crawl
        self._commanding = Commanding(scheduler.crawler, lambda _: scheduler)
        self._tasks: set[asyncio.Future[None]] = set()

    def wake(self) -> None:
        self._scheduler.wake()

    async def checkpoint(self) -> None:
        await self._scheduler.checkpoint()

    def idle(self) -> bool:
        return not self._scheduler.has_work()

    def rests(self) -> bool:
        return self._scheduler.rests

    def let_rest(self, *, all_rest: bool) -> None:
        before, self._crawl.all_rest = self._crawl.all_rest, all_rest
        if before and not all_rest:
            self.wake()

    def activity(self) -> int:
        return self._crawl.outlook.activity()

    def figures(self) -> Mapping[str, int | float]:
        return self._crawl.stats()

    def state(self) -> State:
        return State.PAUSED if self._crawl.parts.in_force.paused else State.RUNNING

    def trouble(self) -> str:
        return self._crawl.outlook.stands_still

    def out(self) -> bool:
        return self._crawl.parts.uplink.out

    def obey(self, name: str, arguments: Sequence[Any], *, late: bool) -> str:
        """Commands that were given while this drone was not there are obeyed if they last."""
        order = " ".join((name, *map(str, arguments)))
        try:
            if checked(name, *arguments).lasts(*arguments) or not late:
                answer = obey(self._commanding, name, *arguments)
                if isawaitable(answer):
                    self._later(order, answer)
                else:
                    logger.info("by command: %s: %s", order, answer)
        except CommandError as error:
            logger.warning("by command: %s: %s", order, error)
            return str(error)
        except Exception as error:  # noqa: BLE001 - a mistake in a command: all drones would end of it, at each start
            logger.error("by command: %s: %s", order, with_place(error))  # noqa: TRY400
            return mistake(error)
        return ""

    def _later(self, order: str, answer: Awaitable[Any]) -> None:
        """Says what came of a command that takes its time."""

        async def heard() -> None:
            try:
                logger.info("by command: %s: %s", order, await answer)
            except (CommandError, StoreError) as error:
                logger.warning("by command: %s: %s", order, error)

        task = asyncio.ensure_future(heard())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def over(self) -> None:
        self._scheduler.hive.others_done = True
        self._scheduler.wake()

    def fail(self, error: Exception) -> None:
        self._scheduler.fail(error)
