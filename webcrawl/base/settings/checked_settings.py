"""The type of checked settings: each name, with the type of value that its kind reads.

`crawl.checks.check` makes them when a crawl starts. mypy refuses code that reads a setting by a
wrong name or takes it for another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from typing import Any, TypedDict, cast

Components = dict[Any, int | float | None]  # a class or its path -> its place in the order


class GivenScrapySettings(TypedDict, total=False):
    """Scrapy's own settings that the table leaves alone: there if they have a value."""

    SCHEDULER: Any
    DUPEFILTER_CLASS: Any
    DOWNLOADER: Any
    EXTENSIONS: Components
    EXTENSIONS_BASE: Components
    ITEM_PIPELINES_BASE: Components
    ITEM_PROCESSOR: Any
    CONCURRENT_ITEMS: int
    SCRAPER_SLOT_MAX_ACTIVE_SIZE: int
    ASYNCIO_EVENT_LOOP: Any
    COOKIES_ENABLED: bool
    REMOTE_CONTROL_ENABLED: bool
    TELNETCONSOLE_ENABLED: bool
    LOG_FORMATTER: Any
    REDIS_ITEMS_SERIALIZER: str
    TWISTED_REACTOR: str
    ADDONS: Components
    CONCURRENT_REQUESTS_PER_IP: int
    DEPTH_LIMIT: int
    DNS_RESOLVER: Any
    DOWNLOAD_BIND_ADDRESS: tuple[str, int] | None
    DOWNLOAD_DELAY: float
    DOWNLOAD_FAIL_ON_DATALOSS: bool
    DOWNLOAD_MAXSIZE: int
    DOWNLOAD_TLS_MAX_VERSION: str | None
    DOWNLOAD_TLS_MIN_VERSION: str | None
    DOWNLOAD_VERIFY_CERTIFICATES: bool
    DOWNLOAD_WARNSIZE: int
    DOWNLOADER_CLIENT_TLS_CIPHERS: str
    LOG_STDOUT: bool
    REACTOR_THREADPOOL_MAXSIZE: int
    REDIRECT_ENABLED: bool
    REDIRECT_MAX_TIMES: int
    URLLENGTH_LIMIT: int
    SPIDER_LOADER_CLASS: Any
    SPIDER_MIDDLEWARES: Components
    STATS_CLASS: Any
    TWISTED_DNS_RESOLVER: Any
    CLOSESPIDER_TIMEOUT: float
    CLOSESPIDER_ITEMCOUNT: int
    CLOSESPIDER_PAGECOUNT: int
    CLOSESPIDER_ERRORCOUNT: int
    CLOSESPIDER_TIMEOUT_NO_ITEM: int
    CLOSESPIDER_PAGECOUNT_NO_ITEM: int


