"""Finds what is wrong before the first request: a line says it, and the crawl does not start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.settings import BaseSettings
from scrapy.spiderloader import SpiderLoader
from scrapy.utils.misc import load_object

from webcrawl.adapter.extensions import websub
from webcrawl.adapter.fastpath.names import ForeignScrapy
from webcrawl.adapter.fastpath.names import check as check_scrapy
from webcrawl.adapter.feeds import BadFeed, check_feeds, check_own_files
from webcrawl.adapter.foreign_handlers import UnusableHandler, check_handlers
from webcrawl.adapter.scheduler import FrontierScheduler, in_use_here, runs_here
from webcrawl.adapter.server_settings import has_server
from webcrawl.adapter.spiders.web import WebSpider
from webcrawl.adapter.user_settings import on_command_line
from webcrawl.adapter.values import drop_unasked_sitemaps, plain_values
from webcrawl.base.errors import CannotStart, RulesError
from webcrawl.base.loading import load
from webcrawl.base.own_code import made, require
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.settings.crawl_settings import OFF
from webcrawl.crawl.assembly import assemble
from webcrawl.crawl.checks import SettingError, check_contact, read
from webcrawl.crawl.default_jobdir import JOB
from webcrawl.crawl.finished_crawl import (
    is_complete,
    is_stored,
    put_complete_beside,
    refuse_complete,
    room_for,
)
from webcrawl.crawl.ground import OwnFrontier, Surroundings
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.job_folder import check_folder, make_folder
from webcrawl.crawl.last_run import share_of
from webcrawl.net.connection_open import PREFER
from webcrawl.net.dns_answers import Lookup
from webcrawl.net.dns_cares import NameServers
from webcrawl.net.errors import DnsFailed
from webcrawl.net.failure_words import without_http2_library
from webcrawl.net.guard import NO_ADDRESS, AddressGuard
from webcrawl.net.http_answerer import CannotListen, bound
from webcrawl.net.thread_start import start_threads
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of, is_crawl
from webcrawl.urls.filters.scope import SCOPES
from webcrawl.urls.seeds import top1m
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import SeedError, is_url, list_paths

logger = logging.getLogger(__name__)

REASONS = (
    SettingError,
    RulesError,
    SeedError,
    StoreError,
    HiveError,
    DnsFailed,
    top1m.CannotProvide,
    ForeignScrapy,
    BadFeed,
    UnusableHandler,
    CannotListen,
)


def preflight(
    settings: BaseSettings,
    spider: type[Spider],
    arguments: Mapping[str, str],
    *,
    again: bool = False,
    agent_option: str = "-s USER_AGENT=",
) -> None:
    """Raise CannotStart if the crawl cannot start; create JOBDIR, or recover it after a crash.

    A missing seed list is downloaded if possible. `again`: what JOBDIR holds is kept beside it, and
    the crawl begins anew. `agent_option`: the option of the command that says who crawls.

    The arguments of a spider that is no WebSpider are not checked, for they are not known; nor is
    anything of a spider with another scheduler.
    """
    own = settings.copy()
    spider.update_settings(own)
    try:
        if not _has_own_scheduler(own, spider):
            return
        check_scrapy()
        if issubclass(spider, WebSpider):
            _check_arguments(spider, arguments, elsewhere=has_server(own))
            if "scope" in arguments:
                own.set("URL_SCOPE", arguments["scope"], "cmdline")
        frontier = spider.frontier_of(arguments) if issubclass(spider, WebSpider) else None
        values = _values(own, spider, arguments.get("name", spider.name), frontier)
        _handlers(own, values)
        check_feeds(own)
        check_own_files(own, Path(values["JOBDIR"]))
        if issubclass(spider, WebSpider):
            _pages(spider, arguments, values)
            # other spiders are their projects' own, whose user agent Scrapy leaves to them
            if not _are_private(list_paths(arguments.get("seeds", ""))):
                check_contact(values, agent_option)
        start = _start(own, spider, arguments, values) if frontier is None else None
        folder = Path(values["JOBDIR"])
        # A refusal leaves no new folder, and the old one in its place
        first = again or not is_crawl(folder)
        if first:
            _surroundings(values)
        anew = not own["JOBDIR"] and _may_begin_anew(own, spider, values)
        name = arguments.get("name", spider.name)
        if again and values["HIVE_DRONES"]:
            from webcrawl.adapter.hive_membership import refuse_known  # noqa: PLC0415 - 0.1 s that other crawls need not spend

            _await(refuse_known(own, values, name))
        # The crawl that was here is put back if the new one cannot start
        with room_for(folder, again=again):
            _folder(values, name, on_command_line(own), frontier, start, anew=anew)
        if not first:
            _surroundings(values)
    except REASONS as error:
        raise CannotStart(_line(error)) from error


def _has_own_scheduler(settings: BaseSettings, spider: type[Spider]) -> bool:
    """Return whether the crawl has webcrawl's scheduler. Raise CannotStart if a WebSpider has not."""
    scheduler = settings["SCHEDULER"]
    if issubclass(load_object(read("SCHEDULER", scheduler)), FrontierScheduler):
        return True
    if issubclass(spider, WebSpider):
        raise CannotStart(
            f"SCHEDULER = {scheduler!r}: {spider.name} needs webcrawl's own scheduler"
        )
    return False


