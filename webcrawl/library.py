"""The library: `webcrawl.crawl(…)` hands over pages, `webcrawl.pages(…)` reads archived ones.

A crawl runs in a thread of its own, whatever the caller is: a script, a notebook, a server. It
needs no Scrapy.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.request import getproxies
from weakref import WeakSet

from webcrawl.base.errors import NothingFetched
from webcrawl.base.outputs import READ_LINKS
from webcrawl.base.readable import count, url_without_credentials
from webcrawl.base.settings import SETTINGS
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.content.html.link_kinds import KINDS
from webcrawl.content.page import Page
from webcrawl.crawl.checks import SettingError, check
from webcrawl.crawl.checks.check import ARCHIVED_TRUNCATE, check_contact, check_outputs
from webcrawl.crawl.checks.proxies import check_proxies
from webcrawl.crawl.checks.scrapys import mistyped
from webcrawl.crawl.trip import Trip, page_under_way
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.stats_file import STORE_FAILED
from webcrawl.urls.seeds.seed_source import (
    CREDENTIALS,
    BadLineError,
    SeedError,
    TextRows,
    has_credentials,
    seed_url,
)

if TYPE_CHECKING:
    from webcrawl.crawl.outputs.output import PipelineOutput
    from webcrawl.crawl.standalone import Standalone

__all__ = ["Crawling", "NothingFetched", "Pages", "SettingError", "crawl", "pages"]

Seeds = str | PathLike[str] | Iterable[str]
# as of the spider `web`
ARGUMENTS = {"scope": "URL_SCOPE", "follow": "URL_FOLLOW", "languages": "FOCUS_LANGUAGES"}
BY_LANGUAGE = "webcrawl.frontier.prioritizers.language.ByLanguage"
SCRAPYS = {  # settings of Scrapy's that a crawl by itself heeds, with their defaults
    "DOWNLOAD_BIND_ADDRESS": None,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_FAIL_ON_DATALOSS": None,
    "DOWNLOAD_MAXSIZE": 1 << 30,
    "DOWNLOAD_TLS_MAX_VERSION": None,
    "DOWNLOAD_TLS_MIN_VERSION": None,
    "DOWNLOAD_VERIFY_CERTIFICATES": False,
    "DOWNLOADER_CLIENT_TLS_CIPHERS": "DEFAULT",
    "DEPTH_LIMIT": 0,
    "REDIRECT_ENABLED": None,
    "REDIRECT_MAX_TIMES": None,
    "RETRY_ENABLED": None,
    "RETRY_HTTP_CODES": None,
    "RETRY_TIMES": None,
    "URLLENGTH_LIMIT": None,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 5_000_000,
    "CLOSESPIDER_ITEMCOUNT": 0,
    "CLOSESPIDER_PAGECOUNT": 0,
    "CLOSESPIDER_TIMEOUT": 0,
    "FOCUS_LANGUAGES": None,
}
# What other parts of a Scrapy process do: there it can be had
_OF_SCRAPYS_PROCESS = """
    CONTROL DOWNLOADER_MIDDLEWARES ERROR_BREAKER FOREIGN_HANDLERS_ALLOWED HIVE_DRONE HIVE_DRONES
    HIVE_BATCH_AGE HIVE_FENCE HIVE_LEASE HIVE_NAME HIVE_PARTITION HIVE_WHEN_DONE ITEM_PIPELINES
    LOG_LEVEL MAX_IDLE_TIME_BEFORE_CLOSE METRICS_FILE METRICS_PORT OUTPUT_STORE OUTPUT_STORE_KEEP
    REDIS_PASSWORD_FILE REDIS_START_URLS_KEY REDIS_URL RENDER RENDER_ACTIONS RENDER_SHARE
    RENDER_VIEWS STOPPED_STATUS WEBSUB_ADDRESS WEBSUB_HOST WEBSUB_PORT
