"""Checks before the first request. What is wrong is one line, and the crawl does not start."""

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
from webcrawl.adapter.values import drop_unrequested_sitemaps, plain_values
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

    A missing seed list is downloaded if possible. `again`: the content of JOBDIR is kept beside it,
    and the crawl starts over. `agent_option` is the command's option for USER_AGENT, for a message.

    The arguments of a spider that is no WebSpider are not checked, because they are not known.
    Nothing is checked of a spider with another scheduler.
    """
    spiders_settings = settings.copy()
    spider.update_settings(spiders_settings)
    try:
        if not _has_own_scheduler(spiders_settings, spider):
            return
        check_scrapy()
        if issubclass(spider, WebSpider):
            _check_arguments(spider, arguments, seeds_from_server=has_server(spiders_settings))
            if "scope" in arguments:
                spiders_settings.set("URL_SCOPE", arguments["scope"], "cmdline")
        frontier = spider.frontier_of(arguments) if issubclass(spider, WebSpider) else None
        name = arguments.get("name", spider.name)
        values = _checked_values(spiders_settings, spider, name, frontier)
        _check_handlers(spiders_settings, values)
        check_feeds(spiders_settings)
        check_own_files(spiders_settings, Path(values["JOBDIR"]))
        if issubclass(spider, WebSpider):
            _check_pages(spider, arguments, values)
            # The user agent of any other spider is up to its project, as in Scrapy
            if not _are_private(list_paths(arguments.get("seeds", ""))):
                check_contact(values, agent_option)
        has_own_frontier = frontier is not None
        start = (
            None if has_own_frontier else _known_start(spiders_settings, spider, arguments, values)
        )
        folder = Path(values["JOBDIR"])
        # Before the folder is made or moved, so that a refusal changes nothing on disk
        is_new_crawl = again or not is_crawl(folder)
        if is_new_crawl:
            _check_surroundings(values)
        has_default_folder = not spiders_settings["JOBDIR"]
        anew = has_default_folder and _may_begin_anew(spiders_settings, spider, values)
        if again and values["HIVE_DRONES"]:
            from webcrawl.adapter.hive_membership import refuse_known  # noqa: PLC0415 - 0.1 s that other crawls need not spend

            _run_in_own_loop(refuse_known(spiders_settings, values, name))
        # The crawl that was here is put back if the new one cannot start
        with room_for(folder, again=again):
            fixed = on_command_line(spiders_settings)
            _check_folder(values, name, fixed, frontier, start, anew=anew)
        if not is_new_crawl:
            _check_surroundings(values)
    except REASONS as error:
        raise CannotStart(_one_line(error)) from error


def _has_own_scheduler(settings: BaseSettings, spider: type[Spider]) -> bool:
    """Return whether the crawl has webcrawl's scheduler.

    Raise CannotStart if a WebSpider has not.
    """
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
    """Raise CannotStart if a run over archives cannot start.

    It needs neither name servers nor seeds.
    """
    from webcrawl.adapter.archive_reading import check_outputs  # noqa: PLC0415 - crawls need not load what reads archives

    spiders_settings = settings.copy()
    spider.update_settings(spiders_settings)
    try:
        check_scrapy()
        values = plain_values(spiders_settings, spider.name)
        check_outputs(values)
        check_feeds(spiders_settings)
        check_own_files(spiders_settings, Path(values["JOBDIR"]))
        fixed = on_command_line(spiders_settings)
        _check_folder(values, spider.name, fixed, arguments=arguments)
        _check_ports(values)
    except REASONS as error:
        raise CannotStart(_one_line(error)) from error


def spider_named(settings: BaseSettings, name: str) -> type[Spider]:
    """Return the project's spider of this name.

    Raise CannotStart, with a hint, if there is none.
    """
    loader = _loader(settings)
    try:
        return loader.load(name)
    except KeyError as error:
        spiders = ", ".join(sorted(loader.list()))
        looks_like_site = "." in name and Path(name).suffix != ".py"
        hint = "for one of yours, name its module or package in -s SPIDER_MODULES="
        if looks_like_site:
            hint = f"to crawl a site, use: crawl http://{name}/"
        is_source_of_seeds = "://" in name or Path(name).is_file()
        if is_source_of_seeds:
            hint = f"to crawl from it, use: web -a seeds={name}"
        raise CannotStart(
            f"{name!r}: no such spider (this project has {spiders or 'none'}); {hint}"
        ) from error


def spider_names(settings: BaseSettings) -> list[str]:
    """Return the names of the project's spiders."""
    return list(_loader(settings).list())