def preflight_rereading(
    settings: BaseSettings, spider: type[Spider], arguments: Mapping[str, object]
) -> None:
    """Check a run over archives: no name server is asked, no seeds are read.

    Raise CannotStart if it cannot start.
    """
    from webcrawl.adapter.archive_reading import check_outputs  # noqa: PLC0415 - crawls need not load what reads archives

    own = settings.copy()
    spider.update_settings(own)
    try:
        check_scrapy()
        values = plain_values(own, spider.name)
        check_outputs(values)
        check_feeds(own)
        check_own_files(own, Path(values["JOBDIR"]))
        _folder(values, spider.name, on_command_line(own), arguments=arguments)
        _ports(values)
    except REASONS as error:
        raise CannotStart(_line(error)) from error


def spider_named(settings: BaseSettings, name: str) -> type[Spider]:
    """Return the spider of the project that has this name. Raise CannotStart if none has it."""
    loader = _loader(settings)
    try:
        return loader.load(name)
    except KeyError as error:
        known = ", ".join(sorted(loader.list()))
        is_site = "." in name and Path(name).suffix != ".py"
        own = "for one of yours, name its module or package in -s SPIDER_MODULES="
        hint = f"to crawl a site, use: crawl http://{name}/" if is_site else own
        raise CannotStart(
            f"{name!r}: no such spider (this project has {known or 'none'}); {hint}"
        ) from error


def spider_names(settings: BaseSettings) -> list[str]:
    """Return the names of the project's spiders."""
    return list(_loader(settings).list())


def _loader(settings: BaseSettings) -> SpiderLoader:
    try:
        kind: type[SpiderLoader] = load_object(
            read("SPIDER_LOADER_CLASS", settings["SPIDER_LOADER_CLASS"])
        )
        # Scrapy's own function copies all settings first
        return kind.from_settings(settings)
    except SettingError as error:
        raise CannotStart(str(error)) from error
    except ModuleNotFoundError as error:
        modules = settings.getlist("SPIDER_MODULES")
        is_spider_module = any(f"{module}.".startswith(f"{error.name}.") for module in modules)
        if not is_spider_module:
            # A module of the user's lacks another one
            raise
        raise CannotStart(
            f"SPIDER_MODULES = {','.join(modules)}: there is no module {error.name}"
        ) from error


def preflight_crawler(
    settings: BaseSettings, spider: Spider, *, complete: bool, anew: bool
) -> None:
    """Check a crawl whose settings have those of its spider and of add-ons. Raise CannotStart.

    `complete`: raise NothingLeft too. `anew`: no JOBDIR is given, so that a complete crawl is kept
    beside.
    """
    name = spider.name
    seeds = getattr(spider, "seed_lists", "")
    try:
        check_scrapy()
        values = _values(settings, spider, name)
        if runs_here(Path(values["JOBDIR"])):
            raise in_use_here(values["JOBDIR"])
        _handlers(settings, values)
        check_feeds(settings)
        check_own_files(settings, Path(values["JOBDIR"]))
        if isinstance(spider, WebSpider):
            _refuse_allowed_domains(spider)
        if seeds:
            _lists(seeds, values)
        urls = start_urls_of(type(spider)) if complete and not seeds else None
        start = KnownBeginning(urls=urls, anew="") if urls is not None else None
        anew = anew and _may_begin_anew(settings, type(spider), values)
        _folder(
            values,
            name,
            on_command_line(settings),
            start=start,
            anew=anew,
            arguments=share_of(getattr(spider, "shard", None)),
        )
        _ports(values)
    except REASONS as error:
        raise CannotStart(_line(error)) from error