"""
OF_SCRAPYS_PROCESS = frozenset(_OF_SCRAPYS_PROCESS.split())
ANSWERS_WITHIN = 1.0  # seconds, unless the crawl has ended meanwhile
_LINE_ENDS = re.compile(r"[\t\r\n]")  # the URL Standard takes them out of a URL, wherever they are
STOPPED = "stopped"  # the reason of a crawl that its caller wanted no more pages of


def crawl(
    seeds: Seeds,
    jobdir: str | PathLike[str] | None = None,
    *,
    limit: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Crawling:
    """Return a crawl from these seeds, as an iterator of its pages.

    `seeds`: a URL, a file with a list of them, or any iterable of URLs. `limit`: how many of them
    are taken. `jobdir`: the folder of the crawl, which the next call with the same folder resumes;
    without one nothing is kept. Settings are keywords in small letters (`user_agent="…"`) or a dict
    (`settings={"USER_AGENT": "…"}`); `scope`, `follow` and `languages` are those of the spider
    `web`; from URLs, the crawl stays on their hosts unless `scope` says otherwise.

    Use `async for`, or `for` where no event loop runs. A page is finished when the next one is
    asked for. Raise TypeError for an unknown setting, and SettingError for an impossible value. The
    loop raises NothingFetched if no seed has an answer, and StoreError if the crawl cannot keep
    what it does.
    """
    if isinstance(seeds, bytes | bytearray) or not isinstance(seeds, PathLike | Iterable):
        raise TypeError(
            f"seeds: must be a URL, the path of a list, or a list of URLs, not {type(seeds).__name__}"
        )
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings: must be a dict, not {type(settings).__name__}")
    if limit is not None and not isinstance(limit, int):
        raise TypeError(f"limit: must be a whole number, not {limit!r}")
    given = _given(settings or {}, more, jobdir)
    if not _is_list(seeds):
        given.setdefault("URL_SCOPE", "host")
    return Crawling(seeds, limit, given, _checked(given), is_kept="JOBDIR" in given)


class Crawling:
    """A crawl that hands over its pages.

    As a context manager it is stopped, with a checkpoint, at the end.
    """

    def __init__(
        self,
        seeds: Seeds,
        limit: int | None,
        given: Mapping[str, Any],
        values: CheckedSettings,
        *,
        is_kept: bool,
    ) -> None:
        self._seeds = seeds
        self._limit = limit
        self._given = given
        self._values = values
        self._is_kept = is_kept
        self._running: _Thread | None = None
        self._running_lock = threading.Lock()
        # why the last iteration ended: "finished", "stopped", or a limit's
        self.reason: str | None = None
        self._stats: dict[str, Any] = {}
        self._outputs: dict[str, CallersOutput] = {}

    @property
    def jobdir(self) -> Path:
        """Return the folder of the crawl.

        Raise RuntimeError if it keeps nothing and has not run: then there is none yet.
        """
        folder = self._values["JOBDIR"]
        if folder is None:
            raise RuntimeError("without `jobdir`, a crawl has a folder only while it is running")
        return Path(folder)

    @property
    def stats(self) -> dict[str, Any]:
        """Return all counters of the crawl by name, as of now or as of its end."""
        return self._running.stats() if self._running is not None else self._stats

    def open_output(self, path: str) -> CallersOutput:
        """Open a file below the folder that is part of every checkpoint.

        What is written while a page is handled is there once the page is finished, and only once.
        Raise ValueError for a crawl without `jobdir`: its folder is removed at the end.
        """
        if not self._is_kept:
            raise ValueError(f"{path}: a crawl keeps a file only with `jobdir`")
        return self._outputs.setdefault(path, CallersOutput(path, lambda: self._running))

    # -- iteration

    def __aiter__(self) -> Pages:
        return self._pages()

    def __iter__(self) -> Pages:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise TypeError("an event loop is running here: use `async for`")
        return self._pages()

    def _pages(self) -> Pages:
        with self._running_lock:
            if self._running is not None:
                raise RuntimeError("only one loop over the pages of a crawl is possible at a time")
            self.reason = None
            if not self._is_kept:
                self._values = {**self._values, "JOBDIR": tempfile.mkdtemp(prefix="webcrawl-")}
            # It has begun when this returns, and may even have ended
            running = _Thread(self._seeds, self._limit, self._given, self._values, self._ended)
            self._running = running
        return Pages(running)

    def _ended(self, reason: str, stats: dict[str, Any]) -> None:
        """Called in the crawl's thread."""
        self.reason = reason
        self._stats = stats
        with self._running_lock:
            self._running = None
        if not self._is_kept:
            shutil.rmtree(self.jobdir, ignore_errors=True)

    # -- stopping

    def close(self) -> None:
        """Stop the crawl, if it runs, and wait until its last checkpoint is taken.

        Raises why that failed.
        """
        with self._running_lock:
            running = self._running
        if running is not None:
            running.stop()
            running.wait()

    async def aclose(self) -> None:
        """Stop the crawl as `close` does, while the event loop goes on."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Pages:
    """Iterates over the pages. Letting go of it, by `break` or an exception, stops the crawl."""

    def __init__(self, running: _Thread) -> None:
        self._running = running
        self._handover = running.handover
        self._is_over = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page:
        try:
            page = None if self._is_over else self._handover.next()
        except BaseException:
            # the error's traceback keeps this frame, and with it a crawl that nobody stops
            del self
            raise
        if page is None:
            self._end()
            raise StopIteration
        return page

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Page:
        try:
            page = None if self._is_over else await self._handover.anext()
        except BaseException:
            del self  # as above; a cancelled task keeps its error
            raise
        if page is None:
            self._end()
            raise StopAsyncIteration
        return page

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._running.wait()

    def __del__(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._running.stop()
            # else the garbage collector runs in the crawl's own thread
            if not self._running.is_here:
                self._running.wait(raises=False)


class _Entry(NamedTuple):
    """A page on its way."""

    page: Page
    trip: Trip | None
    finish: Callable[[], object]


class _Handover:
    """Pages on their way from the crawl's thread to the caller's, one at a time, in their order."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._pages: deque[_Entry] = deque()
        self._held: list[_Entry] = []  # what callers have: several threads may have a page each
        self._wakes: set[Callable[[], object]] = set()  # of callers that wait in an event loop
        self._is_over = False
        self._process = os.getpid()

    async def deliver(self, page: Page) -> None:
        """Wait, in the crawl's thread, until the caller is done with the page."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        entry = _Entry(page, page_under_way(), partial(_resolve, loop, done))
        with self._condition:
            self._pages.append(entry)
            self._tell()
        try:
            await done
        except asyncio.CancelledError:
            with self._condition, suppress(ValueError):
                self._pages.remove(entry)
            raise

    def end(self) -> None:
        """No page comes any more."""
        with self._condition:
            self._is_over = True
            self._pages.clear()
            self._tell()

    def _tell(self) -> None:
        # several threads and tasks may ask for the next page
        self._condition.notify_all()
        for wake in self._wakes:
            wake()

    def next(self) -> Page | None:
        """Finish the pages before, and wait for the next one; None if there is none any more."""
        self._done()
        with self._condition:
            while not (self._pages or self._is_over):
                self._condition.wait()
            return self._taken()

    async def anext(self) -> Page | None:
        """Return the next page as `next` does, in the caller's event loop."""
        self._done()
        while True:
            with self._condition:
                if self._pages or self._is_over:
                    return self._taken()
                loop = asyncio.get_running_loop()
                comes: asyncio.Future[None] = loop.create_future()
                wake = partial(_resolve, loop, comes)
                self._wakes.add(wake)
            try:
                await comes
            finally:
                with self._condition:
                    self._wakes.remove(wake)

    def _done(self) -> None:
        """Finish the pages that callers have. Raise RuntimeError in a process that was forked.

        It has no crawl's thread: no page would ever come.
        """
        if os.getpid() != self._process:
            raise RuntimeError("this crawl runs in the process from which this one was forked")
        with self._condition:
            held, self._held = self._held, []
        for entry in held:
            entry.finish()

    def _taken(self) -> Page | None:
        if not self._pages:
            return None
        entry = self._pages.popleft()
        self._held.append(entry)
        return entry.page

    def write_with_page(self, write: Callable[[], object]) -> bool:
        """Have something written when the page that was taken last is finished.

        False if no caller has a page.
        """
        with self._condition:
            trip = self._held[-1].trip if self._held else None
        if trip is None:
            return False
        trip.writes = [*(trip.writes or ()), write]
        return True