def _loader(settings: BaseSettings) -> SpiderLoader:
    """Return the loader of the project's spiders.

    Raise CannotStart if a module of SPIDER_MODULES does not exist. Errors within a module are
    raised as they are.
    """
    try:
        kind: type[SpiderLoader] = load_object(
            read("SPIDER_LOADER_CLASS", settings["SPIDER_LOADER_CLASS"])
        )
        # Scrapy's own function would copy all settings first
        return kind.from_settings(settings)
    except SettingError as error:
        raise CannotStart(str(error)) from error
    except ModuleNotFoundError as error:
        modules = settings.getlist("SPIDER_MODULES")
        # Otherwise a module of the user's lacks one that it imports
        is_spider_module = any(f"{module}.".startswith(f"{error.name}.") for module in modules)
        if not is_spider_module:
            raise
        raise CannotStart(
            f"SPIDER_MODULES = {','.join(modules)}: there is no module {error.name}"
        ) from error


def preflight_crawler(
    settings: BaseSettings, spider: Spider, *, complete: bool, anew: bool
) -> None:
    """Raise CannotStart if a crawl of the add-on cannot start.

    `settings` include those of the spider and of add-ons. `complete`: raise NothingLeft if the
    crawl in JOBDIR is complete. `anew`: JOBDIR is not set, so a complete crawl is kept beside it,
    and the crawl starts over.
    """
    name = spider.name
    seeds = getattr(spider, "seed_lists", "")
    try:
        check_scrapy()
        values = _checked_values(settings, spider, name)
        if runs_here(Path(values["JOBDIR"])):
            raise in_use_here(values["JOBDIR"])
        _check_handlers(settings, values)
        check_feeds(settings)
        check_own_files(settings, Path(values["JOBDIR"]))
        if isinstance(spider, WebSpider):
            _refuse_allowed_domains(spider)
        if seeds:
            _check_seed_lists(seeds, values)
        urls = start_urls_of(type(spider)) if complete and not seeds else None
        start = KnownStart(urls=urls, anew="") if urls is not None else None
        anew = anew and _may_begin_anew(settings, type(spider), values)
        _check_folder(
            values,
            name,
            on_command_line(settings),
            start=start,
            anew=anew,
            arguments=share_of(getattr(spider, "shard", None)),
        )
        _check_ports(values)
    except REASONS as error:
        raise CannotStart(_one_line(error)) from error


def _checked_values(
    settings: BaseSettings,
    spider: type[Spider] | Spider,
    name: str,
    frontier: OwnFrontier | None = None,
) -> CheckedSettings:
    """Return the checked settings as the scheduler will have them. Raise SettingError."""
    values = plain_values(settings, name)
    if frontier is not None or not getattr(spider, "makes_pages", False):
        drop_unrequested_sitemaps(values)
    return values


def _check_handlers(settings: BaseSettings, values: CheckedSettings) -> None:
    """Raise UnusableHandler or SettingError if a handler, HTTP/2 or the browser cannot be used."""
    check_handlers(settings, values["FOREIGN_HANDLERS_ALLOWED"])
    if values["HTTP2"] == PREFER:
        reason = without_http2_library()
        if reason:
            raise SettingError("HTTP2", PREFER, "needed or off", reason)
    has_rendering = values["RENDER_ACTIONS"] or values["RENDER_VIEWS"]
    if values["RENDER"] != OFF or has_rendering:
        from webcrawl.adapter.rendering_check import check_rendering  # noqa: PLC0415 - other crawls need no browser

        check_rendering(settings, values)


