"""Says at the start who the crawl says it is: administrators block crawlers without a name."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

from scrapy.crawler import Crawler

from webcrawl import settings as defaults
from webcrawl.adapter.listeners import listening
from webcrawl.adapter.values import values_of
from webcrawl.base.program import program
from webcrawl.net.identity.request_signing import form_and_origin
from webcrawl.net.identity.signing_key import SigningKey

logger = logging.getLogger(__name__)


class Identity:
    """Warns of a USER_AGENT that is the default; names the key that signs."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return listening(crawler, cls(values_of(crawler)))

    def opened(self) -> None:
        values = self._values
        if values["USER_AGENT"] == defaults.USER_AGENT:
            logger.warning(
                "USER_AGENT is the default, %r: add a page or an address where you can be reached, "
                "as in -s USER_AGENT='mybot/1.0 (+https://example.org/bot)'",
                defaults.USER_AGENT,
            )
        if values["BOT_KEY"] is not None:
            keyid, (_, agent) = SigningKey.read(values["BOT_KEY"]).keyid, form_and_origin(values["BOT_AGENT"])
            check = f"{program()} identity verify {agent}"
            logger.info("requests are signed: key %s, directory %s (%s)", keyid, agent, check)

    def closed(self) -> None:
        """There is nothing to end."""