def _resolve(loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
    """Wake, from another thread, what waits for the future, if its loop still runs."""
    with suppress(RuntimeError):  # it is closed
        loop.call_soon_threadsafe(_set, future)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Told(Exception):  # noqa: N818 - reads as what it is
    """Raised when the crawl is told to stop while its seeds are still being listed."""


_RUNNING: WeakSet[_Thread] = WeakSet()


# A thread, so that `break` leaves a checkpoint behind: nobody awaits anything after it, and asyncio
# closes an abandoned generator in a task that the end of the program may cancel. In the caller's
# own loop a plain `for` would also stop the network between two pages.
class _Thread:
    """The thread of a crawl, with an event loop of its own."""

    def __init__(
        self,
        seeds: Seeds,
        limit: int | None,
        given: Mapping[str, Any],
        values: CheckedSettings,
        ended: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._seeds = seeds
        self._limit = limit
        self._given = given
        self._values = values
        self._ended = ended
        self.handover = _Handover()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crawl: Standalone | None = None
        self._is_told = False  # to stop
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._main, name="webcrawl", daemon=True)
        _RUNNING.add(self)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Return whether the caller runs in this thread."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Have the crawl end with a checkpoint. It may be called twice, from any thread."""
        with self._lock:
            self._is_told = True
            if self._loop is not None and self._crawl is not None:
                with suppress(RuntimeError):  # it has ended
                    self._loop.call_soon_threadsafe(self._crawl.stop, STOPPED)

    def wait(self, *, raises: bool = True) -> None:
        """Wait until it has ended.

        Raise why it could not be opened, or could not keep what it did.
        """
        self._thread.join()
        error = self._error
        self._error = None
        if error is not None and raises:
            raise error

    def stats(self) -> dict[str, Any]:
        """Return the counters as of now."""
        with suppress(RuntimeError):  # not open yet
            return dict(self.call(lambda crawl: crawl.stats()))
        return {}

    def call(self, ask: Callable[[Standalone], Any]) -> Any:
        """Return what it returns in the crawl's thread. Raise RuntimeError if no crawl is open."""
        loop, crawl = self._loop, self._crawl
        if loop is None or crawl is None:
            raise RuntimeError("the crawl has ended, or is not open yet")

        async def called() -> Any:
            return ask(crawl)

        answer = asyncio.run_coroutine_threadsafe(called(), loop)
        while self._thread.is_alive():
            with suppress(TimeoutError):
                return answer.result(ANSWERS_WITHIN)
        raise RuntimeError("the crawl has ended")

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop) as runner:
                runner.run(self._run())
        except BaseException as error:  # noqa: BLE001 - it is raised where the caller waits
            self._error = error
        finally:
            self.handover.end()

    async def _run(self) -> None:
        from webcrawl.crawl.standalone import Standalone  # noqa: PLC0415 - half of a crawl's start

        reason, crawl = STOPPED, Standalone(self._values, self._given, self.handover.deliver)
        stats: dict[str, Any] = {}
        try:
            seeds = _list_of(self._wanted_seeds(), Path(self._values["JOBDIR"]))
            await crawl.open(seeds, self._limit)
            with self._lock:
                self._loop = asyncio.get_running_loop()
                self._crawl = crawl
                if self._is_told:
                    crawl.stop(STOPPED)
            reason = await crawl.until_over()
        except _Told:
            pass
        finally:
            with self._lock:
                self._crawl = None
            try:
                await crawl.close(reason)
            except Exception:
                reason = STORE_FAILED
                raise
            finally:
                stats = crawl.stats()
                self._ended(reason, stats)

    def _wanted_seeds(self) -> Seeds:
        """Return the seeds: of those that the caller makes one by one, no more than are wanted."""
        if isinstance(self._seeds, str | PathLike):
            return self._seeds
        limit, max_length = self._limit, self._values["URL_MAX_LENGTH"]
        return self._until_told(
            self._seeds if limit is None else _first(self._seeds, limit, max_length)
        )

    def _until_told(self, seeds: Iterable[str]) -> Iterator[str]:
        for seed in seeds:
            if self._is_told:
                raise _Told
            yield seed


