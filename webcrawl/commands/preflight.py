"""All that can be known to be wrong before the first request: each is one line, and the crawl does not begin."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings

from webcrawl.adapter.values import plain_values
from webcrawl.checks import SettingError
from webcrawl.crawl.assembly import assemble
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.errors import DnsFailed
from webcrawl.seeds import top1m
from webcrawl.seeds.errors import SeedError
from webcrawl.seeds.reader import Seeds
from webcrawl.store.errors import StoreError
from webcrawl.verify.start import check_start

ARGUMENTS = ("seeds", "scope", "limit")
SCRAPYDS = "_job"  # given by scrapyd with every job
SCOPES = ("any", "seeds", "domain", "host")


class CannotStart(Exception):  # noqa: N818 - reads as what it is
    """Why the crawl does not begin, in one line."""


def preflight(settings: BaseSettings, arguments: Mapping[str, str]) -> None:
    """Raises CannotStart. A list of seeds that can be had is fetched; JOBDIR is made, and recovered after a crash."""
    try:
        _arguments(arguments)
        values = plain_values(settings)
        with _quiet("webcrawl.seeds"):
            top1m.provide(arguments["seeds"], values["TOP1M_URL"])
            _seeds(arguments["seeds"], values["URL_MAX_LENGTH"])
        _folder(Path(values["JOBDIR"]), values)
        _await(_name_servers(values["DNS_NAMESERVERS"]))
    except (SettingError, SeedError, StoreError, DnsFailed, top1m.CannotProvide) as error:
        raise CannotStart(" ".join(str(error).split())) from error


def _await(work: Coroutine[Any, Any, None]) -> None:
    """Not by asyncio.run, which leaves the thread without the loop that Scrapy is going to ask for."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """The crawl itself is going to say the same again."""
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
            raise CannotStart(f"-a {name}=…: there is no such argument; known are {', '.join(ARGUMENTS)}")
    if not given.get("seeds", "").strip():
        raise CannotStart("no seeds: scrapy crawl web -a seeds=FILE[,FILE…]")
    if given.get("scope", "any") not in SCOPES:
        raise CannotStart(f"-a scope={given['scope']}: allowed is {', '.join(SCOPES)}")
    limit = given.get("limit", "1")
    if not (limit.isascii() and limit.isdecimal() and int(limit[:20])):
        raise CannotStart(f"-a limit={limit}: allowed is a whole number from 1")


def _seeds(src: str, max_length: int) -> None:
    seeds = Seeds(src, None, max_length)
    try:
        if next(seeds, None) is None:
            raise SeedError(f"{src}: has no seeds, only comments and empty lines")
    finally:
        seeds.close()


def _folder(folder: Path, values: Mapping[str, Any]) -> None:
    """Opens all that is there: it may be locked by another process, damaged, foreign, or of another version."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(f"JOBDIR = {folder}: cannot be made ({error.strerror})") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotStart(f"JOBDIR = {folder}: cannot be written to")
    for damage in check_start(folder):
        raise damage
    try:
        crawl, _ = assemble(values)
    except OSError as error:
        raise CannotStart(f"JOBDIR = {folder}: {error}") from error
    crawl.close()


async def _name_servers(servers: tuple[tuple[str, int], ...]) -> None:
    if not servers:
        return  # the system's: a crawl of addresses only, or by the hosts file, needs none
    lookup = NameServers(servers, timeout=2.0, tries=2)  # long enough for a person to wait
    try:
        await lookup.probe()
    finally:
        await lookup.close()
