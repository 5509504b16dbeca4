"""Scrapy's settings here: which stand for one of ours, and which have no effect (docs/scrapy-compatibility.md).

A setting that is in none of these tables works as Scrapy documents it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

Given = Callable[[str], bool]
"""Tells if the user has set a setting."""
# likeness of a mistyped name: above MYSQL_HOST and MAIL_HOST, below URL_MAX_DEPHT and URL_MAX_DEPTH
NEAR = 0.88
OFF = frozenset(("", "0", "0.0", "false", "off", "no", "none", "[]", "{}"))
ON = frozenset(("1", "true", "on", "yes"))
# What reads a setting, beside components of Scrapy's by the names of their classes
PAGES = "pages"  # a spider whose items are pages: the crawl follows their links itself
REQUESTS = "requests"  # any other spider
HIVE = "hive"  # a crawl that is a drone


@dataclass(frozen=True, slots=True)
class Taken:
    """A setting of Scrapy's that stands for one of ours if that is not set."""

    theirs: str
    ours: str
    # makes ours of the value of theirs; None if that says nothing of ours
    value: Callable[[Any], Any] = lambda value: value


# Scrapy's 0 means "no limit" for CONCURRENT_REQUESTS_PER_IP, DEPTH_LIMIT, URLLENGTH_LIMIT and
# DOWNLOAD_MAXSIZE: ours then keeps its default, or gets the largest value that it may have.
TAKEN = (
    Taken("DOWNLOAD_DELAY", "POLITENESS_MIN_DELAY"),
    Taken("CONCURRENT_REQUESTS_PER_IP", "POLITENESS_PER_IP", lambda most: most > 0 or None),
    Taken("DEPTH_LIMIT", "URL_MAX_DEPTH", lambda most: most or None),
    Taken(
        "URLLENGTH_LIMIT",
        "URL_MAX_LENGTH",
        lambda most: min(max(most, 64), 65_536) if most else 65_536,
    ),
    Taken(
        "DOWNLOAD_MAXSIZE",
        "DOWNLOAD_TRUNCATE",
        lambda most: min(max(most, 1024), 2**31 - 1) if most else None,
    ),
    Taken("REDIRECT_MAX_TIMES", "REDIRECT_MAX_HOPS"),
    # Below REDIRECT_MAX_TIMES, whose value it replaces where redirects are off.
    Taken("REDIRECT_ENABLED", "REDIRECT_MAX_HOPS", lambda on: None if on else 0),
)


@dataclass(frozen=True, slots=True)
class Unheard:
    """Settings of Scrapy that have no effect here. The user is warned if one of them is set."""

    names: str  # separated by spaces
    why: str  # ends the line "NAMES: no effect, …"
    readers: frozenset[str] = frozenset()  # if one of these is enabled, they have an effect
    fine: frozenset[str] = OFF  # values, in lower case, that ask for what happens anyway


def _without(reader: str, names: str, fine: frozenset[str] = OFF, why: str = "") -> Unheard:
    """Return the row of settings that one reader alone gives an effect."""
    return Unheard(names, why or f"{reader} is not enabled", frozenset((reader,)), fine)


_NEVER: frozenset[str] = frozenset()
_OWN_TLS = (
    "the client has its own TLS context: see DOWNLOAD_TLS_MIN_VERSION, DOWNLOAD_VERIFY_CERTIFICATES"
)