def _one_line(error: Exception) -> str:
    """Return the message of an error as one line, without credentials."""
    return text_without_credentials(" ".join(str(error).split()))


def _run_in_own_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end. asyncio.run would leave the thread without the loop Scrapy needs."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    """Silence a logger while the context is open, because the crawl logs the same messages later."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class ArgumentRule(NamedTuple):
    """A test of the values of an argument of `-a`, and the message for those that fail it."""

    name: str
    is_allowed: Callable[[str], bool]
    refusal: str  # {} stands for the value


def _is_whole_from_1(text: str) -> bool:
    # Only 20 digits, because Python refuses to read a number of thousands of digits
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


def _check_argument_names(spider: type[WebSpider], arguments: Mapping[str, str]) -> None:
    known_names = spider.known_arguments()
    for name in arguments:
        if name not in known_names and name != JOB:
            raise CannotStart(
                f"-a {name}=…: unknown argument; allowed are {', '.join(known_names)}"
            )


def _check_arguments(
    spider: type[WebSpider], arguments: Mapping[str, str], *, seeds_from_server: bool
) -> None:
    """Raise CannotStart if an argument of `-a` is unknown, wrong or missing.

    `seeds_from_server`: a Redis server supplies seeds, so the argument `seeds` may be missing.
    """
    _check_argument_names(spider, arguments)
    has_seeds = arguments.get("seeds", "").strip() != "" or seeds_from_server
    if not has_seeds and spider.needs_seeds():
        raise CannotStart(
            "no seeds: give -a seeds= a file or a URL, or several separated by commas"
        )
    _refuse_allowed_domains(spider)
    for rule in ARGUMENT_RULES:
        if rule.name in arguments and not rule.is_allowed(arguments[rule.name]):
            raise CannotStart(rule.refusal.format(arguments[rule.name]))


def _refuse_allowed_domains(spider: type[Spider] | Spider) -> None:
    if getattr(spider, "allowed_domains", None):
        raise CannotStart(
            f"{spider.name}: allowed_domains has no effect here: use -a scope=, URL_SCOPE or URL_INCLUDE"
        )


def _check_since(argument: str, jobdir: Path) -> None:
    """Raise CannotStart if an earlier crawl that `-a since=` names cannot be compared with.

    Warn of parts of earlier crawls that are only in a store, and are not read there.
    """
    from webcrawl.record.since.cdx_server import CdxServerError  # noqa: PLC0415 - few crawls have earlier ones
    from webcrawl.record.since.sources import NoEarlier  # noqa: PLC0415 - as above

    store_warnings = _unread_stores(argument)
    try:
        _check_earlier(argument, jobdir)
    except (NoEarlier, CdxServerError) as error:
        raise CannotStart("; ".join((_one_line(error), *store_warnings))) from error
    for line in store_warnings:
        logger.warning("since: %s", line)


def _unread_stores(argument: str) -> list[str]:
    """Return a line for each store that has a part of an earlier crawl, which is not read there."""
    from webcrawl.record.objectstore.storing import notices_of_unread_files  # noqa: PLC0415 - as above
    from webcrawl.store.jobdir.index_line import ARCHIVE, INDEX  # noqa: PLC0415 - as above

    lines: list[str] = []
    for part in argument.split(","):
        folder = part.strip()
        if not folder or not Path(folder).is_dir():
            continue
        for crawl in crawls_of(Path(folder)):
            lines += notices_of_unread_files(crawl, "warc", (ARCHIVE, INDEX))
    return lines


