"""The kind of value of every setting, in the order of settings.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.checks.addresses import CallbackAddress, LocalAddress, Networks, PortRanges, Servers
from webcrawl.checks.code import (
    Component,
    ComponentList,
    Components,
    Dotted,
    DottedList,
    DottedOrders,
    Expressions,
    Extensions,
    MaybeComponent,
)
from webcrawl.checks.connections import OF_ONE, HostConnections
from webcrawl.checks.hours import Hours
from webcrawl.checks.identity import AgentOrigin, KeyFile, MailAddress
from webcrawl.checks.kinds import (
    Choice,
    Choices,
    Kind,
    Line,
    MaybeLine,
    MaybeName,
    MaybeSwitch,
    MaybeWhole,
    Name,
    Number,
    Rate,
    RedisKey,
    StatusCodes,
    Switch,
    Whole,
    Word,
)
from webcrawl.checks.metrics import MetricsFile, MetricsPort
from webcrawl.checks.outputs import Outputs, OutputStore
from webcrawl.checks.partition import PartitionWay
from webcrawl.checks.places import File, Folder
from webcrawl.checks.purposes import Purposes
from webcrawl.checks.revisits import REVISIT_IMPORTANCE, REVISIT_POLICY
from webcrawl.checks.sizes import Size
from webcrawl.checks.sources import LinkSources
from webcrawl.checks.tls import Ciphers, TlsVersion
from webcrawl.identity.signing import FORMS
from webcrawl.urls.canonical import SCHEMES
from webcrawl.urls.filters.scope import SCOPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DAY = 86_400
TEBIBYTE = 1 << 20  # in MiB
MANY = 10**9
NO_REVISITS = "none"

REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"  # the clients run on its event loop
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

KINDS: dict[str, Kind] = {
    "USER_AGENT": Line(),
    "BOT_KEY": KeyFile(),
    "BOT_AGENT": AgentOrigin(),
    "BOT_AGENT_FORM": Choice(tuple(FORMS)),
    "BOT_FROM": MailAddress(),
    "BOT_ADDRESSES": Networks(),
    "JOBDIR": Folder(),
    "RANDOM_SEED": Whole(0, 2**63 - 1),
    "TOP1M_URL": Line(),
    "URL_SCOPE": Choice(SCOPES),
    "URL_FOLLOW": Switch(),
    "URL_SCHEMES": Choices(SCHEMES),
    "URL_MAX_LENGTH": Whole(64, 65_536),
    "URL_MAX_DEPTH": Whole(0, MANY),
    "URL_EXCLUDE_FILE": File(),
    "URL_EXCLUDE_FILE_INTERVAL": Number(0.1, 60),  # a change must be noticed within a minute
    "URL_EXCLUDE_EXTENSIONS": Extensions(),
    "URL_INCLUDE": Expressions(),
    "URL_EXCLUDE": Expressions(),
    "URL_FILTERS": DottedOrders(),
    "TRAP_RULES": Switch(),
    "TRAP_MAX_PAGES": Whole(1, MANY),
    "URL_FOLDINGS": DottedList(),
    "URL_HOST_RULES": File(),
    "SEEN_MEMORY": Whole(16, TEBIBYTE),
    "SEEN_STORE": Dotted(),
    "URL_CACHE": Dotted(),
    "URL_CACHE_SIZE": Whole(1, 1 << 24),
    "URL_TRACE": Switch(),
    "FRONTIER": Dotted(),
    "FRONTIER_MEMORY": Whole(8, TEBIBYTE),
    "FRONTIER_LEVELS": Whole(1, 1000),
    "FRONTIER_PRIORITIZER": Dotted(),
    "FRONTIER_BIAS": Number(1, 1000),
    "CONCURRENT_REQUESTS": Whole(0, 1_000_000),
    "FRONTIER_QUEUES": Whole(0, 1_000_000),
    "FRONTIER_MAX_QUEUES": Whole(1, 1_000_000),
    "FRONTIER_DOMAIN_SHARE": Whole(1, 1_000_000),
    "DOMAIN_BUDGET": Dotted(),
    "DOMAIN_BUDGET_PAGES": Whole(1, MANY),
    "POLITENESS_POLICY": Dotted(),
    "POLITENESS_FACTOR": Number(0, 100_000),
    "POLITENESS_MIN_DELAY": Number(0, DAY),
    "POLITENESS_MAX_DELAY": Number(0, DAY),
    "CRAWL_DELAY_MAX": Number(0, DAY),
    "RETRY_AFTER_MAX": Number(0, DAY),
    "SLOW_DOWN_MAX": Number(1, 1000),
    "POLITENESS_PER_IP": Switch(),
    "HOST_CONNECTIONS": HostConnections(),
    "HOST_MAX_PAGES": Whole(0, MANY),
    "HOST_MAX_FAILURES": Whole(1, MANY),
    "HOST_RETRY_WAIT": Number(0.1, DAY),
    "HOST_PATIENCE": Number(0, MANY),
    "OUTAGE_END_WAIT": Number(0, MANY),
    "DNS_NAMESERVERS": Servers(),
    "DNS_LOOKUP": Dotted(),
    "HOSTS_FILE": File(),
    "PRIVATE_NETWORKS_ALLOWED": Networks(),
    "PORTS_ALLOWED": PortRanges(),
    "REDIRECT_MAX_HOPS": Whole(0, 100),
    "COOKIES": Choice(("redirects", "off")),
    "DOWNLOAD_TRUNCATE": Whole(1024, 2**31 - 1),
    "CONTENT_SEEN": Choice(("skip", "process")),
    "LINK_SOURCES": LinkSources(),
    "REQUISITES": Switch(),
    "SITEMAPS": MaybeSwitch(),
    "FEED_LINKS": MaybeSwitch(),
    "PAGE_MAX_LINKS": Whole(0, MANY),
    "PURPOSE": Purposes(),
    "OBEY_NOFOLLOW": MaybeSwitch(),
    "OBEY_NOINDEX": MaybeSwitch(),
    "OBEY_NOARCHIVE": MaybeSwitch(),
    "REVISIT_POLICY": REVISIT_POLICY,
    "REVISIT_AGE": Number(0.1, MANY),
    "REVISIT_RATE": Number(0, 1_000_000),
    "REVISIT_SHARE": Number(0.01, 0.99),
    "REVISIT_IMPORTANCE": REVISIT_IMPORTANCE,
    "OUTPUTS": Outputs(),
    "WARC_PREFIX": Name(),
    "WARC_MAX_SIZE": Whole(1, TEBIBYTE),
    "WARC_VERSION": Choice(("1.1", "1.0")),
    "WARC_SIGNATURES": Switch(),
    "OUTPUT_STORE": OutputStore(),
    "OUTPUT_STORE_KEEP": Switch(),
    "CHECKPOINT_INTERVAL": Number(0.1, DAY),
    "ERROR_BREAKER": Rate(),
    "MIN_FREE_DISK": Whole(0, TEBIBYTE),
    "QUIET_HOURS": Hours(),
    "BANDWIDTH_MAX": Size(10_000, 10**12),
    "CLOSESPIDER_BYTES": Size(1, 10**18),
    "CONTROL": Switch(),
    "METRICS_PORT": MetricsPort(),
    "METRICS_HOST": LocalAddress(),
    "METRICS_FILE": MetricsFile(),
    "WEBSUB_PORT": MaybeWhole(1, 65_535),
    "WEBSUB_HOST": LocalAddress(),
    "WEBSUB_ADDRESS": CallbackAddress(),
    "HIVE_DRONES": Whole(0, 4096),
    "HIVE_DRONE": Whole(0, 4095),
    "HIVE_NAME": MaybeName(),
    "HIVE_PARTITION": PartitionWay(),
    "HIVE_URL_CACHE": Dotted(),
    "HIVE_URL_CACHE_SIZE": Whole(1, 1 << 24),
    "HIVE_STREAM_MEMORY": Whole(1, TEBIBYTE),
    "HIVE_LEASE": Number(1, DAY),
    "REDIS_URL": MaybeLine(),
    "REDIS_PASSWORD_FILE": File(),
    "REDIS_START_URLS_KEY": RedisKey(),
    "REDIS_ITEMS_SERIALIZER": Dotted(),
    "MAX_IDLE_TIME_BEFORE_CLOSE": MaybeWhole(0, DAY * 365),
    "SCHEDULER": Component(),
    "DUPEFILTER_CLASS": Component(),
    "DOWNLOADER": Component(),
    "FOREIGN_HANDLERS_ALLOWED": ComponentList(),
    "DOWNLOAD_TIMEOUT": Number(0.1, DAY),
    "DOWNLOAD_MIN_RATE": Number(0, 100_000),
    "DOWNLOAD_GRACE": Number(0.1, DAY),
    "DNS_TIMEOUT": Number(0.1, DAY),
    "ROBOTSTXT_OBEY": Switch(),
    "DOWNLOADER_MIDDLEWARES": Components(),
    "EXTENSIONS_BASE": Components(),
    "EXTENSIONS": Components(),
    "ITEM_PIPELINES_BASE": Components(),
    "ITEM_PIPELINES": Components(),
    "ITEM_PROCESSOR": Component(),
    "CONCURRENT_ITEMS": Whole(1, 1_000_000),
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": Whole(1, 1 << 40),
    "ASYNCIO_EVENT_LOOP": MaybeComponent(),
    "COOKIES_ENABLED": Switch(),
    "REMOTE_CONTROL_ENABLED": Switch(),
    "TELNETCONSOLE_ENABLED": Switch(),
    "LOG_LEVEL": Word(LEVELS),
    "LOG_FORMATTER": Component(),
}

# What a single domain or host may have of a setting that is itself about domains and hosts
OF_ONE_HOST: dict[str, Kind] = {"HOST_CONNECTIONS": OF_ONE}

# Scrapy's own settings that settings.py leaves alone; checked if they are set
SCRAPYS: dict[str, Kind] = {
    "TWISTED_REACTOR": Word((REACTOR,)),
    "CONCURRENT_REQUESTS_PER_IP": Whole(0, MANY),
    "DEPTH_LIMIT": Whole(0, MANY),
    "DOWNLOAD_BIND_ADDRESS": LocalAddress(),
    "DOWNLOAD_DELAY": Number(0, DAY),
    "DOWNLOAD_FAIL_ON_DATALOSS": Switch(),
    "DOWNLOAD_MAXSIZE": Whole(0, 1 << 62),
    "DOWNLOAD_TLS_MAX_VERSION": TlsVersion(),
    "DOWNLOAD_TLS_MIN_VERSION": TlsVersion(),
    "DOWNLOAD_VERIFY_CERTIFICATES": Switch(),
    "DOWNLOAD_WARNSIZE": Whole(0, 1 << 62),
    "DOWNLOADER_CLIENT_TLS_CIPHERS": Ciphers(),
    "REDIRECT_ENABLED": Switch(),
    "REDIRECT_MAX_TIMES": Whole(0, 100),
    "RETRY_ENABLED": Switch(),
    "RETRY_HTTP_CODES": StatusCodes(),
    "RETRY_TIMES": Whole(0, 1000),
    "URLLENGTH_LIMIT": Whole(0, MANY),
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


RULES = (
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
        lambda values: not values["HIVE_DRONES"] or (values["METRICS_PORT"] or 0) + values["HIVE_DRONE"] < 65_536,
        "at most 65535 with HIVE_DRONE = {HIVE_DRONE} added to it",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: not values["HIVE_DRONES"] or (values["WEBSUB_PORT"] or 0) + values["HIVE_DRONE"] < 65_536,
        "at most 65535 with HIVE_DRONE = {HIVE_DRONE} added to it",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: values["WEBSUB_PORT"] is None or values["REVISIT_POLICY"] != NO_REVISITS,
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