UNHEARD = (
    Unheard(
        "AUTOTHROTTLE_ENABLED AUTOTHROTTLE_DEBUG",
        "POLITENESS_POLICY decides how long a host is left alone",
    ),
    Unheard(
        "AUTOTHROTTLE_MAX_DELAY AUTOTHROTTLE_START_DELAY AUTOTHROTTLE_TARGET_CONCURRENCY",
        "see POLITENESS_FACTOR, POLITENESS_MIN_DELAY and POLITENESS_MAX_DELAY",
        fine=_NEVER,
    ),
    Unheard("COMPRESSION_ENABLED", "compressed bodies are always requested and decoded", fine=ON),
    Unheard(
        "CONCURRENT_REQUESTS_PER_DOMAIN",
        "a host gets one request at a time, unless HOST_CONNECTIONS names it",
        fine=frozenset("1"),
    ),
    Unheard("DNSCACHE_ENABLED", "the resolver always caches", fine=ON),
    Unheard(
        "DNSCACHE_SIZE TWISTED_DNS_RESOLVER DNS_RESOLVER",
        "the crawl has its own resolver: see DNS_NAMESERVERS, HOSTS_FILE",
        fine=_NEVER,
    ),
    Unheard("DOWNLOADER_CLIENTCONTEXTFACTORY DOWNLOADER_CLIENT_TLS_METHOD", _OWN_TLS, fine=_NEVER),
    Unheard(
        "DOWNLOADER_CLIENT_TLS_VERBOSE_LOGGING",
        "the archive records TLS versions and cipher suites, if OUTPUTS has warc",
    ),
    Unheard(
        "RANDOMIZE_DOWNLOAD_DELAY DOWNLOAD_DELAY_JITTER",
        "no wait is random: see POLITENESS_POLICY",
    ),
    Unheard("DOWNLOAD_SLOTS", "there are no slots: every host has its own queue and wait"),
    Unheard("DUPEFILTER_DEBUG SCHEDULER_DEBUG", "stats.json counts filtered and queued URLs"),
    Unheard(
        "SCHEDULER_DISK_QUEUE SCHEDULER_MEMORY_QUEUE SCHEDULER_PRIORITY_QUEUE SCHEDULER_START_DISK_QUEUE "
        "SCHEDULER_START_MEMORY_QUEUE",
        "the frontier keeps its own queues",
        fine=_NEVER,
    ),
    Unheard(
        "REQUEST_FINGERPRINTER_CLASS",
        "the seen store compares canonical URLs: see URL_FOLDINGS",
        fine=_NEVER,
    ),
    Unheard("FTP_USER FTP_PASSWORD", "FTP logs in anonymously", fine=_NEVER),
    Unheard("FTP_PASSIVE_MODE", "FTP transfers are always passive", fine=ON),
    Unheard("HTTP2_MAX_FRAME_SIZE HTTPX_HTTP2_ENABLED", "see HTTP2, and DOWNLOAD_HANDLERS"),
    Unheard(
        "RETRY_EXCEPTIONS RETRY_PRIORITY_ADJUST",
        "the crawl retries by itself: see docs/politeness.md",
        fine=_NEVER,
    ),
    Unheard(
        "RETRY_GIVE_UP_LOG_LEVEL",
        "crawl.log has a line for each URL that was given up",
        fine=_NEVER,
    ),
    Unheard("ROBOTSTXT_PARSER", "robots.txt is read by the crawl's own parser", fine=_NEVER),
    _without(
        "LogFormatter", "DEFAULT_DROPITEM_LOG_LEVEL", _NEVER, "LOG_FORMATTER logs no dropped items"
    ),
    _without("LogStats", "LOGSTATS_INTERVAL", why="the progress line takes its place"),
    _without(
        "RemoteControl",
        "REMOTE_CONTROL_ENABLED REMOTE_CONTROL_JOBS_DIR REMOTE_CONTROL_OUTPUT_MAX_BYTES "
        "REMOTE_CONTROL_TIMEOUT_DEFAULT REMOTE_CONTROL_TIMEOUT_MAX REMOTE_CONTROL_TRACEBACK_MAX_BYTES",
    ),
    _without("CookiesMiddleware", "COOKIES_ENABLED COOKIES_DEBUG"),
    _without("DefaultHeadersMiddleware", "DEFAULT_REQUEST_HEADERS"),
    _without("DepthMiddleware", "DEPTH_PRIORITY DEPTH_STATS_VERBOSE"),
    _without("DownloaderStats", "DOWNLOADER_STATS"),
    _without("HttpAuthMiddleware", "HTTPAUTH_DOMAIN HTTPAUTH_PASS HTTPAUTH_USER"),
    _without(
        "HttpCacheMiddleware",
        "HTTPCACHE_ALWAYS_STORE HTTPCACHE_DBM_MODULE HTTPCACHE_DIR HTTPCACHE_ENABLED HTTPCACHE_EXPIRATION_SECS "
        "HTTPCACHE_GZIP HTTPCACHE_IGNORE_HTTP_CODES HTTPCACHE_IGNORE_MISSING "
        "HTTPCACHE_IGNORE_RESPONSE_CACHE_CONTROLS HTTPCACHE_IGNORE_SCHEMES HTTPCACHE_POLICY HTTPCACHE_STORAGE",
    ),
    _without(
        "HttpErrorMiddleware",
        "HTTPERROR_ALLOW_ALL HTTPERROR_ALLOWED_CODES",
        why="pages of any status are kept",
    ),
    _without(
        "MetaRefreshMiddleware",
        "METAREFRESH_ENABLED METAREFRESH_IGNORE_TAGS METAREFRESH_MAXDELAY",
        ON,
        "LINK_SOURCES decides whether a refresh is followed",
    ),
    _without("MetaCopyDetectionMiddleware", "META_COPY_WARN_SKIP_KEYS"),
    _without(
        "RedirectMiddleware",
        "REDIRECT_PRIORITY_ADJUST",
        _NEVER,
        "a redirect is a link like any other",
    ),
    _without(
        "RefererMiddleware",
        "REFERER_ENABLED REFERRER_POLICY REFERRER_POLICIES",
        why="no Referer is sent",
    ),
    _without(REQUESTS, "DOWNLOAD_WARNSIZE", why="crawl.log has the size of every page"),
    _without(
        PAGES,
        "CONTENT_SEEN FEED_LINKS LINK_SOURCES MARKDOWN_LINKS OBEY_NOFOLLOW REQUISITES SITEMAPS "
        "STRUCTURED_DATA REVISIT_AGE REVISIT_POLICY REVISIT_RATE REVISIT_SHARE",
        _NEVER,
        "this spider makes its requests itself",
    ),
    _without(
        HIVE,
        "HIVE_DRONE HIVE_NAME HIVE_PARTITION HIVE_LEASE HIVE_FENCE HIVE_BATCH_AGE HIVE_WHEN_DONE",
        _NEVER,
        "without HIVE_DRONES this crawl is no part of a hive",
    ),
    _without(
        PAGES,
        "REDIRECT_MAX_HOPS",
        _NEVER,
        "this spider's redirects are bounded by REDIRECT_MAX_TIMES",
    ),
)


