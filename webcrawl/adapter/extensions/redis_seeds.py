"""Takes seeds from a key of a Redis server, as spiders of scrapy-redis do, but never loses one."""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from scrapy import FormRequest, Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.listeners import connect_extension
from webcrawl.adapter.request_trip import KEY
from webcrawl.adapter.scheduler import FrontierScheduler, scheduler_of
from webcrawl.adapter.server_settings import client_maker, has_server
from webcrawl.adapter.values import values_of
from webcrawl.base.model import Link
from webcrawl.base.readable import readable
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.crawl.checks import SettingError
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.hive.errors import Away, HiveError
from webcrawl.crawl.hive.redis_server.steps import Keys
from webcrawl.crawl.request_word import METHOD, UnfitRequest, check_meta
from webcrawl.crawl.seeding import Absence
from webcrawl.store.errors import StoreError
from webcrawl.urls.seeds.seed_source import BadLineError, seed_url

if TYPE_CHECKING:
    from webcrawl.crawl.hive.redis_server.pushed_seeds import SeedTaker

logger = logging.getLogger(__name__)

START = "is_start_request"  # Scrapy's mark


class SeedEntries:
    """Makes links and requests of entries."""

    def __init__(self, spider: Spider, encoding: str, longest: int) -> None:
        """`longest`: URL_MAX_LENGTH. A spider's own `make_request_from_data` comes first."""
        self._encoding = encoding
        self._longest = longest
        self._own = getattr(spider, "make_request_from_data", None)

    def read(self, data: bytes) -> Iterator[Link | Request]:
        """Yield the links and requests of an entry. Raise BadLineError, which says why not."""
        made = self._meaning(data) if self._own is None else self._own(data)
        # A spider's own method may give one request, several or none
        found = list(made) if isinstance(made, Iterable) else [made]
        if not found or found[0] is None:
            raise BadLineError("makes no request")
        for one in found:
            if isinstance(one, Request):
                # through the seen test, although it need not say so: it may come twice
                one.meta[START] = True
            yield one

    def _meaning(self, data: bytes) -> Link | Request:
        try:
            text = data.decode(self._encoding).strip()
        except UnicodeDecodeError as error:
            raise BadLineError(f"is not {self._encoding}") from error
        if not text.startswith("{"):
            url = seed_url(text, self._longest)
            return Link(url, seed=url)
        try:
            fields = json.loads(text)
            return self._request(fields)
        except BadLineError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            raise BadLineError(f"is not valid JSON of a request ({error})") from error

    def _request(self, fields: dict[str, Any]) -> Link | Request:
        url = fields.pop("url", None)
        if not isinstance(url, str):
            raise TypeError("it has no url")
        url = seed_url(url.strip(), self._longest)
        method = str(fields.pop("method", "GET")).upper()
        meta = dict(fields.pop("meta", None) or {})
        # The key is the crawl's own
        meta.pop(KEY, None)
        if not METHOD.fullmatch(method):
            raise BadLineError(f"has an invalid HTTP method: {readable(method[:40])}")
        try:
            check_meta(meta)
        except UnfitRequest as error:
            raise BadLineError(f"is refused: {error}") from error
        has_nothing_else = not fields and not meta
        if has_nothing_else and method == "GET":
            return Link(url, seed=url)
        # As in scrapy-redis: all other keys are fields of a form
        form: dict[str, str | list[str]] = {}
        for name, given in fields.items():
            form[name] = [str(one) for one in given] if isinstance(given, list) else str(given)
        return FormRequest(url, method=method, formdata=form, meta=meta, dont_filter=True)


INTERVAL = 1.0  # seconds between two looks
SOON = 0.02  # while there are more seeds, and no host to ask
LATER = 10.0  # seconds after an error that the operator has to mend
LAST = 2.0  # for removing what the last checkpoint has
TOLD = 5  # bad entries that are logged
META = "redis_seeds"


