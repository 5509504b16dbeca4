"""Says at the start who the crawl says it is, and what does not fit: administrators block crawlers without a name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Self

from scrapy.crawler import Crawler

from webcrawl import settings as defaults
from webcrawl.adapter.listeners import listening
from webcrawl.adapter.values import values_of
from webcrawl.base.program import program
from webcrawl.net.dns_records import ReverseNames
from webcrawl.net.errors import DnsFailed
from webcrawl.net.identity.identity_page import UNKNOWN, misfits
from webcrawl.net.identity.request_signing import form_and_origin
from webcrawl.net.identity.signing_key import SigningKey

logger = logging.getLogger(__name__)

PATIENCE = 60.0  # seconds for all questions about our addresses together


class Identity:
    """Warns of a USER_AGENT that is the default and of addresses whose names do not fit; names the key that signs."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._asking: asyncio.Task[None] | None = None

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
        if values["BOT_ADDRESSES"]:
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    def closed(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    async def _ask(self) -> None:
        try:
            asked = ReverseNames(self._values["DNS_NAMESERVERS"])
        except DnsFailed as error:
            logger.warning("BOT_ADDRESSES: %s", error)
            return
        try:
            async with asyncio.timeout(PATIENCE):
                found = await misfits(self._values["BOT_ADDRESSES"], asked)
        except TimeoutError:
            logger.warning("BOT_ADDRESSES: the name servers are too slow to tell whether their names fit")
            return
        finally:
            asked.close()
        if found:
            faults = any(not one.endswith(UNKNOWN) for one in found)
            what_follows = ": servers that check names will not know this crawl" if faults else ""
            logger.warning("BOT_ADDRESSES: %s%s", "; ".join(found), what_follows)