class CallersOutput:
    """A file of the caller's: it is opened when something is first written in a run."""

    def __init__(self, path: str, running: Callable[[], _Thread | None]) -> None:
        self._path = path
        self._running = running
        self._opened: tuple[_Thread, PipelineOutput] | None = None

    def write(self, data: bytes) -> None:
        """Append all of `data`, with the page that the caller has.

        Raise RuntimeError if the crawl does not run, TypeError unless it is bytes, and ValueError if
        the path is none that an output may have.
        """
        running = self._running()
        if running is None:
            raise RuntimeError(
                f"{self._path}: can be written to only between the first page and the last one"
            )
        if self._opened is None or self._opened[0] is not running:
            self._opened = running, running.call(self._open)
        write = self._opened[1].writing(data)
        if not running.handover.write_with_page(write):
            running.call(lambda _: write())

    def _open(self, crawl: Standalone) -> PipelineOutput:
        from webcrawl.crawl.outputs.output import open_output  # noqa: PLC0415 - few need it

        return open_output(crawl.run, self._path)


def pages(jobdir: str | PathLike[str]) -> Iterator[Page]:
    """Yield the pages that a crawl has archived, in their order, without robots.txt files.

    `jobdir` may also be a hive's, a WARC file, a folder of them, or a WACZ package. A page that was
    fetched again, or seen under another URL, is there as often as the archive has it. Raise
    FileNotFoundError if there is no archive, and StoreError after the last page if some could not
    be read.
    """
    from webcrawl.crawl.page_reading import read_page  # noqa: PLC0415 - half of the time that a crawl's start takes
    from webcrawl.record.archives import Archives, PayloadPlaces, from_the_beginning  # noqa: PLC0415 - as above
    from webcrawl.record.warc.archive_files import NoArchive, archive_files  # noqa: PLC0415 - as above

    try:
        files, _ = archive_files([str(jobdir)])
    except NoArchive as error:
        raise FileNotFoundError(str(error)) from error
    lost = 0
    with tempfile.TemporaryDirectory(prefix="webcrawl-") as folder:
        originals = PayloadPlaces(Path(folder) / "originals.db")
        try:
            for answer in Archives(files, from_the_beginning, originals, ARCHIVED_TRUNCATE):
                lost += answer.losses
                if answer.download is not None and not answer.download[0].is_own:
                    yield read_page(*answer.download, KINDS)
        finally:
            originals.close()
    if lost:  # as `webcrawl process` ends with status 1
        raise StoreError(f"{jobdir}: {count(lost, 'place')} could not be read: the log has them")


