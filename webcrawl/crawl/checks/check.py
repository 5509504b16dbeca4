"""The kinds of all settings, rules between two, and the one place that checks them at the start."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast

from webcrawl import settings as defaults
from webcrawl.base.loading import missing
from webcrawl.base.outputs import LIBRARIES
from webcrawl.base.readable import shortened
from webcrawl.base.settings import SETTINGS
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.base.settings.setting_kinds import (
    DAY,
    MANY,
    Choice,
    Choices,
    Maybe,
    Number,
    Secret,
    SettingKind,
    StatusCodes,
    Switch,
    WholeNumber,
)
from webcrawl.crawl.checks.names import (
    NONE,
    Component,
    ComponentList,
    Components,
    Dotted,
    DottedList,
    DroneNumber,
    Expressions,
    Extensions,
    FilterPaths,
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
    LoginFile,
    MailAddress,
    MarksFile,
    MetricsFile,
    MetricsPort,
    Networks,
    PortRanges,
    Servers,
    TokenizerFile,
    webhook_key,
)
from webcrawl.crawl.checks.scrapys import Given, translated
from webcrawl.urls.canonical import SCHEMES
from webcrawl.urls.filters.scope import SCOPES

# the clients run on its event loop
REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

NAMED: dict[str, SettingKind] = {  # the kinds that the table of settings names
    "key file": Maybe(KeyFile()),
    "agent origin": Maybe(AgentOrigin()),
    "mail address": MailAddress(),
    "networks": Networks(),
    "folder": Folder(),
    "scope": Choice(SCOPES),
    "schemes": Choices(SCHEMES),
    "file": Maybe(File()),
    "login file": Maybe(LoginFile()),
    "tokenizer": Maybe(TokenizerFile()),
    "marks file": Maybe(MarksFile()),
    "extensions": Extensions(),
    "expressions": Expressions(),
    "filters": FilterPaths(),
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
    "drone number": DroneNumber(),
    "components": Components(),
    "component list": ComponentList(),
}

KINDS: dict[str, SettingKind] = {  # of each setting of the table, in its order
    name: NAMED[setting.kind] if isinstance(setting.kind, str) else setting.kind
    for name, setting in SETTINGS.items()
}

# The kind of the value for a single domain or host, of a setting whose own value is for many
OF_ONE_HOST: dict[str, SettingKind] = {"HOST_CONNECTIONS": OF_ONE}

# Scrapy's own settings that the table leaves alone; checked if they are set
SCRAPYS: dict[str, SettingKind] = {
    "SCHEDULER": Component(),
    "DUPEFILTER_CLASS": Component(),
    "DOWNLOADER": Component(),
    "EXTENSIONS": Components(),
    "EXTENSIONS_BASE": Components(),
    "ITEM_PIPELINES_BASE": Components(),
    "ITEM_PROCESSOR": Component(),
    "CONCURRENT_ITEMS": WholeNumber(1, 1_000_000),
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": WholeNumber(1, 1 << 40),
    "ASYNCIO_EVENT_LOOP": Component(),
    "COOKIES_ENABLED": Switch(),
    "REMOTE_CONTROL_ENABLED": Switch(),
    "TELNETCONSOLE_ENABLED": Switch(),
    "LOG_FORMATTER": Component(),
    "REDIS_ITEMS_SERIALIZER": Dotted(),
    "FOCUS_LANGUAGES": Languages(),
    "TWISTED_REACTOR": Choice((REACTOR,), exact=True),
    "ADDONS": Components(),
    "CONCURRENT_REQUESTS_PER_IP": WholeNumber(0, MANY),
    "DEPTH_LIMIT": WholeNumber(0, MANY),
    "DNS_RESOLVER": Component(),
    "DOWNLOAD_BIND_ADDRESS": LocalAddress(),
    "DOWNLOAD_DELAY": Number(0, DAY),
    "DOWNLOAD_FAIL_ON_DATALOSS": Switch(),
    "DOWNLOAD_MAXSIZE": WholeNumber(0, 1 << 62),
    "DOWNLOAD_TLS_MAX_VERSION": Maybe(TLS_VERSION),
    "DOWNLOAD_TLS_MIN_VERSION": Maybe(TLS_VERSION),
    "DOWNLOAD_VERIFY_CERTIFICATES": Switch(),
    "DOWNLOAD_WARNSIZE": WholeNumber(0, 1 << 62),
    "DOWNLOADER_CLIENT_TLS_CIPHERS": Ciphers(),
    "LOG_STDOUT": Switch(),
    "REACTOR_THREADPOOL_MAXSIZE": WholeNumber(1, MANY),
    "REDIRECT_ENABLED": Switch(),
    "REDIRECT_MAX_TIMES": WholeNumber(0, 100),
    "RETRY_ENABLED": Switch(),
    "RETRY_HTTP_CODES": StatusCodes(),
    "RETRY_TIMES": WholeNumber(0, 1000),
    "URLLENGTH_LIMIT": WholeNumber(0, MANY),
    "SPIDER_LOADER_CLASS": Component(),
    "SPIDER_MIDDLEWARES": Components(),
    "STATS_CLASS": Component(),
    "TWISTED_DNS_RESOLVER": Component(),
    "CLOSESPIDER_TIMEOUT": Number(0, MANY),
    "CLOSESPIDER_ITEMCOUNT": WholeNumber(0, MANY),
    "CLOSESPIDER_PAGECOUNT": WholeNumber(0, MANY),
    "CLOSESPIDER_ERRORCOUNT": WholeNumber(0, MANY),
    "CLOSESPIDER_TIMEOUT_NO_ITEM": WholeNumber(0, MANY),
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": WholeNumber(0, MANY),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that involves two settings.

    `allowed` ends the sentence "NAME = value: must be …" where it does not hold; it is a format
    string for the values of all settings.
    """

    name: str  # the setting that is named as the wrong one
    holds: Callable[[Mapping[str, Any]], bool]
    allowed: str


