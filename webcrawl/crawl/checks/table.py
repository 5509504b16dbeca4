"""The kind of value of every setting of the table (`webcrawl.base.settings`), and rules between two settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.base.settings import SETTINGS
from webcrawl.base.settings.setting_kinds import (
    DAY,
    MANY,
    Choice,
    Choices,
    Kind,
    Maybe,
    Number,
    StatusCodes,
    Switch,
    Whole,
)
from webcrawl.crawl.checks.names import (
    NONE,
    Component,
    ComponentList,
    Components,
    Dotted,
    DottedList,
    Expressions,
    Extensions,
    Filters,
    Languages,
    LinkSources,
    Outputs,
    OutputStore,
    PartitionWay,
    Purposes,
    RevisitPolicy,
)
from webcrawl.crawl.checks.places import (
    OF_ONE,
    TLS_VERSION,
    AgentOrigin,
    CallbackAddress,
    Ciphers,
    File,
    Folder,
    HostConnections,
    KeyFile,
    LocalAddress,
    MailAddress,
    MarksFile,
    MetricsFile,
    MetricsPort,
    Networks,
    PortRanges,
    Servers,
)
from webcrawl.urls.canonical import SCHEMES
from webcrawl.urls.filters.scope import SCOPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"  # the clients run on its event loop

NAMED: dict[str, Kind] = {  # the kinds that the table of settings names
    "key file": Maybe(KeyFile()),
    "agent origin": Maybe(AgentOrigin()),
    "mail address": MailAddress(),
    "networks": Networks(),
    "folder": Folder(),
    "scope": Choice(SCOPES),
    "schemes": Choices(SCHEMES),
    "file": Maybe(File()),
    "marks file": Maybe(MarksFile()),
    "extensions": Extensions(),
    "expressions": Expressions(),
    "filters": Filters(),
    "dotted path": Dotted(),
    "dotted paths": DottedList(),
    "maybe dotted path": Maybe(Dotted()),
    "host connections": HostConnections(),
    "servers": Servers(),
    "ports": PortRanges(),
    "link sources": LinkSources(),
    "purposes": Purposes(),
    "revisit policy": RevisitPolicy(),
    "outputs": Outputs(),
    "output store": Maybe(OutputStore()),
    "local address": LocalAddress(),
    "callback address": CallbackAddress(),
    "metrics port": Maybe(MetricsPort()),
    "metrics file": Maybe(MetricsFile()),
    "partition": PartitionWay(),
    "components": Components(),
    "component list": ComponentList(),
}

KINDS: dict[str, Kind] = {  # of each setting of the table, in its order
    name: NAMED[one.kind] if isinstance(one.kind, str) else one.kind for name, one in SETTINGS.items()
}

# What a single domain or host may have of a setting that is itself about domains and hosts
OF_ONE_HOST: dict[str, Kind] = {"HOST_CONNECTIONS": OF_ONE}

# Scrapy's own settings that the table leaves alone; checked if they are set
SCRAPYS: dict[str, Kind] = {
    "SCHEDULER": Component(),
    "DUPEFILTER_CLASS": Component(),
    "DOWNLOADER": Component(),
    "EXTENSIONS": Components(),
    "EXTENSIONS_BASE": Components(),
    "ITEM_PIPELINES_BASE": Components(),
    "ITEM_PROCESSOR": Component(),
    "CONCURRENT_ITEMS": Whole(1, 1_000_000),
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": Whole(1, 1 << 40),
    "ASYNCIO_EVENT_LOOP": Component(),
    "COOKIES_ENABLED": Switch(),
    "REMOTE_CONTROL_ENABLED": Switch(),
    "TELNETCONSOLE_ENABLED": Switch(),
    "LOG_FORMATTER": Component(),
    "REDIS_ITEMS_SERIALIZER": Dotted(),
    "FOCUS_LANGUAGES": Languages(),
    "TWISTED_REACTOR": Choice((REACTOR,), exact=True),
    "ADDONS": Components(),
    "CONCURRENT_REQUESTS_PER_IP": Whole(0, MANY),
    "DEPTH_LIMIT": Whole(0, MANY),
    "DNS_RESOLVER": Component(),
    "DOWNLOAD_BIND_ADDRESS": LocalAddress(),
    "DOWNLOAD_DELAY": Number(0, DAY),
    "DOWNLOAD_FAIL_ON_DATALOSS": Switch(),
    "DOWNLOAD_MAXSIZE": Whole(0, 1 << 62),
    "DOWNLOAD_TLS_MAX_VERSION": Maybe(TLS_VERSION),
    "DOWNLOAD_TLS_MIN_VERSION": Maybe(TLS_VERSION),
    "DOWNLOAD_VERIFY_CERTIFICATES": Switch(),
    "DOWNLOAD_WARNSIZE": Whole(0, 1 << 62),
    "DOWNLOADER_CLIENT_TLS_CIPHERS": Ciphers(),
    "LOG_STDOUT": Switch(),
    "REACTOR_THREADPOOL_MAXSIZE": Whole(1, MANY),
    "REDIRECT_ENABLED": Switch(),
    "REDIRECT_MAX_TIMES": Whole(0, 100),
    "RETRY_ENABLED": Switch(),
    "RETRY_HTTP_CODES": StatusCodes(),
    "RETRY_TIMES": Whole(0, 1000),
    "URLLENGTH_LIMIT": Whole(0, MANY),
    "SPIDER_LOADER_CLASS": Component(),
    "SPIDER_MIDDLEWARES": Components(),
    "STATS_CLASS": Component(),
    "TWISTED_DNS_RESOLVER": Component(),
    "CLOSESPIDER_TIMEOUT": Number(0, MANY),
    "CLOSESPIDER_ITEMCOUNT": Whole(0, MANY),
    "CLOSESPIDER_PAGECOUNT": Whole(0, MANY),
    "CLOSESPIDER_ERRORCOUNT": Whole(0, MANY),
    "CLOSESPIDER_TIMEOUT_NO_ITEM": Whole(0, MANY),
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": Whole(0, MANY),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that involves two settings. `allowed` is a format string for the values."""

    name: str
    holds: Callable[[Mapping[str, Any]], bool]
    allowed: str