class RedisSeeds:
    """Takes seeds from a key of a Redis server.

    `patience`: idle seconds before the crawl may end; None: it ends once nothing is left; 0: it
    never ends.
    """

    def __init__(
        self,
        crawler: Crawler,
        values: CheckedSettings,
        make_client: Callable[[], Any],
        encoding: str,
    ) -> None:
        self._crawler = crawler
        self._values = values
        self._make_client = make_client
        self._encoding = encoding
        self._patience: int | None = values["MAX_IDLE_TIME_BEFORE_CLOSE"]
        self._task: asyncio.Task[None] | None = None
        self._looked = False  # whether the server has answered, and nothing was there
        self._connected = False
        self._away = False
        # the server does not answer, or refuses us; by the machine's clock
        self._absent_since: float | None = None
        self._told: set[str] = set()
        self._bad = 0
        self._idle_since: float | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not has_server(settings):
            raise NotConfigured
        encoding = settings.get("REDIS_ENCODING") or "utf-8"
        try:
            codecs.lookup(encoding)
        except LookupError as error:
            raise SettingError(
                "REDIS_ENCODING", encoding, "an encoding that Python knows"
            ) from error
        return connect_extension(
            crawler, cls(crawler, values_of(crawler), client_maker(settings), encoding)
        )

    def opened(self, spider: Spider) -> None:
        from webcrawl.crawl.hive.redis_server.pushed_seeds import SeedTaker  # noqa: PLC0415 - 0.2 s for those who use it

        scheduler = scheduler_of(self._crawler)
        self._scheduler = scheduler
        values = self._values
        self._source = (getattr(spider, "redis_key", None) or values["REDIS_START_URLS_KEY"]) % {
            "name": spider.name
        }
        encoding = getattr(spider, "redis_encoding", None) or self._encoding
        self._entries = SeedEntries(spider, encoding, values["URL_MAX_LENGTH"])
        keys = Keys(values["HIVE_NAME"] or spider.name)
        try:
            name = values["HIVE_DRONE"] if values["HIVE_DRONES"] else self._own_id(scheduler.crawl)
            own = keys.taken(name)
        except StoreError as error:
            scheduler.fail(error)
            return
        self._taking: SeedTaker = SeedTaker(self._make_client(), self._source, own, self._hand_on)
        scheduler.crawl.followers.add(self)
        scheduler.run.sources.append(self.expects)
        # a drone's seeds come from the hive's server, which is watched
        if not values["HIVE_DRONES"]:
            scheduler.crawl.outlook.servers.watch(self.absence)
        self._task = asyncio.get_running_loop().create_task(self._run(scheduler))

    def _own_id(self, crawl: Crawl) -> str:
        """Return this crawl's name among those that share the key, kept before it takes seeds."""
        found = crawl.parts.db.get(META)
        if found is None:
            found = os.urandom(8).hex().encode()
            crawl.parts.db.set(META, found)
            # Seeds that were taken lie in a list of this name until a checkpoint has them: after a
            # kill the next run must find the list
            crawl.checkpoint()
        return found.decode()

    async def closed(self) -> None:
        """Remove from the server, after the last checkpoint, the seeds that it has."""
        if self._task is None:
            return
        self._task.cancel()
        # Seeds that stay in the list come again in the next run, whose seen store knows them
        with suppress(Away, HiveError, TimeoutError):
            async with asyncio.timeout(LAST):
                await self._taking.finish()
        await self._taking.aclose()

    # -- beside the crawl

    def committed(self) -> None:
        self._taking.committed()

    def rest(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        self._taking.stopped = True

    def expects(self) -> bool:
        """Return whether seeds may come though nothing is left to do; asked only then."""
        if not self._looked or self._patience == 0:
            return True
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        return self._patience is not None and now - self._idle_since < self._patience

    def absence(self) -> Absence | None:
        """Return the time since when no seeds come from the server, or None if it answers."""
        since = self._absent_since
        return None if since is None else Absence("the seed server", since)

    # -- the loop

    async def _run(self, scheduler: FrontierScheduler) -> None:
        logger.info("reading seeds from the key %s of the seed server", self._source)
        while scheduler.failed is None and not self._taking.stopped:
            pause = await self._turn(scheduler)
            if scheduler.crawl.pending:
                self._idle_since = None
            elif self._looked:
                # The crawl may end now
                scheduler.wake()
            await asyncio.sleep(pause)

    async def _turn(self, scheduler: FrontierScheduler) -> float:
        try:
            taken = await self._taking.take_batch()
        except Away as error:
            self._looked = False
            if not self._away:
                logger.warning(
                    "no seeds can be read, because the seed server does not answer: %s", error
                )
            self._away = True
            self._absent_since = self._absent_since or time.time()
            return INTERVAL
        except HiveError as error:
            self._refused(scheduler, error)
            return LATER
        except Exception as error:  # noqa: BLE001 - the crawl's state, probably: nothing more is kept
            scheduler.fail(error)
            return LATER
        if self._away:
            logger.info("the seed server is back")
        self._absent_since = None
        # A fault that was mended is logged once more if it comes again
        self._told.clear()
        self._connected = True
        self._away = False
        self._looked = not (taken or self._taking.is_full)
        if not taken:
            return INTERVAL
        self._idle_since = None
        scheduler.wake()
        return INTERVAL if scheduler.crawl.outlook.ready_hosts() else SOON

    def _refused(self, scheduler: FrontierScheduler, error: HiveError) -> None:
        """End the crawl if it is at its start.

        The operator can mend it later, and the crawl has other things to do.
        """
        self._looked = False
        self._absent_since = self._absent_since or time.time()
        if not self._connected:
            scheduler.fail(error)
        elif str(error) not in self._told:
            self._told.add(str(error))
            logger.error("no seeds can be read from the seed server: %s", error)

    def _hand_on(self, data: bytes) -> None:
        crawl = self._scheduler.crawl
        try:
            for one in self._entries.read(data):
                crawl.parts.counters.update(["redis_seeds"])
                if isinstance(one, Link):
                    crawl.parts.discovery.submit(one)
                else:
                    self._scheduler.enqueue_request(one)
        except BadLineError as error:
            self._drop(data, str(error))
        except (StoreError, OSError, MemoryError):
            # The entry is not to blame
            raise
        except Exception as error:  # noqa: BLE001 - a spider's make_request_from_data may raise anything
            self._drop(data, f"makes no request ({error!r})")

    def _drop(self, data: bytes, why: str) -> None:
        self._scheduler.crawl.parts.counters.update(["redis_seeds/bad"])
        self._bad += 1
        if self._bad <= TOLD:
            logger.warning("%s: skipped an entry that %s: %.200r", self._source, why, data)
        if self._bad == TOLD:
            logger.warning("%s: further bad entries are counted but not logged", self._source)