def _check_earlier(argument: str, jobdir: Path) -> None:
    """Raise NoEarlier if an earlier crawl cannot be read, or CdxServerError if a server is away."""
    from webcrawl.record.since.cdx_server import CdxServer  # noqa: PLC0415 - as above
    from webcrawl.record.since.index import check_has_captures  # noqa: PLC0415 - as above
    from webcrawl.record.since.sources import sources  # noqa: PLC0415 - as above

    found = sources(argument, jobdir)
    if not found.servers:
        check_has_captures(found.files)
    is_resumed = any(map(is_crawl, crawls_of(jobdir)))
    # Only a new crawl needs servers that answer
    if is_resumed:
        return
    for address in found.servers:
        with closing(CdxServer(address, "")) as server:
            server.check()


def _check_pages(
    spider: type[WebSpider], arguments: Mapping[str, str], values: CheckedSettings
) -> None:
    """Check the seeds and earlier crawls of a WebSpider.

    Apply its argument `follow` to the settings.
    """
    if "follow" in arguments:
        values["URL_FOLLOW"] = arguments["follow"] == "1"
    _check_seeds(spider, arguments, values)
    if arguments.get("since"):
        _check_since(arguments["since"], Path(values["JOBDIR"]))


def _are_private(seeds: Sequence[str]) -> bool:
    """Return whether all seeds are URLs of private networks, whose owner knows who crawls."""
    return bool(seeds) and all(
        is_url(seed) and _is_private(urlsplit(seed).hostname or "") for seed in seeds
    )


def _is_private(host: str) -> bool:
    """Return whether the host is one that only PRIVATE_NETWORKS_ALLOWED lets the crawl reach."""
    is_local_name = host == "localhost" or host.endswith(".localhost")
    return is_local_name or AddressGuard().reason(host) not in ("", NO_ADDRESS)


def _check_seeds(
    spider: type[WebSpider], arguments: Mapping[str, str], values: CheckedSettings
) -> None:
    """Raise SeedError if the seeds have no valid URL, or CannotStart if the scope needs seeds."""
    seeds_argument = arguments.get("seeds")
    if seeds_argument:
        _check_seed_lists(seeds_argument, values)
    elif getattr(spider, "start_urls", None) and values["URL_SCOPE"] == "seeds":
        raise CannotStart(
            "scope=seeds: start_urls are not seeds: give -a seeds=FILE, or another scope"
        )


def _check_seed_lists(seeds_argument: str, values: CheckedSettings) -> None:
    """Raise SeedError if the seeds have no valid URL.

    Download the top-million list if it is missing.
    """
    with _silenced("webcrawl.urls.seeds"):
        top1m.provide(seeds_argument, values["TOP1M_URL"])
        with closing(Seeds(seeds_argument, None, values["URL_MAX_LENGTH"])) as seeds:
            # Raises SeedError if there is none
            next(seeds)


class KnownStart(NamedTuple):
    """The seeds of a crawl, or its spider's own URLs, as far as they are known before the run."""

    seeds: str = ""
    limit: int | None = None
    urls: Sequence[str] = ()
    anew: str = ", or --fresh"  # for a message: the command's option to start over


def _known_start(
    settings: BaseSettings,
    spider: type[Spider],
    arguments: Mapping[str, str],
    values: CheckedSettings,
) -> KnownStart | None:
    """Return what the crawl begins with, or None if only its run can tell."""
    if _shares_urls(settings, values):
        return None
    if not issubclass(spider, WebSpider):
        urls = start_urls_of(spider)
        return KnownStart(urls=urls) if urls is not None else None
    seeds = arguments.get("seeds")
    if not seeds or not spider.needs_seeds():
        return None
    limit = arguments.get("limit")
    return KnownStart(seeds, int(limit) if limit else None)


def _shares_urls(settings: BaseSettings, values: CheckedSettings) -> bool:
    """Return whether URLs may come from outside: a server of seeds, or other drones of a hive."""
    return has_server(settings) or bool(values["HIVE_DRONES"])


def start_urls_of(spider: type[Spider]) -> list[str] | None:
    """Return the URLs that the spider begins with, or None if only its run can tell them."""
    has_own_start = spider.start is not Spider.start or hasattr(spider, "start_requests")
    # Both may set `start_urls` from the arguments
    has_own_constructor = spider.__init__ is not Spider.__init__
    has_own_maker = spider.from_crawler.__func__ is not Spider.from_crawler.__func__  # type: ignore[attr-defined]
    if has_own_start or has_own_constructor or has_own_maker:
        return None
    urls = getattr(spider, "start_urls", None)
    return list(urls) if urls else None