def _values(
    settings: BaseSettings,
    spider: type[Spider] | Spider,
    name: str,
    frontier: OwnFrontier | None = None,
) -> CheckedSettings:
    """Return the settings as the scheduler has them."""
    values = plain_values(settings, name)
    if frontier is not None or not getattr(spider, "makes_pages", False):
        drop_unasked_sitemaps(values)
    return values


def _handlers(settings: BaseSettings, values: CheckedSettings) -> None:
    check_handlers(settings, values["FOREIGN_HANDLERS_ALLOWED"])
    if values["HTTP2"] == PREFER and (why := without_http2_library()):
        raise SettingError("HTTP2", PREFER, "needed or off", why)
    has_rendering = values["RENDER_ACTIONS"] or values["RENDER_VIEWS"]
    if values["RENDER"] != OFF or has_rendering:
        from webcrawl.adapter.rendering_check import check_rendering  # noqa: PLC0415 - other crawls need no browser

        check_rendering(settings, values)


def _line(error: Exception) -> str:
    return text_without_credentials(" ".join(str(error).split()))


def _await(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine. asyncio.run would leave the thread without the loop that Scrapy needs."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silence a logger: the crawl logs the same messages again."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class ArgumentRule(NamedTuple):
    """The values that an argument of `-a` may have, and the line that refuses another."""

    name: str
    is_allowed: Callable[[str], bool]
    refusal: str  # {} stands for the value


def _is_whole_from_1(text: str) -> bool:
    # Python refuses to read a number of thousands of digits
    return text.isascii() and text.isdecimal() and int(text[:20]) > 0


ARGUMENT_RULES = (
    ArgumentRule(
        "scope", lambda scope: scope in SCOPES, f"-a scope={{}}: must be {', '.join(SCOPES)}"
    ),
    ArgumentRule("follow", lambda follow: follow in ("0", "1"), "-a follow={}: must be 0 or 1"),
    ArgumentRule(
        "since",
        lambda since: since.strip(" ,") != "",
        "-a since=: must name an earlier crawl: its JOBDIR, an index file or cdx+http://…",
    ),
    ArgumentRule("limit", _is_whole_from_1, "-a limit={}: must be a whole number from 1"),
)


def _check_argument_names(spider: type[WebSpider], given: Mapping[str, str]) -> None:
    known = spider.known_arguments()
    for name in given:
        if name not in known and name != JOB:
            raise CannotStart(f"-a {name}=…: unknown argument; allowed are {', '.join(known)}")


def _check_arguments(spider: type[WebSpider], given: Mapping[str, str], *, elsewhere: bool) -> None:
    """Raise CannotStart if an argument is wrong or missing.

    `elsewhere`: whether a server supplies seeds.
    """
    _check_argument_names(spider, given)
    has_seeds = given.get("seeds", "").strip() != "" or elsewhere
    if not has_seeds and spider.needs_seeds():
        raise CannotStart(
            "no seeds: give -a seeds= a file or a URL, or several separated by commas"
        )
    _refuse_allowed_domains(spider)
    for rule in ARGUMENT_RULES:
        if rule.name in given and not rule.is_allowed(given[rule.name]):
            raise CannotStart(rule.refusal.format(given[rule.name]))


def _refuse_allowed_domains(spider: type[Spider] | Spider) -> None:
    if getattr(spider, "allowed_domains", None):
        raise CannotStart(
            f"{spider.name}: allowed_domains has no effect here: use -a scope=, URL_SCOPE or URL_INCLUDE"
        )


def _check_since(argument: str, jobdir: Path) -> None:
    """Raise CannotStart if the earlier crawls that `-a since=` names cannot be compared with."""
    from webcrawl.record.since.cdx_server import CdxServerError  # noqa: PLC0415 - few crawls have earlier ones
    from webcrawl.record.since.sources import NoEarlier  # noqa: PLC0415 - as above

    unread = _unread_stores(argument)
    try:
        _check_earlier(argument, jobdir)
    except (NoEarlier, CdxServerError) as error:
        raise CannotStart("; ".join((_line(error), *unread))) from error
    for line in unread:
        logger.warning("since: %s", line)


def _unread_stores(argument: str) -> list[str]:
    """Return a line for each store that has a part of an earlier crawl, which is not read there."""
    from webcrawl.record.objectstore.storing import not_looked_at  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.index_line import ARCHIVE, INDEX  # noqa: PLC0415 - as above

    lines: list[str] = []
    for part in argument.split(","):
        folder = part.strip()
        if not folder or not Path(folder).is_dir():
            continue
        for crawl in crawls_of(Path(folder)):
            lines += not_looked_at(crawl, "warc", (ARCHIVE, INDEX))
    return lines


def _check_earlier(argument: str, jobdir: Path) -> None:
    """Raise NoEarlier if an earlier crawl cannot be read, NoAnswer if a server is away."""
    from webcrawl.record.since.cdx_server import CdxServer  # noqa: PLC0415 - as above
    from webcrawl.record.since.index import check  # noqa: PLC0415 - as above
    from webcrawl.record.since.sources import sources  # noqa: PLC0415 - as above

    found = sources(argument, jobdir)
    if not found.servers:
        check(found.files)
    is_resumed = any(map(is_crawl, crawls_of(jobdir)))
    # Only a new crawl needs servers that answer
    if is_resumed:
        return
    for address in found.servers:
        with closing(CdxServer(address, "")) as server:
            server.check()


def _pages(spider: type[WebSpider], arguments: Mapping[str, str], values: CheckedSettings) -> None:
    """Check what a crawl that makes pages needs beside its settings."""
    if "follow" in arguments:
        values["URL_FOLLOW"] = arguments["follow"] == "1"
    _seeds(spider, arguments, values)
    if arguments.get("since"):
        _check_since(arguments["since"], Path(values["JOBDIR"]))


def _are_private(seeds: Sequence[str]) -> bool:
    """Return whether all seeds are URLs of private networks, where it is known who crawls."""
    return bool(seeds) and all(
        is_url(seed) and _is_private(urlsplit(seed).hostname or "") for seed in seeds
    )


def _is_private(host: str) -> bool:
    """Return whether the crawl goes there only where PRIVATE_NETWORKS_ALLOWED lets it."""
    is_local_name = host == "localhost" or host.endswith(".localhost")
    return is_local_name or AddressGuard().reason(host) not in ("", NO_ADDRESS)


def _seeds(spider: type[WebSpider], arguments: Mapping[str, str], values: CheckedSettings) -> None:
    src = arguments.get("seeds")
    if src:
        _lists(src, values)
    elif getattr(spider, "start_urls", None) and values["URL_SCOPE"] == "seeds":
        raise CannotStart(
            "scope=seeds: start_urls are not seeds: give -a seeds=FILE, or another scope"
        )


def _lists(src: str, values: CheckedSettings) -> None:
    with _quiet("webcrawl.urls.seeds"):
        top1m.provide(src, values["TOP1M_URL"])
        with closing(Seeds(src, None, values["URL_MAX_LENGTH"])) as seeds:
            # It raises SeedError if there is none
            next(seeds)


class KnownBeginning(NamedTuple):
    """The beginning of a crawl that is known before it runs: seeds, or a spider's own URLs."""

    seeds: str = ""
    limit: int | None = None
    urls: Sequence[str] = ()
    anew: str = ", or --fresh"  # the option of the command that is run


def _start(
    settings: BaseSettings,
    spider: type[Spider],
    arguments: Mapping[str, str],
    values: CheckedSettings,
) -> KnownBeginning | None:
    """Return the beginning of the crawl, or None if only its run can tell what is left."""
    if _shares_urls(settings, values):
        return None
    if not issubclass(spider, WebSpider):
        urls = start_urls_of(spider)
        return KnownBeginning(urls=urls) if urls is not None else None
    seeds = arguments.get("seeds")
    if not seeds or not spider.needs_seeds():
        return None
    limit = arguments.get("limit")
    return KnownBeginning(seeds, int(limit) if limit else None)


def _shares_urls(settings: BaseSettings, values: CheckedSettings) -> bool:
    """Return whether others may give the crawl URLs: a server of seeds, or the drones of a hive."""
    return has_server(settings) or bool(values["HIVE_DRONES"])


def start_urls_of(spider: type[Spider]) -> list[str] | None:
    """Return the URLs that the spider begins with, or None if only its run can tell them."""
    has_own_start = spider.start is not Spider.start or hasattr(spider, "start_requests")
    # They may set `start_urls`, by the arguments
    has_own_constructor = spider.__init__ is not Spider.__init__
    has_own_maker = spider.from_crawler.__func__ is not Spider.from_crawler.__func__  # type: ignore[attr-defined]
    if has_own_start or has_own_constructor or has_own_maker:
        return None
    urls = getattr(spider, "start_urls", None)
    return list(urls) if urls else None


def _may_begin_anew(settings: BaseSettings, spider: type[Spider], values: CheckedSettings) -> bool:
    """Return whether the user expects the spider to crawl each time, as in plain Scrapy."""
    return not (_shares_urls(settings, values) or issubclass(spider, WebSpider))


def _folder(
    values: CheckedSettings,
    spider: str,
    fixed: Collection[str],
    frontier: OwnFrontier | None = None,
    start: KnownBeginning | None = None,
    *,
    anew: bool = False,
    arguments: Mapping[str, object] | None = None,
) -> None:
    """Open all of JOBDIR: it may be another process's or spider's, damaged, or of another version.

    `anew`: if the crawl there is complete, it is kept beside, and another one begins. `arguments`:
    of the spider, if the folder may be refused because of them.
    """
    folder = Path(values["JOBDIR"])
    make_folder(folder, spider)
    # To open the state once more is a fiftieth of a start, and turns a traceback into one line
    try:
        check_folder(folder)
        with _quiet("webcrawl"):
            seeds = None
            if start is not None and start.seeds:
                seeds = Seeds(start.seeds, start.limit, values["URL_MAX_LENGTH"])
            around = Surroundings(seeds=seeds, fixed=fixed, frontier=frontier)
            crawl, _ = assemble(values, around, spider=spider, arguments=arguments)
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        raise CannotStart(f"JOBDIR = {folder}: {path}{error.strerror or error}") from error
    # Files may be left to copy to it
    has_store = values["OUTPUT_STORE"] is not None
    begins_anew = False
    with closing(crawl), _quiet("webcrawl"):
        if anew:
            is_done = is_complete(folder, crawl)
            begins_anew = is_done and (not has_store or is_stored(crawl))
        elif start is not None and not has_store:
            has_index = "index" in values["OUTPUTS"]
            refuse_complete(folder, crawl, start.urls, anew=start.anew, has_index=has_index)
    if begins_anew:
        put_complete_beside(folder)


def _surroundings(values: CheckedSettings) -> None:
    """Check what the crawl needs of others: name servers that answer, ports that are free."""
    _await(_name_servers(values["DNS_LOOKUP"], values["DNS_NAMESERVERS"]))
    _ports(values)


def _ports(values: CheckedSettings) -> None:
    """Raise CannotListen if a port is taken. The crawl itself binds them when it runs."""
    if values["METRICS_PORT"] is not None:
        host, port = values["METRICS_PORT"]
        bound(host, port, "METRICS_PORT").close()
    if values["WEBSUB_PORT"] is not None:
        bound(*websub.place(values), "WEBSUB_PORT").close()


async def _name_servers(path: str, servers: tuple[tuple[str, int], ...]) -> None:
    make = load(path)
    # A function is asked what it makes where there are servers to ask
    if isinstance(make, type):
        require("DNS_LOOKUP", path, make, Lookup)
    if not servers:
        # The system's servers: a crawl of addresses or by a hosts file needs none
        return
    start_threads()
    lookup: Lookup
    if make is NameServers:
        # no longer than a user waits
        lookup = NameServers(servers, timeout=2.0, tries=2)
    else:
        lookup = made("DNS_LOOKUP", path, Lookup, servers)
    try:
        await lookup.probe()
    finally:
        await lookup.close()
