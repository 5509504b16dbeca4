"""tags.tsv: how often each HTML element occurs in the crawl (Mercator's tag counter)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from webcrawl.adapter.scheduler import scheduler_of
from webcrawl.adapter.values import values_of
from webcrawl.content.html.tag_counts import TagCounts, start_tags
from webcrawl.content.page import Page
from webcrawl.crawl.trip import when_finished
from webcrawl.store.disk import rewrite
from webcrawl.store.errors import StoreError

# In which a `<` may be half of a character
FOREIGN = frozenset(("utf-16le", "utf-16be", "iso-2022-jp"))


class TagsPipeline:
    """Counts start tags. The counts are its position in the checkpoint; the file is a copy of them for people."""

    content_types = ("text/html", "application/xhtml+xml")

    def __init__(self, crawler: Crawler, folder: Path) -> None:
        self._crawler, self._path = crawler, folder / "tags.tsv"
        self._counts = TagCounts()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        values = values_of(crawler)
        if "tags" not in values["OUTPUTS"]:
            raise NotConfigured
        return cls(crawler, Path(values["JOBDIR"]))

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            body = page.text.encode() if page.find_encoding() in FOREIGN else page.body
            when_finished(partial(self._counts.add, start_tags(body)))

    def restore(self, position: Sequence[Sequence[str | int]] | None) -> None:
        self._counts = TagCounts(position or ())

    def checkpoint(self) -> list[tuple[str, int, int]]:
        rows = self._counts.rows()
        if scheduler_of(self._crawler).crawl.parts.db.presence.taken_away() is None:  # the checkpoint is about to fail
            lines = "".join(f"{name}\t{elements}\t{pages}\n" for name, elements, pages in rows)
            try:
                rewrite(self._path, lines.encode())
            except OSError as error:
                raise StoreError(f"{self._path}: {error}") from error
        return rows
