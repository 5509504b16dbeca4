"""The settings of a crawler as checked, plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.request import getproxies
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.user_settings import is_given
from webcrawl.base.loading import path_of
from webcrawl.base.outputs import BESIDE, BRINGS, NAMES, PIPELINES, READ_LINKS, own_outputs
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.crawl.checks import check
from webcrawl.crawl.checks.check import check_outputs
from webcrawl.crawl.checks.proxies import check_proxies
from webcrawl.crawl.default_jobdir import default_jobdir

PLAIN_TYPES = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class _CachedValues:
    """The checked values of a crawler, and the settings from which they were read."""

    name: str  # of the spider
    # By name: priority, type and value. The type too, because True equals 1 and is not always
    # allowed.
    settings: dict[str, tuple[int | None, type, Any]]
    frozen: bool
    values: CheckedSettings


_cached_values: WeakKeyDictionary[Crawler, _CachedValues] = WeakKeyDictionary()


def plain_values(settings: BaseSettings, spider: str) -> CheckedSettings:
    """Return the checked value of every setting that webcrawl reads, Scrapy's included.

    `spider` is the spider's name, from which JOBDIR is derived if it is not set. Raise SettingError
    if a setting has an impossible value.
    """
    if settings.getbool("HTTPPROXY_ENABLED"):
        check_proxies(getproxies())
    values = check(settings, partial(is_given, settings))
    outputs = _outputs(settings, values)
    return with_values(
        values,
        {
            "JOBDIR": values["JOBDIR"] or default_jobdir(spider),
            "OUTPUTS": outputs,
            "LINK_LOG": not READ_LINKS.isdisjoint(outputs),
            "ROBOTSTXT_USER_AGENT": settings["ROBOTSTXT_USER_AGENT"],
        },
    )


def _outputs(settings: BaseSettings, values: CheckedSettings) -> tuple[str, ...]:
    """Return the outputs of OUTPUTS, with those that ITEM_PIPELINES adds, less those it switches off."""
    pipelines = settings.getdict("ITEM_PIPELINES")
    order_by_path = {path_of(pipeline): order for pipeline, order in pipelines.items()}
    wanted = set(values["OUTPUTS"])
    for name in NAMES:
        path, _ = PIPELINES[name]
        if path not in order_by_path:
            continue
        # As in Scrapy, None switches a component off
        if order_by_path[path] is None:
            wanted.discard(name)
            continue
        is_output_of_its_own = name not in BESIDE and name not in BRINGS
        if is_output_of_its_own:
            wanted.add(name)
    check_outputs(wanted, values, settings["OUTPUTS"])
    in_order = [name for name in NAMES if name in wanted]
    return (*in_order, *own_outputs(values["OUTPUTS"]))


def values_of(crawler: Crawler) -> CheckedSettings:
    """Return a copy of the values of a crawler, its spider's custom settings included.

    Some forty components ask for them, which took more than a quarter of a crawl's start. So they
    are read once, and again only if a setting has changed, as extensions may do while they are
    made, or if the spider has got another name than its class.
    """
    name = (crawler.spider or crawler.spidercls).name
    settings = crawler.settings
    known = _cached_values.get(crawler)
    if known is not None and known.name == name and known.frozen:
        return known.values.copy()
    state = _snapshot_of(settings)
    if known is not None and (known.name, known.settings) == (name, state):
        values = known.values
    else:
        values = _values_of(crawler, name)
    _cached_values[crawler] = _CachedValues(name, state, settings.frozen, values)
    return values.copy()


def _snapshot_of(settings: BaseSettings) -> dict[str, tuple[int | None, type, Any]]:
    """Return all settings in a form that can be compared with a later state of them."""
    state = {}
    for name in settings:
        setting = settings[name]
        state[name] = (settings.getpriority(name), type(setting), _copy_of(setting))
    return state


def _copy_of(setting: Any) -> Any:
    """Return a copy of a setting that stays as it is if the setting is changed in place."""
    # Most settings are plain, and the test for a Mapping takes ten times as long
    if isinstance(setting, PLAIN_TYPES):
        return setting
    if isinstance(setting, Mapping):
        return dict(setting)
    if isinstance(setting, (list, set)):
        return setting.copy()
    return setting


def drop_unrequested_sitemaps(values: CheckedSettings) -> None:
    """Switch SITEMAPS off unless the user has set it, for a spider that makes its own requests."""
    values["SITEMAPS"] = values["SITEMAPS"] or False


def _values_of(crawler: Crawler, name: str) -> CheckedSettings:
    values = plain_values(crawler.settings, name)
    # Its `links_to_follow` may choose by the texts of links, and links of any kind
    if getattr(crawler.spidercls, "chooses_links", False):
        values["LINK_LOG"] = True
    return values
