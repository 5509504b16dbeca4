"""Requests of a spider on their way into the crawl: each becomes a link, or is refused, and nothing raises."""

from __future__ import annotations

import logging
from collections.abc import Callable

from scrapy import Request, Spider
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest

from webcrawl.adapter.request_links import CannotBeKept, is_start, to_link, variant
from webcrawl.adapter.request_meta import UnheardMeta
from webcrawl.base.model import Link
from webcrawl.crawl.parts import Parts
from webcrawl.store.errors import StoreError
from webcrawl.urls.canonical import InvalidUrl

logger = logging.getLogger(__name__)


class Intake:
    """Passes requests by the seen test, and keeps them as links."""

    def __init__(
        self,
        parts: Parts,
        spider: Spider,
        dupefilter: BaseDupeFilter,
        unheard: UnheardMeta,
        fail: Callable[[Exception], None],
        *,
        classes: bool,
    ) -> None:
        """`classes`: links may name those of requests; in letters of a hive they may not, for it would be loaded."""
        self._parts, self._spider, self._dupefilter, self._unheard = parts, spider, dupefilter, unheard
        self._fail, self._classes = fail, classes
        self._told: set[str] = set()

    def link_of(self, request: Request) -> Link:
        """The link that is kept for a request."""
        return to_link(request, self._spider, classes=self._classes)

    def take(self, request: Request) -> bool:
        """Accepts any request of a spider or middleware. Nothing may raise here: Scrapy would hang."""
        try:
            self._unheard.check(request)
            # Start requests pass the seen test although Scrapy marks them dont_filter: a crawl may be resumed.
            free = request.dont_filter and not is_start(request)
            if free or not self._dupefilter.request_seen(request):
                self._parts.discovery.insert(self.link_of(request), variant(request))
        except IgnoreRequest as error:
            self._tell_once(str(error), request, error)
            return False
        except InvalidUrl as error:  # Scrapy has handlers for some of these, data: and file:
            self._tell_once(error.reason, request, error)
            self._parts.pipeline.filtered[error.reason] += 1
            return False
        except (StoreError, OSError, MemoryError) as error:
            self._fail(error)
            return False
        except CannotBeKept as error:
            self._parts.unkept.add(error.kind, f"{request} cannot be kept on disk: {error}")
            return False
        except Exception as error:  # a filter's, or a dupefilter's of the user's own
            logger.exception("%s cannot be kept on disk", request)
            self._parts.unkept.add(type(error).__name__, f"{request} cannot be kept on disk")
            return False
        return True

    def _tell_once(self, kind: str, request: Request, error: Exception) -> None:
        if kind not in self._told:
            self._told.add(kind)
            logger.warning("%s cannot be crawled: %s; others like it are only counted", request, error)
