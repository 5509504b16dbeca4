"""Takes seeds from a key of a Redis server, as scrapy-redis does, and loses none in a crash."""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """Turns the entries of the key into links and requests."""

    def __init__(self, spider: Spider, encoding: str, max_url_length: int) -> None:
        """A spider's own `make_request_from_data` is used if it has one."""
        self._encoding = encoding
        self._max_url_length = max_url_length
        self._users_method = getattr(spider, "make_request_from_data", None)

    def read(self, data: bytes) -> Iterator[Link | Request]:
        """Yield the links and requests of an entry.

        Raise BadLineError, with the reason, if it has none.
        """
        result = self._parse(data) if self._users_method is None else self._users_method(data)
        # A spider's own method may return one request, several or none
        requests = list(result) if isinstance(result, Iterable) else [result]
        if not requests or requests[0] is None:
            raise BadLineError("makes no request")
        for request in requests:
            if isinstance(request, Request):
                # Has it pass the seen test, because an entry may come twice after a crash
                request.meta[START] = True
            yield request

    def _parse(self, data: bytes) -> Link | Request:
        """Return the link of an entry that is a URL, or the request of a JSON object.

        Raise BadLineError if it is neither.
        """
        try:
            text = data.decode(self._encoding).strip()
        except UnicodeDecodeError as error:
            raise BadLineError(f"is not {self._encoding}") from error
        if not text.startswith("{"):
            url = seed_url(text, self._max_url_length)
            return Link(url, seed=url)
        try:
            fields = json.loads(text)
            return self._request(fields)
        except BadLineError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            raise BadLineError(f"is not valid JSON of a request ({error})") from error

    def _request(self, fields: dict[str, Any]) -> Link | Request:
        """Return the request that a JSON object describes, as in scrapy-redis; a link for a plain GET.

        All keys but `url`, `method` and `meta` are fields of a form. Raise TypeError or
        BadLineError if the object is not of this form.
        """
        url = fields.pop("url", None)
        if not isinstance(url, str):
            raise TypeError("it has no url")
        url = seed_url(url.strip(), self._max_url_length)
        method = str(fields.pop("method", "GET")).upper()
        meta = dict(fields.pop("meta", None) or {})
        # This key is the crawl's own
        meta.pop(KEY, None)
        if not METHOD.fullmatch(method):
            raise BadLineError(f"has an invalid HTTP method: {readable(method[:40])}")
        try:
            check_meta(meta)
        except UnfitRequest as error:
            raise BadLineError(f"is refused: {error}") from error
        has_only_url = not fields and not meta
        if has_only_url and method == "GET":
            return Link(url, seed=url)
        form = _form_of(fields)
        return FormRequest(url, method=method, formdata=form, meta=meta, dont_filter=True)


