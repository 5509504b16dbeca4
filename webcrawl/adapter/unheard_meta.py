"""Keys of request.meta that have no effect here: each is named in a warning, once."""

from __future__ import annotations

import logging

from scrapy import Request
from scrapy.settings import BaseSettings

from webcrawl.adapter.given import enabled

logger = logging.getLogger(__name__)

_RETRY = "the frontier retries, and crawl.log has a line for each URL that is given up"
# Why they have no effect, and the component that would read them, if one does
WHY = {
    "cookiejar": ("COOKIES_ENABLED is off", "CookiesMiddleware"),
    "dont_obey_robotstxt": ("robots.txt is obeyed for all requests or, with ROBOTSTXT_OBEY = False, for none", ""),
    "download_slot": ("there are no slots: every host has its own queue and wait", ""),
    "give_up_log_level": (_RETRY, "RetryMiddleware"),
    "http_pass": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "http_user": ("HttpAuthMiddleware is not enabled", "HttpAuthMiddleware"),
    "priority_adjust": (_RETRY, "RetryMiddleware"),
    "referrer_policy": ("RefererMiddleware is not enabled", "RefererMiddleware"),
}
COOKIES = "cookies"


class UnheardMeta:
    """Looks at the requests that a spider makes."""

    def __init__(self, settings: BaseSettings) -> None:
        readers = enabled(settings)
        if not settings.getbool("COOKIES_ENABLED"):
            readers.discard("CookiesMiddleware")
        self._why = {key: why for key, (why, reader) in WHY.items() if reader not in readers}
        self._cookies = "cookiejar" in self._why

    def check(self, request: Request) -> None:
        """Warns of each key when it is first met."""
        if not self._why.keys().isdisjoint(request.meta):
            for key in sorted(self._why.keys() & request.meta.keys()):
                logger.warning("meta %s: no effect, %s (%s)", key, self._why.pop(key), request.url)
        if self._cookies and request.cookies:
            self._cookies = False
            logger.warning("cookies of a request: no effect, COOKIES_ENABLED is off (%s)", request.url)