# -- what the caller has given


def _given(
    settings: Mapping[str, Any], keywords: Mapping[str, Any], jobdir: str | PathLike[str] | None
) -> dict[str, Any]:
    """Return the settings that the caller has given, under their names.

    Raise TypeError for one that has no effect here, or is given twice.
    """
    known = SETTINGS.keys() | SCRAPYS.keys()
    given: dict[str, Any] = {}
    for written, value in [*settings.items(), *keywords.items()]:
        name = ARGUMENTS.get(written, written.upper())
        if name in given:
            raise TypeError(f"{written}: {name} is given twice")
        given[name] = value
    for name in given:
        if name in OF_SCRAPYS_PROCESS:
            raise TypeError(f"{name}: works only in Scrapy's process: scrapy crawl web -s {name}=…")
    unknown = given.keys() - known
    for name in sorted(unknown):
        meant = mistyped([name], known).get(name)
        raise TypeError(
            f"{name.lower()}: unknown setting{f'; did you mean {meant.lower()}?' if meant else ''}"
        )
    if "FOCUS_LANGUAGES" in given:
        given.setdefault("FRONTIER_PRIORITIZER", BY_LANGUAGE)
    if jobdir is not None:
        given["JOBDIR"] = fspath(jobdir)
    if "JOBDIR" in given:
        # the program may go to another folder meanwhile
        given["JOBDIR"] = str(Path(given["JOBDIR"]).absolute())
    else:
        given.setdefault("OUTPUTS", "")  # nothing is kept
    return given