def _form_of(fields: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Return the fields of a form with their values as text; a list has several values of a field."""
    form: dict[str, str | list[str]] = {}
    for name, value in fields.items():
        if isinstance(value, list):
            form[name] = [str(member) for member in value]
        else:
            form[name] = str(value)
    return form


TURN_INTERVAL = 1.0  # seconds between two requests for seeds
SHORT_INTERVAL = 0.02  # seconds, while there are more seeds and no host is ready
RETRY_INTERVAL = 10.0  # seconds after an error that the operator has to repair
CLOSING_TIMEOUT = 2.0  # seconds for removing from the server what the last checkpoint has
MAX_LOGGED_ENTRIES = 5  # bad entries that are logged
ID_KEY = "redis_seeds"


class RedisSeeds:
    """Takes seeds from a key of a Redis server while the crawl runs.

    MAX_IDLE_TIME_BEFORE_CLOSE is the number of idle seconds after which the crawl may end. None: it
    ends once nothing is left. 0: it never ends.
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
        self._is_drained = False  # the server has answered, and has no more seeds
        self._connected = False
        self._is_away = False
        # Since when the server does not answer or refuses us, by the machine's clock
        self._absent_since: float | None = None
        self._logged_errors: set[str] = set()
        self._bad_entries = 0
        self._idle_since: float | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raise NotConfigured if the user has named no server, SettingError for a bad encoding."""
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
        """Begin to take seeds. End the crawl if its name among the takers cannot be kept."""
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
        self._taker: SeedTaker = SeedTaker(
            self._make_client(), self._source, own, self._submit_entry
        )
        scheduler.crawl.followers.add(self)
        scheduler.run.sources.append(self.expects)
        # A drone's seeds come from the hive's server, which the hive watches
        if not values["HIVE_DRONES"]:
            scheduler.crawl.outlook.servers.watch(self.absence)
        self._task = asyncio.get_running_loop().create_task(self._run(scheduler))

    def _own_id(self, crawl: Crawl) -> str:
        """Return this crawl's name among the crawls that share the key; keep a new one on disk first."""
        own_id = crawl.parts.db.get(ID_KEY)
        if own_id is None:
            own_id = os.urandom(8).hex().encode()
            crawl.parts.db.set(ID_KEY, own_id)
            # Until a checkpoint has them, seeds that were taken are in a list of this name on the
            # server, which the next run has to find after a kill
            crawl.checkpoint()
        return own_id.decode()

    async def closed(self) -> None:
        """Remove from the server the seeds that the last checkpoint has, and close the connection."""
        if self._task is None:
            return
        self._task.cancel()
        # The next run takes seeds that stay in the list once more, and its seen store drops them
        with suppress(Away, HiveError, TimeoutError):
            async with asyncio.timeout(CLOSING_TIMEOUT):
                await self._taker.finish()
        await self._taker.aclose()

    # -- beside the crawl

    def committed(self) -> None:
        self._taker.committed()

    def finish_work(self) -> Iterator[None]:
        return iter(())

    def close(self) -> None:
        self._taker.stopped = True

    def expects(self) -> bool:
        """Return whether seeds may still come. Asked only while nothing is left to do."""
        if not self._is_drained or self._patience == 0:
            return True
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        return self._patience is not None and now - self._idle_since < self._patience

    def absence(self) -> Absence | None:
        """Return since when the server gives no seeds, or None if it answers."""
        since = self._absent_since
        return None if since is None else Absence("the seed server", since)

    # -- the loop

    async def _run(self, scheduler: FrontierScheduler) -> None:
        """Take seeds again and again, until the crawl fails or closes."""
        logger.info("reading seeds from the key %s of the seed server", self._source)
        while scheduler.failed is None and not self._taker.stopped:
            pause = await self._take_seeds(scheduler)
            if scheduler.crawl.pending:
                self._idle_since = None
            elif self._is_drained:
                # The crawl may end now
                scheduler.wake()
            await asyncio.sleep(pause)

    async def _take_seeds(self, scheduler: FrontierScheduler) -> float:
        """Take the seeds that are there, and return the seconds until the next attempt."""
        try:
            taken = await self._taker.take_batch()
        except Away as error:
            self._is_drained = False
            if not self._is_away:
                logger.warning(
                    "no seeds can be read, because the seed server does not answer: %s", error
                )
            self._is_away = True
            self._absent_since = self._absent_since or time.time()
            return TURN_INTERVAL
        except HiveError as error:
            self._note_refusal(scheduler, error)
            return RETRY_INTERVAL
        except Exception as error:  # noqa: BLE001 - probably of the crawl's state: nothing more is kept
            scheduler.fail(error)
            return RETRY_INTERVAL
        if self._is_away:
            logger.info("the seed server is back")
        self._absent_since = None
        # An error that comes again after the server has answered is logged again
        self._logged_errors.clear()
        self._connected = True
        self._is_away = False
        self._is_drained = not (taken or self._taker.is_full)
        if not taken:
            return TURN_INTERVAL
        self._idle_since = None
        scheduler.wake()
        return TURN_INTERVAL if scheduler.crawl.outlook.ready_hosts() else SHORT_INTERVAL

    def _note_refusal(self, scheduler: FrontierScheduler, error: HiveError) -> None:
        """Note that the server has refused the crawl, and log each reason once.

        At the start of the crawl this ends it. Later the operator can repair the server while the
        crawl fetches what it has.
        """
        self._is_drained = False
        self._absent_since = self._absent_since or time.time()
        if not self._connected:
            scheduler.fail(error)
        elif str(error) not in self._logged_errors:
            self._logged_errors.add(str(error))
            logger.error("no seeds can be read from the seed server: %s", error)

    def _submit_entry(self, data: bytes) -> None:
        """Submit the links and requests of an entry; a bad entry is counted and dropped.

        Raise StoreError, OSError or MemoryError, for which the entry is not to blame.
        """
        crawl = self._scheduler.crawl
        try:
            for seed in self._entries.read(data):
                crawl.parts.counters.update(["redis_seeds"])
                if isinstance(seed, Link):
                    crawl.parts.discovery.submit(seed)
                else:
                    self._scheduler.enqueue_request(seed)
        except BadLineError as error:
            self._drop(data, str(error))
        except (StoreError, OSError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - a spider's make_request_from_data may raise anything
            self._drop(data, f"makes no request ({error!r})")

    def _drop(self, data: bytes, reason: str) -> None:
        self._scheduler.crawl.parts.counters.update(["redis_seeds/bad"])
        self._bad_entries += 1
        if self._bad_entries <= MAX_LOGGED_ENTRIES:
            logger.warning("%s: skipped an entry that %s: %.200r", self._source, reason, data)
        if self._bad_entries == MAX_LOGGED_ENTRIES:
            logger.warning("%s: further bad entries are counted but not logged", self._source)