def translated(settings: Mapping[str, Any], given: Given) -> dict[str, Any]:
    """Return our settings that were set by Scrapy's names only, which are checked already."""
    found: dict[str, Any] = {}
    # In the order of the rows: the last of several for one of ours counts.
    for row in TAKEN:
        is_set = row.theirs in settings and given(row.theirs)
        if not is_set or given(row.ours):
            continue
        value = row.value(settings[row.theirs])
        if value is not None:
            found[row.ours] = value
    return found


def overruled(given: Given) -> Iterator[str]:
    """Yield a line for each setting of Scrapy's that was set beside ours."""
    for row in TAKEN:
        if given(row.theirs) and given(row.ours):
            yield f"{row.theirs}: no effect, {row.ours} is set"


def unheard(given: Mapping[str, Any], readers: AbstractSet[str]) -> Iterator[str]:
    """Yield a line per reason for settings without effect.

    `given`: what the user has set, by name. `readers`: names of the enabled components, and PAGES or
    REQUESTS.
    """
    for row in UNHEARD:
        if row.readers & readers:
            continue
        set_names = [name for name in row.names.split() if name in given]
        names = [name for name in set_names if str(given[name]).lower() not in row.fine]
        if names:
            yield f"{', '.join(names)}: no effect, {row.why}"


def mistyped(given: Iterable[str], known: AbstractSet[str]) -> dict[str, str]:
    """Return the likely meant setting by the name of each unknown one that is nearly a known one."""
    found = {}
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name.upper(), known, n=1, cutoff=NEAR)
        if near:
            found[name] = near[0]
    return found
