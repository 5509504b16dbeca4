"""The archive: every exchange of the crawl, byte for byte, in warc/*.warc.gz.

A `Page` is archived when it reaches the outputs, with what only the page knows: its title, and
whether its body was seen before. What nobody made a page of is archived as it came, before it is
booked.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from functools import partial
from random import SystemRandom
from typing import Any

from webcrawl import __version__
from webcrawl import settings as defaults
from webcrawl.base.model import Exchange, Link
from webcrawl.base.page_values import Change
from webcrawl.base.readable import text_without_credentials
from webcrawl.base.settings.checked_settings import CheckedSettings
from webcrawl.base.system import usable_cores
from webcrawl.content.page import Page
from webcrawl.content.purpose_bits import NONE, Preferences, Purpose
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.rules import purpose_of
from webcrawl.crawl.run import Run
from webcrawl.crawl.trip import when_finished
from webcrawl.record.warc.capture import RETRY_FIELD, CompressionQueue
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.errors import StoreError

MB = 1_000_000


class Warc(Output):
    """Archives a page before any other output sees it; its files are part of the checkpoint."""

    output = "warc"

    def __init__(self, values: CheckedSettings) -> None:
        super().__init__(values)
        self._writer: WarcWriter | None = None
        self._purpose = Purpose()
        self._obeys_noarchive = False

    def open(self, run: Run) -> None:
        """Open the WARC writer, and take on what no page is made of."""
        super().open(run)
        prefix, max_size = self.values["WARC_PREFIX"], self.values["WARC_MAX_SIZE"]
        # drones that start in the same second must not use the same names
        if self.values["HIVE_DRONES"]:
            prefix = f"{prefix}-{self.values['HIVE_DRONE']:03d}"
        self._purpose = purpose_of(self.values)
        self._obeys_noarchive = self._purpose.obeys_noarchive
        run.archiving.archive = self.archive
        run.archiving.end = self.close_spider
        self._writer = WarcWriter(
            run.crawl.parts.db,
            run.crawl.parts.outputs,
            WarcFiles(
                prefix,
                max_size * MB,
                _info(run.settings, self.values),
                indexed="cdxj" in self.values["OUTPUTS"],
            ),
            random=SystemRandom(),
            clock=time.time,
            # Compression leaves the event loop's thread: on two cores that has 0.82 times the work
            # (median of pairs of crawls).
            queue=CompressionQueue() if len(usable_cores()) > 1 else None,
        )

    def process_item(self, item: Any) -> Any:
        """Have a page archived when it finishes, and return it."""
        if isinstance(item, Page) and item.link is not None and item.exchange is not None:
            # a page that has changed may be what it was some time ago
            may_be_known = item.duplicate or item.change is Change.CHANGED
            write = partial(self._write, item, item.link, item.exchange, duplicate=may_be_known)
            try:
                when_finished(write)
            except Exception as error:  # noqa: BLE001 - whatever it is, this page is not archived: it must not be booked
                self.give_up(error)
        return item

    def archive(self, link: Link, exchange: Exchange) -> None:
        """Archive any other answer, of any spider.

        One with a payload that was archived recently becomes a revisit record.
        """
        page = self.run.visitor.unread(link, exchange)
        self._write(page, link, exchange, duplicate=200 <= exchange.status < 300)

    def _write(self, page: Page, link: Link, exchange: Exchange, *, duplicate: bool) -> None:
        """Write the records of an answer, once; only its head where its body may not be kept.

        `duplicate`: its payload may be archived already, and a record of it be referred to.
        """
        if self._writer is None or exchange.state.archived or not _is_record(exchange):
            return
        preferences = self._preferences(page)
        has_wish_that_counts = self._obeys_noarchive and preferences is not NONE
        forbids_archive = has_wish_that_counts and self._purpose.forbids(preferences, "archive")
        is_withheld = exchange.state.withheld is not None
        is_redirect = exchange.location is not None  # which is archived whole: it is its head
        metadata: dict[str, str] = {}
        if page.title:
            metadata["title"] = page.title
        if exchange.state.again:
            metadata[RETRY_FIELD] = "yes"
        if preferences is not NONE:
            metadata["preferences"] = str(preferences)
        if is_withheld or forbids_archive:
            metadata["withheld"] = "body"
        exchange.state.archived = self._writer.write(
            link,
            exchange,
            duplicate=duplicate,
            metadata=metadata,
            without_body=forbids_archive or (is_withheld and not is_redirect),
        )

    def _preferences(self, page: Page) -> Preferences:
        """Return what the owner says of the use of a page, NONE if nothing is known.

        The document is read for it only if its word counts.
        """
        if page.is_prerequisite:
            return NONE
        return page.preferences if self._obeys_noarchive else page.said_so_far

    def close_spider(self) -> None:
        if self._writer is not None:
            try:
                self._writer.close()
            except (StoreError, MemoryError) as error:
                self.run.fail(error)


def _is_record(exchange: Exchange) -> bool:
    """Return False for errors of protocols without heads.

    A record of such a protocol says "this is what the URL holds".
    """
    return bool(exchange.head) or exchange.status == 200


def _info(settings: Mapping[str, Any], values: CheckedSettings) -> dict[str, str]:
    """Return the settings of the crawl for readers of the archive, without credentials."""
    written = " ".join(
        f"{name}={settings.get(name)!r}" for name in sorted(vars(defaults)) if name.isupper()
    )
    return {
        "software": f"webcrawl/{__version__}",
        "http-header-user-agent": str(values["USER_AGENT"]),
        "robots": "obey" if values["ROBOTSTXT_OBEY"] else "ignore",
        "settings": text_without_credentials(written),
        **_origin(values),
    }


def _origin(values: CheckedSettings) -> dict[str, str]:
    """Return the fields of WARC 1.1, 6.2, that say whose crawl it is; none unless one is given."""
    given = {
        "operator": values["BOT_FROM"],
        "description": values["WARC_DESCRIPTION"],
        "isPartOf": values["WARC_COLLECTION"],
    }
    said = {name: value for name, value in given.items() if value}
    return {**said, "hostname": socket.gethostname()} if said else {}