# prioritizers that work only with what another setting says
BY_FOCUS = "webcrawl.frontier.prioritizers.focus.ByFocus"
BY_LANGUAGE = "webcrawl.frontier.prioritizers.language.ByLanguage"
RULES = (
    Rule(
        "SCORER",
        lambda values: (
            values["FRONTIER_PRIORITIZER"] != BY_FOCUS
            or values["SCORER"]
            or values["FOCUS_LANGUAGES"]
        ),
        "set with FRONTIER_PRIORITIZER = {FRONTIER_PRIORITIZER}, which goes by scores",
    ),
    Rule(
        "FRONTIER_PRIORITIZER",
        lambda values: values["FRONTIER_PRIORITIZER"] != BY_LANGUAGE or values["FOCUS_LANGUAGES"],
        "another one, unless -a languages= names the languages that this one puts first",
    ),
    Rule(
        "BOT_AGENT",
        lambda values: values["BOT_KEY"] is None or values["BOT_AGENT"] is not None,
        "set with BOT_KEY: servers must learn where its public key is",
    ),
    Rule(
        "BOT_AGENT",
        lambda values: values["BOT_AGENT"] is None or values["BOT_KEY"] is not None,
        "none without BOT_KEY: nothing would be signed",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: (
            not values["HIVE_DRONES"]
            or (values["WEBSUB_PORT"] or 0) + values["HIVE_DRONE"] < 65_536
        ),
        "at most 65535 after HIVE_DRONE = {HIVE_DRONE} is added",
    ),
    Rule(
        "WEBSUB_PORT",
        lambda values: values["WEBSUB_PORT"] is None or values["REVISIT_POLICY"] != NONE,
        "none with REVISIT_POLICY = none: pages that hubs announce could not be fetched again",
    ),
    Rule(
        "WEBSUB_ADDRESS",
        lambda values: values["WEBSUB_PORT"] is None or values["WEBSUB_ADDRESS"] is not None,
        "set with WEBSUB_PORT: hubs must learn where to send",
    ),
    Rule(
        "POLITENESS_MIN_DELAY",
        lambda values: values["POLITENESS_MIN_DELAY"] <= values["POLITENESS_MAX_DELAY"],
        "no more than POLITENESS_MAX_DELAY = {POLITENESS_MAX_DELAY:g}",
    ),
    Rule(
        "HOST_CONNECTIONS",
        lambda values: not (values["HOST_CONNECTIONS"] and values["POLITENESS_PER_IP"]),
        "none with POLITENESS_PER_IP, which allows one request at a time per address",
    ),
    Rule(
        "FRONTIER_QUEUES",
        lambda values: values["FRONTIER_QUEUES"] <= values["FRONTIER_MAX_QUEUES"],
        "no more than FRONTIER_MAX_QUEUES = {FRONTIER_MAX_QUEUES}",
    ),
    Rule(
        "FRONTIER_QUEUES",
        lambda values: values["FRONTIER_QUEUES"] > 0 or values["CONCURRENT_REQUESTS"] > 0,
        "at least 1, because there is no default with CONCURRENT_REQUESTS = 0",
    ),
)


