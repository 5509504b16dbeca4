"""A crawl that is one drone of a hive: how it joins, and the loops that it runs with the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.commanded_crawl import CommandedCrawl, CommandedScheduler
from webcrawl.adapter.server_settings import transport_maker
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.system import boot_id
from webcrawl.crawl.hive.coordinator import Coordination, FiguresWriter
from webcrawl.crawl.hive.drone_runner import DroneRunner
from webcrawl.crawl.hive.errors import Away, HiveError, UnknownDrone
from webcrawl.crawl.hive.member import KEY, Identity, Membership, keep_map, saved_map, take_identity
from webcrawl.crawl.hive.partition import Partition, partition_of
from webcrawl.crawl.hive.registry import Companions, Member
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.seeds.seed_reader import digest
from webcrawl.urls.seeds.seed_source import is_url, list_paths

logger = logging.getLogger(__name__)

# Seconds between two checks whether all drones of a new hive have joined
FOUNDING_CHECK_INTERVAL = 0.2
# Of all drones together; each check reads the whole registry
MAX_CHECKS_PER_SECOND = 200
# Seconds between two attempts to join of a drone beyond the hive's number
JOIN_RETRY_INTERVAL = 1.0
MAX_COMPARED_BYTES = 1 << 20  # of each list of seeds


def seed_digests(spider: object) -> tuple[str, ...]:
    """Return digests of a spider's argument `seeds`: by its words, and by what its lists contain.

    Two drones have the same seeds if one of both is equal: the list may have another path on each
    machine, and where each machine downloads it, it may have changed. Empty without that argument.
    """
    words = list_paths(str(getattr(spider, "seed_lists", None) or ""))
    if not words:
        return ()
    by_words = _digest_of_all(map(_full_path, words))
    try:
        return by_words, _digest_of_all(map(_contents, words))
    except OSError:  # it is to be downloaded, or the check of the arguments will say what is wrong
        return (by_words,)


def _full_path(word: str) -> str:
    """Return a seed as it is, and a list by its whole path: two hives may name theirs alike."""
    path = Path(word)
    return str(path.absolute()) if path.is_file() else word


def _contents(word: str) -> str:
    """Return a seed as it is, and a list by its size and beginning. Raise OSError."""
    if is_url(word):
        return word
    path = Path(word)
    with path.open("rb") as file:
        beginning = file.read(MAX_COMPARED_BYTES)
    return f"{path.stat().st_size} {digest(beginning)}"


def _digest_of_all(parts: Iterable[str]) -> str:
    return digest("\n".join(parts).encode())


async def refuse_known(settings: BaseSettings, values: CheckedSettings, name: str) -> None:
    """Raise HiveError if the hive's server knows this drone, which then cannot start over.

    Raise HiveError as well if the server does not answer.
    """
    hive = values["HIVE_NAME"] or name
    transport = transport_maker(settings, hive)()
    try:
        known = await transport.read_server()
    except Away as error:
        raise HiveError(f"REDIS_URL: the hive's server is {error.state}: {error}") from error
    finally:
        await transport.close()
    if values["HIVE_DRONE"] in known.registry.drones:
        raise HiveError(
            f"--fresh: drone {values['HIVE_DRONE']} belongs to the hive {hive}, which its server "
            "knows; to begin the hive anew, start all drones with another HIVE_NAME and another JOBDIR"
        )


class HiveEntry:
    """Joins the hive before the crawl begins: opens the state, and registers with the server."""

    def __init__(self, crawler: Crawler, values: CheckedSettings, name: str) -> None:
        self._values = values
        self._name = values["HIVE_NAME"] or name
        self._jobdir = str(Path(values["JOBDIR"]).absolute())
        self._seeds = seed_digests(crawler.spider)
        self.db = CrawlDB(Path(values["JOBDIR"]) / "state")
        try:
            self._identity: Identity = take_identity(self.db, self._name, values["HIVE_DRONE"])
            self._partition: Partition = partition_of(values["HIVE_PARTITION"], RegisteredDomains())
            self.server = transport_maker(crawler.settings, self._name)()
            self._companions = Companions(self.db, lambda: self.server.member)
        except BaseException:
            self.db.close()
            raise

    async def member(self) -> Membership:
        """Join the hive, and return the membership of this drone.

        A drone that was in the hive before can continue while the server is away. Raise HiveError
        if a new drone cannot join.
        """
        try:
            return await self._membership()
        except BaseException:
            self.db.close()
            await self.server.close()
            raise

    async def _membership(self) -> Membership:
        """Join the hive as `member` does, and keep its key and map in the state."""
        key = self.db.get(KEY)
        slots = saved_map(self.db)
        away = None
        try:
            await self._join_when_wanted()
            if key is None:
                await self._await_founding()
        except Away as error:
            away = error
        else:
            key = self._hive.key
            # If the server has a later map than the state, the drone takes it over when the crawl
            # is open
            slots = slots or self._hive.map
        if key is None or slots is None:
            raise HiveError(
                f"REDIS_URL: the hive's server, which a new drone needs to join, cannot be used: {away}"
            ) from away
        # All drones of a hive hash by this key
        self.db.set(KEY, key)
        keep_map(self.db, slots)
        partition = self._partition.with_slots_of(slots)
        return Membership(self._identity.drone, self._name, key, slots, partition)

    async def _join_when_wanted(self) -> None:
        """Join the hive.

        A drone beyond the hive's number waits until an order raises the number.
        """
        is_reported = False
        while True:
            try:
                await self.join()
            except UnknownDrone as error:
                if not is_reported:
                    logger.warning("%s", error)
                is_reported = True
                await asyncio.sleep(JOIN_RETRY_INTERVAL)
            else:
                return

    async def _await_founding(self) -> None:
        """Wait until all drones of a new hive have joined, at most HIVE_LEASE seconds.

        One of them may have the key of an older hive, which the new hive then takes over. That is
        so after a power cut, with a new server, if only some drones had taken their first
        checkpoint.
        """
        until = time.monotonic() + self._values["HIVE_LEASE"]
        pause = max(FOUNDING_CHECK_INTERVAL, self._values["HIVE_DRONES"] / MAX_CHECKS_PER_SECOND)
        while self._hive.fresh and time.monotonic() < until:
            await asyncio.sleep(pause)
            # This drone has joined already, so a server that is away now can be asked again later
            with contextlib.suppress(Away):
                await self.join()

    async def join(self) -> str:
        """Enter the registry of the hive, or enter it again, and return the hive's epoch."""
        values = self._values
        identity = self._identity
        # Everything about this drone, so that a server that has lost its data can rebuild the
        # registry
        self._hive = await self.server.join(
            Member(
                drone=identity.drone,
                state=identity.id,
                jobdir=self._jobdir,
                host=socket.gethostname(),
                pid=os.getpid(),
                partition=self._partition.essence,
                groups=self._partition.groups,
                machine=boot_id(),
                drones=values["HIVE_DRONES"],
                seeds=self._seeds,
                key=self.db.get(KEY),
                map=saved_map(self.db),
                **self._companions.known(),
            ),
            lease=values["HIVE_LEASE"],
        )
        return self._hive.epoch

    def make_runner(self, scheduler: CommandedScheduler) -> DroneRunner:
        """Return the loops that exchange batches and heartbeats with the hive, not yet started.

        They carry out the hive's commands on the crawl of this scheduler. Raise HiveError if that
        crawl was not opened as a drone.
        """
        drone_parts = scheduler.crawl.parts.drone_parts
        if drone_parts is None:
            raise HiveError("this crawl was not opened as a drone")
        identity = self._identity
        # Part of each heartbeat's report
        about = {
            "drone": identity.drone,
            "identity": identity.id,
            "run": identity.run,
            "jobdir": self._jobdir,
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        # Every drone may become the coordinator
        coordination = Coordination(
            identity.drone,
            self.server,
            drone_parts,
            self._partition.groups,
            FiguresWriter(Path(self._jobdir)),
        )
        commanded_crawl = CommandedCrawl(scheduler.crawler, lambda _: scheduler)
        return DroneRunner(
            drone_parts,
            self.server,
            scheduler,
            commanded=commanded_crawl,
            coordination=coordination,
            about=about,
            join=self.join,
            lease=self._values["HIVE_LEASE"],
            batch_age=self._values["HIVE_BATCH_AGE"],
        )
