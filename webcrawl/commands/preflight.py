"""Finds everything that can be wrong before the first request: one line each, and the crawl does not start."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.misc import load_object

from webcrawl.adapter.dispatch import UnusableHandler, check_handlers
from webcrawl.adapter.scheduler import FrontierScheduler
from webcrawl.adapter.values import plain_values
from webcrawl.checks import SettingError
from webcrawl.crawl.assembly import assemble
from webcrawl.fastpath.names import ForeignScrapy
from webcrawl.fastpath.names import check as check_scrapy
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.errors import DnsFailed
from webcrawl.seeds import top1m
from webcrawl.seeds.errors import SeedError
from webcrawl.seeds.reader import Seeds
from webcrawl.store.errors import StoreError
from webcrawl.store.lock import Lock
from webcrawl.text.credentials import text_without_credentials
from webcrawl.urls.filters.scope import SCOPES
from webcrawl.urls.rules_file import RulesError
from webcrawl.verify.start import check_start

ARGUMENTS = ("seeds", "scope", "limit")
SCRAPYDS = "_job"  # given by scrapyd with every job
REASONS = (
    SettingError,
    RulesError,
    SeedError,
    StoreError,
    DnsFailed,
    top1m.CannotProvide,
    ForeignScrapy,
    UnusableHandler,
)


class CannotStart(Exception):  # noqa: N818 - reads as what it is
    """The reason why the crawl cannot start, in one line."""


def preflight(settings: BaseSettings, arguments: Mapping[str, str]) -> None:
    """Raises CannotStart. Downloads a missing seed list if possible; creates JOBDIR, or recovers it after a crash."""
    try:
        check_scrapy()
        _arguments(arguments)
        values = plain_values(settings)
        check_handlers(settings, values["FOREIGN_HANDLERS_ALLOWED"])
        with _quiet("webcrawl.seeds"):
            top1m.provide(arguments["seeds"], values["TOP1M_URL"])
            _seeds(arguments["seeds"], values["URL_MAX_LENGTH"])
        _folder(values, "web")
        _await(_name_servers(values["DNS_NAMESERVERS"]))
    except REASONS as error:
        raise CannotStart(_line(error)) from error


def preflight_spider(settings: BaseSettings, name: str) -> None:
    """The same for a spider of a user's, of whose arguments nothing is known: its settings and its JOBDIR."""
    try:
        spider = get_spider_loader(settings).load(name)
    except KeyError as error:
        known = ", ".join(sorted(get_spider_loader(settings).list()))
        raise CannotStart(f"{name!r}: no such spider; this project has {known or 'none'}") from error
    own = settings.copy()
    spider.update_settings(own)
    try:
        if issubclass(load_object(own["SCHEDULER"]), FrontierScheduler):
            check_scrapy()
            values = plain_values(own)
            check_handlers(own, values["FOREIGN_HANDLERS_ALLOWED"])
            _folder(values, name)
    except REASONS as error:
        raise CannotStart(_line(error)) from error


def _line(error: Exception) -> str:
    return text_without_credentials(" ".join(str(error).split()))


def _await(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine. asyncio.run would leave the thread without the loop that Scrapy asks for later."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silences a logger: the crawl logs the same messages again."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _arguments(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in ARGUMENTS and name != SCRAPYDS:
            raise CannotStart(f"-a {name}=…: unknown argument; allowed are {', '.join(ARGUMENTS)}")
    if not given.get("seeds", "").strip():
        raise CannotStart("no seeds: scrapy crawl web -a seeds=FILE[,FILE…]")
    if given.get("scope", "any") not in SCOPES:
        raise CannotStart(f"-a scope={given['scope']}: must be {', '.join(SCOPES)}")
    limit = given.get("limit", "1")
    if not (limit.isascii() and limit.isdecimal() and int(limit[:20])):
        raise CannotStart(f"-a limit={limit}: must be a whole number from 1")


def _seeds(src: str, max_length: int) -> None:
    seeds = Seeds(src, None, max_length)
    try:
        if next(seeds, None) is None:
            raise SeedError(f"{src}: no seeds, only comments and empty lines")
    finally:
        seeds.close()


def _folder(values: Mapping[str, Any], spider: str) -> None:
    """Opens everything in JOBDIR, which may be another process's or spider's, damaged, or of another version."""
    folder = Path(values["JOBDIR"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(f"JOBDIR = {folder}: cannot be created ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotStart(f"JOBDIR = {folder}: is not writable")
    try:
        _check(folder)
        with _quiet("webcrawl.crawl.terms"):
            crawl, _ = assemble(values, spider=spider)
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        raise CannotStart(f"JOBDIR = {folder}: {path}{error.strerror or error}") from error
    crawl.close()


def _check(folder: Path) -> None:
    """Looks for damage. Only with the lock: a running crawl changes its files while they are read."""
    state, log = folder / "state", folder / "logs" / "crawl.log"
    if not (state / "crawl.db").exists() and log.is_file() and log.stat().st_size:  # a new crawl would empty it
        raise CannotStart(
            f"{folder}/state/crawl.db: missing, but the logs of a crawl are there: restore it, or use another JOBDIR"
        )
    if not state.exists():
        return
    lock = Lock(state)
    try:
        lock.add(folder)
        for damage in check_start(folder):
            raise damage
    finally:
        lock.close()


async def _name_servers(servers: tuple[tuple[str, int], ...]) -> None:
    if not servers:
        return  # the system's: a crawl of addresses or by a hosts file needs none
    lookup = NameServers(servers, timeout=2.0, tries=2)  # as long as a user waits
    try:
        await lookup.probe()
    finally:
        await lookup.close()