def _checked(given: Mapping[str, Any]) -> CheckedSettings:
    """Return all settings as plain values. Raise SettingError."""
    defaults = {name: value for name, value in SCRAPYS.items() if value is not None}
    values = check({**defaults, **given}, given.__contains__)
    check_proxies(getproxies())
    outputs = values["OUTPUTS"]
    check_outputs(outputs, values, given.get("OUTPUTS"))
    check_contact(values)
    return with_values(
        values, {"LINK_LOG": not READ_LINKS.isdisjoint(outputs), "ROBOTSTXT_USER_AGENT": None}
    )


def _is_list(seeds: Seeds) -> bool:
    """Return whether these are files of seeds, and no URLs."""
    return isinstance(seeds, PathLike) or (isinstance(seeds, str) and "://" not in seeds)


def _list_of(seeds: Seeds, folder: Path) -> str:
    """Return the place of the list of seeds: URLs are written to the folder, to be resumed.

    The same URLs have the same file: the next run goes on behind those that were read.
    """
    if isinstance(seeds, PathLike) or _is_list(seeds):
        return str(seeds)
    if isinstance(seeds, str) and "," not in seeds:
        return seeds
    place = folder / "seeds"
    place.mkdir(parents=True, exist_ok=True)
    # Another crawl may write its own list here: the folder is locked only later.
    new = place / f"new-{os.getpid()}-{threading.get_ident()}"
    digest = blake2b(digest_size=8)
    try:
        with new.open("w", encoding="utf-8") as file:
            for url in (seeds,) if isinstance(seeds, str) else seeds:
                if not isinstance(url, str):
                    raise TypeError(f"seeds: {url!r} is not a URL")
                if has_credentials(url):  # before it is written
                    raise SeedError(f"{url_without_credentials(url)}: {CREDENTIALS}")
                line = f"{_LINE_ENDS.sub('', url).strip()}\n"
                digest.update(line.encode())
                file.write(line)
        if not new.stat().st_size:
            raise SeedError("no seeds: the list is empty")
        return str(new.replace(place / f"{digest.hexdigest()}.txt"))
    finally:
        new.unlink(missing_ok=True)


def _first(seeds: Iterable[str], limit: int, max_length: int) -> Iterator[str]:
    """Yield these lines up to the seed with which the limit is reached: there may be no last one.

    Lines without a seed do not count, as in every list.
    """
    good = 0
    for line in seeds:
        yield line
        with suppress(BadLineError):
            text = TextRows().seed(line)
            good += text is not None and bool(seed_url(text, max_length))
        if good >= limit:
            return


def _loop() -> asyncio.AbstractEventLoop:
    """Return the fastest event loop at hand."""
    try:
        for standard_stream in (0, 1, 2):
            os.fstat(standard_stream)
    except OSError:
        # A daemon has closed it. A socket may get its number, and uvloop aborts the program when it
        # closes a descriptor of such a number.
        return asyncio.new_event_loop()
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415 - it may be missing

    return uvloop.new_event_loop()


@atexit.register
def _stop_all() -> None:
    """Stop, at the end of the program, crawls whose iterators are still kept."""
    running = [*_RUNNING]
    for one in running:
        one.stop()
    for one in running:
        one.wait(raises=False)