# -- checking

RETRIES = {"RETRY_ENABLED": True, "RETRY_TIMES": 2}  # Scrapy's defaults, for a crawl without Scrapy
UNFOCUSED = {"FOCUS_LANGUAGES": ()}  # the default of a setting that the table does not have
WITH_REVISITS = ("SITEMAPS", "FEED_LINKS")  # on with them, if nothing else is said
DEPRECATED = ("DNS_RESOLVER",)  # Scrapy warns whoever reads it
_CONTACT = re.compile(r"https?://[^\s/]|[^\s@]@[^\s@]")  # the address of a page, or of a mailbox
ARCHIVED_TRUNCATE = 64 << 20  # bytes of a body in a crawl that is to keep what it finds


class SettingError(ValueError):
    """A setting with an invalid value. The message is one line: name, value and what is allowed."""

    def __init__(self, name: str, value: object, allowed: str, detail: str = "") -> None:
        shown = dict(value) if isinstance(value, Mapping) else value
        reason = f" ({shortened(detail)})" if detail else ""
        line = f"{name} = {shortened(repr(shown))}: must be {allowed}{reason}"
        super().__init__(" ".join(line.split()))


def check(settings: Mapping[str, Any], given: Given = lambda _: False) -> CheckedSettings:
    """Return every setting of the tables as a plain value, defaults included. Raise SettingError.

    A Scrapy setting that the user has `given` also sets ours of the same meaning, unless ours was
    given. What goes before what: our setting as given, Scrapy's as given, our default.
    """
    theirs = _scrapys_values(settings, given)
    ours = translated(theirs, given)  # only those that were not given by our names
    # Scrapy's DOWNLOAD_DELAY has no upper bound beside it: a longer one raises ours.
    if "POLITENESS_MIN_DELAY" in ours and not given("POLITENESS_MAX_DELAY"):
        ours["POLITENESS_MAX_DELAY"] = max(
            ours["POLITENESS_MIN_DELAY"], defaults.POLITENESS_MAX_DELAY
        )
    if not given("RETRY_HTTP_CODES"):
        theirs["RETRY_HTTP_CODES"] = None  # Scrapy's default knows fewer than the frontier
    values = RETRIES | UNFOCUSED | theirs
    for name, kind in KINDS.items():
        values[name] = _read(name, kind, _written(name, ours, settings))
    # The rules judge what the user has set, and so come before what is filled in.
    _check_rules(values)
    _fill_in(values)
    is_truncate_given = "DOWNLOAD_TRUNCATE" in ours or given("DOWNLOAD_TRUNCATE")
    is_default = values["DOWNLOAD_TRUNCATE"] == defaults.DOWNLOAD_TRUNCATE
    if is_default and not is_truncate_given and _is_archive(values):
        values |= whole_bodies(values)
    return cast("CheckedSettings", values)


def _scrapys_values(settings: Mapping[str, Any], given: Given) -> dict[str, Any]:
    values = {}
    for name, kind in SCRAPYS.items():
        if name in DEPRECATED and not given(name):
            continue
        value = settings.get(name)
        if value is not None:
            values[name] = _read(name, kind, value)
    return values


def _fill_in(values: dict[str, Any]) -> None:
    """Set the values that follow from other settings where they were not given."""
    if values["REVISIT_POLICY"] != NONE:
        for name in WITH_REVISITS:
            if values[name] is None:
                values[name] = True
    if values["SITEMAPS"] is None and not values["URL_FOLLOW"]:
        values["SITEMAPS"] = False  # they are links
    if values["OBEY_NOFOLLOW"] is None:
        values["OBEY_NOFOLLOW"] = "search" in values["PURPOSE"]
    # No setting of the user's: `whole_bodies` bounds it where bodies beyond it are kept.
    values["READ_TRUNCATE"] = sys.maxsize
    if not values["FRONTIER_QUEUES"]:
        values["FRONTIER_QUEUES"] = _default_queues(values)