class CheckedSettings(GivenScrapySettings):
    """Every setting of the crawl, defaults filled in. `crawl.checks.changed` makes another."""

    # Scrapy's, with the defaults of a crawl without Scrapy
    RETRY_ENABLED: bool
    RETRY_TIMES: int
    RETRY_HTTP_CODES: tuple[int, ...] | None  # none: those that the frontier knows
    FOCUS_LANGUAGES: tuple[str, ...]
    # how many of the bytes that DOWNLOAD_TRUNCATE keeps are read for links and text
    READ_TRUNCATE: int
    # whether an output reads links of all kinds, with their texts
    LINK_LOG: bool
    ROBOTSTXT_USER_AGENT: str | None

    # -- The crawl
    USER_AGENT: str
    BOT_KEY: str | None
    BOT_AGENT: str | None
    BOT_FROM: str
    JOBDIR: str  # None by default; a folder is filled in before a crawl is opened
    RANDOM_SEED: int
    FEATURES: tuple[str, ...]
    TOP1M_URL: str

    # -- URLs
    URL_SCOPE: str
    URL_FOLLOW: bool
    URL_SCHEMES: tuple[str, ...]
    URL_MAX_LENGTH: int
    URL_MAX_DEPTH: int
    URL_EXCLUDE_FILE: str | None
    URL_EXCLUDE_EXTENSIONS: tuple[str, ...]
    URL_INCLUDE: tuple[str, ...]
    URL_EXCLUDE: tuple[str, ...]
    URL_FILTERS: dict[str, int | None]
    TRAP_RULES: bool
    TRAP_MAX_PAGES: int
    URL_FOLDINGS: tuple[str, ...]
    URL_HOST_RULES: str | None

    # -- The seen store
    SEEN_MEMORY: int
    SEEN_STORE: str
    URL_CACHE: str
    URL_TRACE: bool

    # -- The frontier
    FRONTIER: str
    FRONTIER_MEMORY: int
    FRONTIER_LEVELS: int
    FRONTIER_PRIORITIZER: str
    SCORER: str | None
    CONCURRENT_REQUESTS: int
    FRONTIER_QUEUES: int
    FRONTIER_MAX_QUEUES: int
    DOMAIN_BUDGET: str
    DOMAIN_BUDGET_PAGES: int

    # -- Politeness
    POLITENESS_POLICY: str
    POLITENESS_FACTOR: float
    POLITENESS_MIN_DELAY: float
    POLITENESS_MAX_DELAY: float
    CRAWL_DELAY_MAX: float
    RETRY_AFTER_MAX: float
    POLITENESS_PER_IP: bool
    HOST_CONNECTIONS: dict[str, int]
    HOST_MAX_PAGES: int
    HOST_MAX_FAILURES: int
    HOST_RETRY_WAIT: float
    HOST_PATIENCE: float
    OUTAGE_END_WAIT: float
    STOPPED_STATUS: int

    # -- The network
    DNS_NAMESERVERS: tuple[tuple[str, int], ...]
    DNS_LOOKUP: str
    HOSTS_FILE: str | None
    AUTH_FILE: str | None
    PRIVATE_NETWORKS_ALLOWED: tuple[IPv4Network | IPv6Network, ...]
    PORTS_ALLOWED: tuple[range, ...]
    REDIRECT_MAX_HOPS: int
    HTTP2: str
    DOWNLOAD_TRUNCATE: int

    # -- Pages
    CONTENT_SEEN: str
    RECOGNISE_FILE: str | None
    SOFT404_PROBE: int
    LINK_SOURCES: tuple[str, ...]
    REQUISITES: bool
    RENDER: str
    RENDER_SHARE: float
    RENDER_ACTIONS: tuple[str, ...] | None
    RENDER_VIEWS: tuple[str, ...] | None
    SITEMAPS: bool | None
    FEED_LINKS: bool | None
    MARKDOWN_LINKS: bool
    PURPOSE: tuple[str, ...]
    OBEY_NOFOLLOW: bool | None
    STRUCTURED_DATA: bool

    # -- Revisits
    REVISIT_POLICY: str
    REVISIT_AGE: float
    REVISIT_RATE: float
    REVISIT_SHARE: float

    # -- The archive
    OUTPUTS: tuple[str, ...]
    MASK_CONTACTS: bool
    CHUNK_SIZE: int
    OFFICE_FILES: bool
    TOKENIZER_FILE: str | None
    WARC_DESCRIPTION: str | None
    WARC_COLLECTION: str | None
    WARC_PREFIX: str
    WARC_MAX_SIZE: int
    OUTPUT_STORE: str | None
    OUTPUT_STORE_KEEP: bool
    WEBHOOK_URL: str | None
    WEBHOOK_SECRET_FILE: str | None
    STREAM_BACKLOG: int

    # -- Safety
    CHECKPOINT_INTERVAL: float
    ERROR_BREAKER: tuple[int, int]
    MIN_FREE_DISK: int
    BANDWIDTH_MAX: int
    CLOSESPIDER_BYTES: int
    CONTROL: bool

    # -- Metrics
    METRICS_PORT: tuple[str, int] | None
    METRICS_FILE: str | None

    # -- WebSub
    WEBSUB_PORT: int | None
    WEBSUB_HOST: tuple[str, int] | None
    WEBSUB_ADDRESS: str | None

    # -- The hive
    HIVE_DRONES: int
    HIVE_DRONE: int
    HIVE_NAME: str | None
    HIVE_PARTITION: str
    HIVE_LEASE: float
    HIVE_FENCE: float | None
    HIVE_BATCH_AGE: float
    HIVE_WHEN_DONE: str
    REDIS_URL: str | None
    REDIS_PASSWORD_FILE: str | None
    REDIS_START_URLS_KEY: str
    MAX_IDLE_TIME_BEFORE_CLOSE: int | None

    # -- Scrapy's own, set for this crawl
    FOREIGN_HANDLERS_ALLOWED: tuple[str, ...]
    DOWNLOAD_TIMEOUT: float
    DOWNLOAD_MIN_RATE: float
    DNS_TIMEOUT: float
    ROBOTSTXT_OBEY: bool
    DOWNLOADER_MIDDLEWARES: Components
    ITEM_PIPELINES: Components
    LOG_LEVEL: str


def value_of(values: CheckedSettings, name: str) -> Any:
    """Return the value of a setting whose name is known only at run time."""
    return values[name]  # type: ignore[literal-required]


def with_values(values: CheckedSettings, more: Mapping[str, Any]) -> CheckedSettings:
    """Return the settings with other values for some of them, which were checked as well."""
    return cast("CheckedSettings", {**values, **more})