def _may_begin_anew(settings: BaseSettings, spider: type[Spider], values: CheckedSettings) -> bool:
    """Return whether a run after a complete crawl starts over, as the user of a Scrapy spider expects."""
    return not (_shares_urls(settings, values) or issubclass(spider, WebSpider))


def _check_folder(
    values: CheckedSettings,
    spider: str,
    fixed: Collection[str],
    frontier: OwnFrontier | None = None,
    start: KnownStart | None = None,
    *,
    anew: bool = False,
    arguments: Mapping[str, object] | None = None,
) -> None:
    """Make JOBDIR if it is missing, and open all of it once, to find out whether the crawl can use it.

    It may be in use, damaged, of another spider or of another version. `anew`: if the crawl there
    is complete, it is kept beside JOBDIR, and another one begins. `arguments` are the spider's, if
    JOBDIR must be refused for others. Raise CannotStart, or an error of REASONS.
    """
    folder = Path(values["JOBDIR"])
    make_folder(folder)
    # Opening the state twice costs a fiftieth of a start, and turns a traceback into one line
    try:
        check_folder(folder)
        with _silenced("webcrawl"):
            seeds = None
            if start is not None and start.seeds:
                seeds = Seeds(start.seeds, start.limit, values["URL_MAX_LENGTH"])
            surroundings = Surroundings(seeds=seeds, fixed=fixed, frontier=frontier)
            crawl, _ = assemble(values, surroundings, spider=spider, arguments=arguments)
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        raise CannotStart(f"JOBDIR = {folder}: {path}{error.strerror or error}") from error
    # A complete crawl may still have files to copy to the store
    has_store = values["OUTPUT_STORE"] is not None
    begins_anew = False
    with closing(crawl), _silenced("webcrawl"):
        if anew:
            is_done = is_complete(folder, crawl)
            begins_anew = is_done and (not has_store or is_stored(crawl))
        elif start is not None and not has_store:
            has_index = "index" in values["OUTPUTS"]
            refuse_complete(folder, crawl, start.urls, anew=start.anew, has_index=has_index)
    if begins_anew:
        put_complete_beside(folder)


def _check_surroundings(values: CheckedSettings) -> None:
    """Check that name servers answer and ports are free. Raise DnsFailed or CannotListen."""
    _run_in_own_loop(_check_name_servers(values["DNS_LOOKUP"], values["DNS_NAMESERVERS"]))
    _check_ports(values)


def _check_ports(values: CheckedSettings) -> None:
    """Raise CannotListen if a port is taken. The crawl itself binds them when it runs."""
    if values["METRICS_PORT"] is not None:
        host, port = values["METRICS_PORT"]
        bound(host, port, "METRICS_PORT").close()
    if values["WEBSUB_PORT"] is not None:
        bound(*websub.listening_place(values), "WEBSUB_PORT").close()


async def _check_name_servers(path: str, servers: tuple[tuple[str, int], ...]) -> None:
    """Check that DNS_LOOKUP makes a Lookup, and that one of DNS_NAMESERVERS answers.

    Raise DnsFailed if none answers.
    """
    make = load(path)
    # What a function makes is checked below, if there are servers
    if isinstance(make, type):
        require("DNS_LOOKUP", path, make, Lookup)
    # Not the system's own servers: a crawl of addresses, or by a hosts file, needs none
    if not servers:
        return
    start_threads()
    lookup: Lookup
    if make is NameServers:
        # With less patience than the crawl has, because the user waits
        lookup = NameServers(servers, timeout=2.0, tries=2)
    else:
        lookup = made("DNS_LOOKUP", path, Lookup, servers)
    try:
        await lookup.probe()
    finally:
        await lookup.close()