def _written(name: str, ours: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    """Return the value of a setting before it is checked.

    `ours`: the settings whose values come from Scrapy's of the same meaning.
    """
    if name in ours:
        return ours[name]
    if name in settings:
        return settings[name]
    return getattr(defaults, name)


def check_outputs(outputs: Iterable[str], values: CheckedSettings, given: object) -> None:
    """Raise SettingError if one of these outputs lacks a library or a setting.

    `given`: OUTPUTS as the user wrote it.
    """
    wanted = set(outputs)
    for name in sorted(wanted & LIBRARIES.keys()):
        missing_libraries = [library for library in LIBRARIES[name] if find_spec(library) is None]
        if missing_libraries:
            raise SettingError("OUTPUTS", given, f"without {name} ({missing(*missing_libraries)})")
    if "changes" in wanted and values["REVISIT_POLICY"] == NONE:
        reason = "without REVISIT_POLICY no page is fetched again"
        allowed = "without changes, or REVISIT_POLICY must be set"
        raise SettingError("OUTPUTS", given, allowed, reason)
    if "webhook" in wanted:
        _check_webhook(values, given)


def _check_webhook(values: CheckedSettings, given: object) -> None:
    """Raise SettingError if the output webhook lacks its address or its secret."""
    if values["WEBHOOK_URL"] is None:
        raise SettingError("OUTPUTS", given, "without webhook, or WEBHOOK_URL must be set")
    try:
        webhook_key(values["WEBHOOK_SECRET_FILE"])
    except (ValueError, OSError) as error:
        allowed = "a file with a secret, or WEBHOOK_SECRET must be in the environment"
        raise SettingError(
            "WEBHOOK_SECRET_FILE", values["WEBHOOK_SECRET_FILE"], allowed, str(error)
        ) from error


def check_contact(values: CheckedSettings, option: str = "user_agent=") -> None:
    """Raise SettingError if owners of sites could not find out whose crawl it is.

    Crawls of one's own network need no contact. `option`: how the user can give one.
    """
    has_contact = _CONTACT.search(values["USER_AGENT"]) or values["BOT_FROM"]
    if not (has_contact or values["PRIVATE_NETWORKS_ALLOWED"]):
        raise SettingError(
            "USER_AGENT",
            values["USER_AGENT"],
            f"one that says where you can be reached, as in {option}'mybot/1.0 (+https://example.org/bot)'",
        )


def whole_bodies(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by which large bodies are kept.

    No more of a document is read than without them.
    """
    return {"READ_TRUNCATE": values["DOWNLOAD_TRUNCATE"], "DOWNLOAD_TRUNCATE": ARCHIVED_TRUNCATE}


def _is_archive(values: Mapping[str, Any]) -> bool:
    """Return whether these settings are those of a crawl whose pages are to be kept whole."""
    is_for_replay = bool(values["REQUISITES"]) or "archive" in values["PURPOSE"]
    return is_for_replay or values["URL_SCOPE"] == "host"


def read(name: str, value: Any) -> Any:
    """Return the plain value of one setting, by itself. Raise SettingError if it is invalid."""
    return _read(name, KINDS.get(name) or SCRAPYS[name], value)


def read_for_host(name: str, value: Any) -> Any:
    """Return the plain value of a setting for one domain or host. Raise SettingError."""
    kind = OF_ONE_HOST.get(name)
    return read(name, value) if kind is None else _read(name, kind, value)


def changed(values: CheckedSettings, new: Mapping[str, Any]) -> CheckedSettings:
    """Return checked values with new ones for some settings. Raise SettingError as `check` does."""
    values = with_values(values, {name: read(name, value) for name, value in new.items()})
    _check_rules(values)
    return values


def _check_rules(values: Mapping[str, Any]) -> None:
    """Raise SettingError for the first rule between two settings that does not hold."""
    for rule in RULES:
        if not rule.holds(values):
            raise SettingError(rule.name, values[rule.name], rule.allowed.format(**values))


def _read(name: str, kind: SettingKind, value: Any) -> Any:
    """Return the value of a setting in the form that the crawl uses, or raise SettingError."""
    try:
        return kind.read(value)
    except Secret as error:
        # The value may be a secret: neither the message nor a traceback may have it.
        raise SettingError(name, error, kind.allowed, str(error)) from None
    except (ValueError, TypeError, OSError, OverflowError, RecursionError) as error:
        # RecursionError: `json` on a deeply nested value. OverflowError: `int` of infinity.
        shown = getattr(error, "shown", value)
        raise SettingError(name, shown, kind.allowed, str(error)) from error


def _default_queues(values: Mapping[str, Any]) -> int:
    """Three host queues per concurrent download, as the Mercator paper recommends."""
    return int(min(3 * values["CONCURRENT_REQUESTS"], values["FRONTIER_MAX_QUEUES"]))
