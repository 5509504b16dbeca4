"""The settings of a crawler, checked, as plain values."""

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

PLAIN = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class _Read:
    """The values of a crawler, and what they were read from."""

    name: str  # of the spider
    # the type too: True is 1, but not everywhere allowed
    settings: dict[str, tuple[int | None, type, Any]]
    frozen: bool
    values: CheckedSettings


_known: WeakKeyDictionary[Crawler, _Read] = WeakKeyDictionary()


def plain_values(settings: BaseSettings, spider: str) -> CheckedSettings:
    """Return every setting that webcrawl reads, Scrapy's included.

    Raise SettingError if one has an impossible value.
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
    """Return the outputs of OUTPUTS, with those that ITEM_PIPELINES adds or switches off."""
    pipelines = settings.getdict("ITEM_PIPELINES")
    order_by_path = {path_of(pipeline): order for pipeline, order in pipelines.items()}
    wanted = set(values["OUTPUTS"])
    for name in NAMES:
        path, _ = PIPELINES[name]
        if path not in order_by_path:
            continue
        # None switches a component off, as in Scrapy
        if order_by_path[path] is None:
            wanted.discard(name)
        elif name not in BESIDE and name not in BRINGS:
            wanted.add(name)
    check_outputs(wanted, values, settings["OUTPUTS"])
    in_order = [name for name in NAMES if name in wanted]
    return (*in_order, *own_outputs(values["OUTPUTS"]))


def values_of(crawler: Crawler) -> CheckedSettings:
    """Return the values of a crawler, its spider's custom settings included; the dict is a copy.

    Some forty components ask for them: that was more than a quarter of a crawl's start. So they are
    read once, and again only if a setting has changed, which extensions may do while they are made;
    the name is kept with them, for a spider may have another one than its class.
    """
    name = (crawler.spider or crawler.spidercls).name
    settings = crawler.settings
    known = _known.get(crawler)
    if known is not None and known.name == name and known.frozen:
        return known.values.copy()
    state = _state_of(settings)
    if known is not None and (known.name, known.settings) == (name, state):
        values = known.values
    else:
        values = _values_of(crawler, name)
    _known[crawler] = _Read(name, state, settings.frozen, values)
    return values.copy()


def _state_of(settings: BaseSettings) -> dict[str, tuple[int | None, type, Any]]:
    """Return all settings in a form that differs once one of them has changed."""
    state = {}
    for name in settings:
        setting = settings[name]
        state[name] = (settings.getpriority(name), type(setting), _as_it_is(setting))
    return state


def _as_it_is(setting: Any) -> Any:
    """Return a copy that a change of the setting in place does not reach."""
    # Most are: the next question takes ten times as long
    if isinstance(setting, PLAIN):
        return setting
    if isinstance(setting, Mapping):
        return dict(setting)
    if isinstance(setting, (list, set)):
        return setting.copy()
    return setting


def drop_unasked_sitemaps(values: CheckedSettings) -> None:
    """Switch sitemaps off, unless the user has asked for them: a spider makes its own requests."""
    values["SITEMAPS"] = values["SITEMAPS"] or False


def _values_of(crawler: Crawler, name: str) -> CheckedSettings:
    values = plain_values(crawler.settings, name)
    # it may choose by the texts of links, and links of any kind
    if getattr(crawler.spidercls, "chooses_links", False):
        values["LINK_LOG"] = True
    return values