def _port(place: tuple[str, int] | None) -> int:
    return place[1] if place is not None else 0


FOCUSED = ("webcrawl.frontier.prioritizers.focus.ByFocus", "webcrawl.frontier.prioritizers.language.ByLanguage")
RULES = (
    Rule(
        "SCORER",
        lambda values: values["FRONTIER_PRIORITIZER"] != FOCUSED[0] or values["SCORER"] or values["FOCUS_LANGUAGES"],
        "set with FRONTIER_PRIORITIZER = {FRONTIER_PRIORITIZER}, which goes by scores",
    ),
    Rule(
        "FRONTIER_PRIORITIZER",
        lambda values: values["FRONTIER_PRIORITIZER"] != FOCUSED[1] or values["FOCUS_LANGUAGES"],
        "another one without -a languages=, whose pages this one puts first",
    ),
    Rule(
        "BOT_AGENT",
        lambda values: values["BOT_KEY"] is None or values["BOT_AGENT"] is not None,
        "set with BOT_KEY: servers have to be told where its public key is",
    ),
    Rule(
        "BOT_AGENT",
        lambda values: values["BOT_AGENT"] is None or values["BOT_KEY"] is not None,
        "none without BOT_KEY: nothing would be signed",
    ),
    Rule(
        "HIVE_DRONE",
        lambda values: not values["HIVE_DRONES"] or values["HIVE_DRONE"] < values["HIVE_DRONES"],
        "less than HIVE_DRONES = {HIVE_DRONES}",
    ),
    Rule(
        "METRICS_PORT",
        lambda values: not values["HIVE_DRONES"] or _port(values["METRICS_PORT"]) + values["HIVE_DRONE"] < 65_536,
        "at most 65535 with HIVE_DRONE = {HIVE_DRONE} added to it",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: not values["HIVE_DRONES"] or (values["WEBSUB_PORT"] or 0) + values["HIVE_DRONE"] < 65_536,
        "at most 65535 with HIVE_DRONE = {HIVE_DRONE} added to it",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: values["WEBSUB_PORT"] is None or values["REVISIT_POLICY"] != NONE,
        "none with REVISIT_POLICY = none: what hubs tell of is fetched again",
    ),
    Rule(
        "WEBSUB_ADDRESS",
        lambda values: values["WEBSUB_PORT"] is None or values["WEBSUB_ADDRESS"] is not None,
        "set with WEBSUB_PORT: hubs have to be told where to send",
    ),
    Rule(
        "POLITENESS_MIN_DELAY",
        lambda values: values["POLITENESS_MIN_DELAY"] <= values["POLITENESS_MAX_DELAY"],
        "no more than POLITENESS_MAX_DELAY = {POLITENESS_MAX_DELAY:g}",
    ),
    Rule(
        "HOST_CONNECTIONS",
        lambda values: not (values["HOST_CONNECTIONS"] and values["POLITENESS_PER_IP"]),
        "none with POLITENESS_PER_IP, by which an address has one request at a time",
    ),
    Rule(
        "FRONTIER_QUEUES",
        lambda values: values["FRONTIER_QUEUES"] <= values["FRONTIER_MAX_QUEUES"],
        "no more than FRONTIER_MAX_QUEUES = {FRONTIER_MAX_QUEUES}",
    ),
    Rule(
        "FRONTIER_QUEUES",
        lambda values: values["FRONTIER_QUEUES"] > 0 or values["CONCURRENT_REQUESTS"] > 0,
        "at least 1, because CONCURRENT_REQUESTS = 0 gives no default",
    ),
)
