"""The settings of a crawler, checked, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from webcrawl.adapter.given import is_given
from webcrawl.adapter.jobdir import default_jobdir
from webcrawl.checks import SettingError, check
from webcrawl.net.errors import BadOption
from webcrawl.net.proxy import parse_proxy
from webcrawl.outputs import BESIDE, BRINGS, EXTRAS, NAMES, PIPELINES, READ_LINKS
from webcrawl.text.credentials import text_without_credentials

PROXIED = frozenset(("http", "https"))
_known: WeakKeyDictionary[Crawler, tuple[str, dict[str, Any]]] = WeakKeyDictionary()  # by the spider's name


def plain_values(settings: BaseSettings, spider: str) -> dict[str, Any]:
    """Every setting that webcrawl reads, Scrapy's included; SettingError if one has an impossible value."""
    if settings.getbool("HTTPPROXY_ENABLED"):
        _check_proxies(getproxies())
    values = check(settings, partial(is_given, settings))
    outputs = _outputs(settings, values)
    return {
        **values,
        "JOBDIR": values["JOBDIR"] or default_jobdir(spider),
        "OUTPUTS": outputs,
        "LINK_LOG": not READ_LINKS.isdisjoint(outputs),
        "ROBOTSTXT_USER_AGENT": settings["ROBOTSTXT_USER_AGENT"],
    }


def _outputs(settings: BaseSettings, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of OUTPUTS, and those whose pipelines ITEM_PIPELINES names; without those that it switches off."""
    theirs = {_path(pipeline): order for pipeline, order in settings.getdict("ITEM_PIPELINES").items()}
    wanted = set(values["OUTPUTS"])
    for name in NAMES:
        path, _ = PIPELINES[name]
        if path in theirs and theirs[path] is None:
            wanted.discard(name)
        elif path in theirs and name not in BESIDE and name not in BRINGS:
            wanted.add(name)
    for name in sorted(wanted & EXTRAS.keys()):
        package, extra = EXTRAS[name]
        if find_spec(package) is None:
            missing = f"{package} is not installed: pip install 'webcrawl[{extra}]'"
            raise SettingError("OUTPUTS", settings["OUTPUTS"], f"without {name}", missing)
    if "changes" in wanted and values["REVISIT_POLICY"] == "none":
        lack = "without it nothing is fetched again"
        raise SettingError("OUTPUTS", settings["OUTPUTS"], "without changes, or REVISIT_POLICY set", lack)
    return tuple(name for name in NAMES if name in wanted)


def _path(pipeline: Any) -> str:
    return pipeline if isinstance(pipeline, str) else f"{pipeline.__module__}.{pipeline.__qualname__}"


def _check_proxies(found: Mapping[str, str]) -> None:
    """The proxies that the environment names for every request."""
    for scheme in PROXIED & found.keys():
        try:
            parse_proxy(found[scheme])
        except BadOption as error:
            name, shown = f"{scheme}_proxy in the environment", text_without_credentials(found[scheme])
            raise SettingError(name, shown, "an http:// proxy: host and port, with or without credentials") from error


def values_of(crawler: Crawler) -> dict[str, Any]:
    """The values of a crawler, with its spider's custom settings; the dict is the caller's own.

    Some thirty components ask for them: that was more than a quarter of a crawl's start. So they are read once, when
    nothing can change them any more; the name is kept with them, for a spider may have another one than its class.
    """
    name = (crawler.spider or crawler.spidercls).name
    if not crawler.settings.frozen:
        return _values_of(crawler, name)
    known = _known.get(crawler)
    if known is None or known[0] != name:
        known = _known[crawler] = name, _values_of(crawler, name)
    return known[1].copy()


def _values_of(crawler: Crawler, name: str) -> dict[str, Any]:
    values = plain_values(crawler.settings, name)
    if getattr(crawler.spidercls, "chooses_links", False):  # by their texts, perhaps, and whatever their kind
        values["LINK_LOG"] = True
    return values
