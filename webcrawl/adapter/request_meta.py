"""The keys of request.meta: those that ask for something, and those without effect here.

What no client has is refused in a line; a key without effect is named in a warning, once.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.request import getproxies

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.settings import BaseSettings

from webcrawl.adapter.request_trip import trip_of
from webcrawl.adapter.user_settings import enabled
from webcrawl.base.settings.setting_kinds import number
from webcrawl.crawl.download_outcomes import WHOLE
from webcrawl.net.environment_proxies import ALL, EnvironmentProxies, environment_proxies
from webcrawl.net.errors import BadOption
from webcrawl.net.protocols import PLAIN, Options, Proxy, local_address
from webcrawl.net.proxy import parse_proxy

# the client has none of these
OF_FTP = frozenset(("ftp_local_filename", "ftp_passive", "ftp_password", "ftp_user"))
KEYS = frozenset(("bindaddress", "download_maxsize", "download_timeout", "proxy", WHOLE)) | OF_FTP
CUT = Options(cut=True)
LONGEST, LARGEST = 86_400.0, 2**31 - 1  # what the settings of the same meaning allow


class RequestOptions:
    """Reads options from requests; a request without any costs one look at its meta."""

    def __init__(self, crawler: Crawler) -> None:
        self._environment = _environment(crawler)
        # Scrapy's middleware writes it in each request
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")

    def of(self, request: Request) -> Options:
        """Return the options of a request. Raise BadOption."""
        meta = request.meta
        if self._environment is None:
            # Nearly all requests end here
            if KEYS.isdisjoint(meta):
                return PLAIN
            # Each robots.txt has this key
            if KEYS & meta.keys() == {WHOLE}:
                return CUT if _is_prerequisite(request) else PLAIN
        if request.url.startswith("ftp:"):
            _refuse_ftp_keys(meta)
        timeout = _number(meta, "download_timeout", LONGEST)
        options = Options(
            timeout=timeout if timeout != self._timeout else 0.0,
            maxsize=int(_number(meta, "download_maxsize", LARGEST)),
            proxy=self._proxy(request),
            bind=_bind(meta.get("bindaddress")),
            cut=_is_prerequisite(request),
        )
        return PLAIN if options == PLAIN else options

    def _proxy(self, request: Request) -> Proxy | None:
        """Return the request's proxy, or the environment's unless the request names one or none."""
        if self._environment is not None and "proxy" not in request.meta:
            return self._environment.of(request.url)
        return _proxy(request)


def _refuse_ftp_keys(meta: dict[str, Any]) -> None:
    """Raise BadOption if a request wants of FTP what the client has not."""
    given = sorted(OF_FTP & meta.keys())
    if given:
        raise BadOption(
            f"{given[0]}: cannot be set, because this FTP client logs in anonymously, is "
            "always passive, and writes no file"
        )


def _environment(crawler: Crawler) -> EnvironmentProxies | None:
    """Return the environment's proxies, unless Scrapy's middleware passes requests to all of them.

    It does not know ALL_PROXY.
    """
    # `web` has no middlewares, and obeys the environment all the same
    has_middleware = crawler.get_downloader_middleware(HttpProxyMiddleware) is not None
    if has_middleware and ALL not in getproxies():
        return None
    return proxies_of(crawler.settings)


def proxies_of(settings: BaseSettings) -> EnvironmentProxies | None:
    """Return the proxies of the environment, or None if it names none or is ignored."""
    if not settings.getbool("HTTPPROXY_ENABLED"):
        return None
    return environment_proxies(settings["HTTPPROXY_AUTH_ENCODING"] or "utf-8")


def our_proxies(settings: BaseSettings) -> frozenset[Proxy]:
    """Return the environment's proxies, unless it is ignored: what needs them waits for them."""
    proxies = proxies_of(settings)
    return proxies.all if proxies is not None else frozenset()


def _is_prerequisite(request: Request) -> bool:
    trip = trip_of(request)
    return trip is not None and trip.link is not None and trip.link.is_prerequisite


def _number(meta: dict[str, Any], key: str, most: float) -> float:
    """Return the number, or 0 for the settings' own. Raise BadOption if it is out of bounds."""
    value = meta.get(key)
    try:
        found = number(value) if value is not None else 0
    except ValueError:
        # Refused below, as a number out of bounds is
        found = -1
    if not 0 <= found <= most:
        raise BadOption(f"{key} = {str(value)[:80]}: must be a number from 0 to {most:.0f}")
    return found


def _proxy(request: Request) -> Proxy | None:
    url = request.meta.get("proxy")
    if not url:
        return None
    return parse_proxy(str(url), request.headers.get(b"Proxy-Authorization") or b"")


def _bind(value: Any) -> tuple[str, int] | None:
    try:
        return local_address(value) if value else None
    except ValueError as error:
        raise BadOption(f"bindaddress = {str(value)[:80]}: {error}") from error


logger = logging.getLogger(__name__)

_RETRY = "the frontier retries by itself, and crawl.log has a line for each URL that was given up"
COOKIES = "cookiejar"
# Why they have no effect, and the component that would read them, if one does
WHY = {
    COOKIES: ("CookiesMiddleware is not enabled", "CookiesMiddleware"),
    "dont_obey_robotstxt": (
        "robots.txt is obeyed for all requests or, with ROBOTSTXT_OBEY = False, for none",
        "",
    ),
    "download_slot": ("there are no slots: every host has its own queue and wait", ""),
    "give_up_log_level": (_RETRY, "RetryMiddleware"),
    "http_pass": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "http_user": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "priority_adjust": (_RETRY, "RetryMiddleware"),
    "referrer_policy": ("RefererMiddleware is not enabled", "RefererMiddleware"),
}


class UnheardMeta:
    """Looks at the requests that a spider makes."""

    def __init__(self, settings: BaseSettings) -> None:
        readers = enabled(settings)
        self._why = {key: why for key, (why, reader) in WHY.items() if reader not in readers}
        if not settings.getbool("COOKIES_ENABLED"):
            self._why.setdefault(COOKIES, "COOKIES_ENABLED is off")
        self._no_cookies = self._why.get(COOKIES, "")

    def check(self, request: Request) -> None:
        """Warn of each key when it is first met."""
        if not self._why.keys().isdisjoint(request.meta):
            for key in sorted(self._why.keys() & request.meta.keys()):
                logger.warning("meta %s: no effect, %s (%s)", key, self._why.pop(key), request.url)
        if self._no_cookies and request.cookies:
            logger.warning(
                "cookies of a request: no effect, %s (%s)", self._no_cookies, request.url
            )
            self._no_cookies = ""
