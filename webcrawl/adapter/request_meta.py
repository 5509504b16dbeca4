"""The keys of request.meta: options of the download, and keys that have no effect here.

An option that no client has raises BadOption. A key without effect is named in one warning.
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
from webcrawl.adapter.user_settings import enabled_components
from webcrawl.base.settings.setting_kinds import number
from webcrawl.crawl.download_outcomes import WHOLE
from webcrawl.net.environment_proxies import ALL, EnvironmentProxies, environment_proxies
from webcrawl.net.errors import BadOption
from webcrawl.net.protocols import PLAIN, Options, Proxy, local_address
from webcrawl.net.proxy import parse_proxy

# Our FTP client has none of these
FTP_KEYS = frozenset(("ftp_local_filename", "ftp_passive", "ftp_password", "ftp_user"))
OPTION_KEYS = (
    frozenset(("bindaddress", "download_maxsize", "download_timeout", "proxy", WHOLE)) | FTP_KEYS
)
TRUNCATING_OPTIONS = Options(truncates=True)
# As for the settings of the same meaning
MAX_TIMEOUT_SECONDS = 86_400.0
MAX_SIZE_BYTES = 2**31 - 1


class RequestOptions:
    """Reads the options of downloads from the meta of requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._environment = _environment(crawler)
        # Scrapy's middleware writes this value into each request
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")

    def of(self, request: Request) -> Options:
        """Return the options of a request, PLAIN if it has none.

        Raise BadOption if a value is out of bounds, or if the client of its protocol has no such
        option.
        """
        meta = request.meta
        if self._environment is None:
            # Nearly all requests: they cost only this test
            if OPTION_KEYS.isdisjoint(meta):
                return PLAIN
            # The only key of each request for a robots.txt
            if OPTION_KEYS & meta.keys() == {WHOLE}:
                return TRUNCATING_OPTIONS if _is_prerequisite(request) else PLAIN
        if request.url.startswith("ftp:"):
            _refuse_ftp_keys(meta)
        timeout = _bounded_number(meta, "download_timeout", MAX_TIMEOUT_SECONDS)
        options = Options(
            timeout=timeout if timeout != self._timeout else 0.0,
            maxsize=int(_bounded_number(meta, "download_maxsize", MAX_SIZE_BYTES)),
            proxy=self._proxy_of(request),
            bind=_bind_address(meta.get("bindaddress")),
            truncates=_is_prerequisite(request),
        )
        return PLAIN if options == PLAIN else options

    def _proxy_of(self, request: Request) -> Proxy | None:
        """Return the proxy that the request names, or else the environment's.

        `proxy` in its meta counts even if it is None, which asks for no proxy.
        """
        if self._environment is not None and "proxy" not in request.meta:
            return self._environment.of(request.url)
        return _proxy_of_meta(request)


def _refuse_ftp_keys(meta: dict[str, Any]) -> None:
    """Raise BadOption if the meta has an option that our FTP client does not have."""
    refused = sorted(FTP_KEYS & meta.keys())
    if refused:
        raise BadOption(
            f"{refused[0]}: cannot be set, because this FTP client logs in anonymously, is "
            "always passive, and writes no file"
        )


def _environment(crawler: Crawler) -> EnvironmentProxies | None:
    """Return the environment's proxies if requests need them from here, or None.

    They do unless Scrapy's middleware writes the proxies into requests, which does not know
    ALL_PROXY. The spider `web` has no middlewares, and uses the environment's proxies all the same.
    """
    has_middleware = crawler.get_downloader_middleware(HttpProxyMiddleware) is not None
    if has_middleware and ALL not in getproxies():
        return None
    return proxies_of(crawler.settings)


def proxies_of(settings: BaseSettings) -> EnvironmentProxies | None:
    """Return the proxies of the environment, or None if it names none or is ignored."""
    if not settings.getbool("HTTPPROXY_ENABLED"):
        return None
    return environment_proxies(settings["HTTPPROXY_AUTH_ENCODING"] or "utf-8")


def environment_proxy_set(settings: BaseSettings) -> frozenset[Proxy]:
    """Return all proxies that the environment names, empty if it is ignored.

    A failure of one of them is our network's, so the requests that need it wait.
    """
    proxies = proxies_of(settings)
    return proxies.all if proxies is not None else frozenset()


def _is_prerequisite(request: Request) -> bool:
    trip = trip_of(request)
    return trip is not None and trip.link is not None and trip.link.is_prerequisite


def _bounded_number(meta: dict[str, Any], key: str, maximum: float) -> float:
    """Return the number of a key, or 0 if the setting applies. Raise BadOption if out of bounds."""
    value = meta.get(key)
    try:
        result = number(value) if value is not None else 0
    except ValueError:
        # Refused below, as a number out of bounds is
        result = -1
    if not 0 <= result <= maximum:
        raise BadOption(f"{key} = {str(value)[:80]}: must be a number from 0 to {maximum:.0f}")
    return result


def _proxy_of_meta(request: Request) -> Proxy | None:
    url = request.meta.get("proxy")
    if not url:
        return None
    return parse_proxy(str(url), request.headers.get(b"Proxy-Authorization") or b"")


def _bind_address(value: Any) -> tuple[str, int] | None:
    try:
        return local_address(value) if value else None
    except ValueError as error:
        raise BadOption(f"bindaddress = {str(value)[:80]}: {error}") from error


logger = logging.getLogger(__name__)

_RETRIES = "the frontier retries by itself, and crawl.log has a line for each URL that was given up"
COOKIES = "cookiejar"
# Why a key has no effect, and the class of the component that would read it, empty if there is none
NO_EFFECT = {
    COOKIES: ("CookiesMiddleware is not enabled", "CookiesMiddleware"),
    "dont_obey_robotstxt": (
        "robots.txt is obeyed for all requests or, with ROBOTSTXT_OBEY = False, for none",
        "",
    ),
    "download_slot": ("there are no slots: every host has its own queue and wait", ""),
    "give_up_log_level": (_RETRIES, "RetryMiddleware"),
    "http_pass": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "http_user": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "priority_adjust": (_RETRIES, "RetryMiddleware"),
    "referrer_policy": ("RefererMiddleware is not enabled", "RefererMiddleware"),
}


class MetaWarnings:
    """Warns of keys without effect in the requests of a spider."""

    def __init__(self, settings: BaseSettings) -> None:
        components = enabled_components(settings)
        self._reasons = {
            key: reason
            for key, (reason, component) in NO_EFFECT.items()
            if component not in components
        }
        if not settings.getbool("COOKIES_ENABLED"):
            self._reasons.setdefault(COOKIES, "COOKIES_ENABLED is off")
        self._reason_against_cookies = self._reasons.get(COOKIES, "")

    def check(self, request: Request) -> None:
        """Warn of each key without effect when a request first has it."""
        if not self._reasons.keys().isdisjoint(request.meta):
            for key in sorted(self._reasons.keys() & request.meta.keys()):
                logger.warning(
                    "meta %s: no effect, %s (%s)", key, self._reasons.pop(key), request.url
                )
        if self._reason_against_cookies and request.cookies:
            logger.warning(
                "cookies of a request: no effect, %s (%s)",
                self._reason_against_cookies,
                request.url,
            )
            self._reason_against_cookies = ""
