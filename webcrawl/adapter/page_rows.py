"""Pages in feeds as rows that people read. With FEED_EXPORT_FIELDS, or `fields` of a feed, they are as Scrapy has them.

A row with every field of a page would be its body three times over: in base64, as text, and in the links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter

from webcrawl.content.page import Page

if TYPE_CHECKING:
    from scrapy.exporters import BaseItemExporter

    class Exporter(BaseItemExporter):  # noqa: D101 - for type checkers only
        def export_item(self, item: Any) -> None: ...
else:
    Exporter = object


def row_of(page: Page) -> dict[str, Any]:
    """The address, what a reader sees, and where the links lead."""
    return {
        "url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        "title": page.title,
        "text": page.visible_text,
        "links": list(dict.fromkeys(link.url for link in page.links if link.url)),
        "depth": page.depth,
        "via": page.via,
        "fetched_at": page.fetched_at,
    }


class PageRows(Exporter):
    """A mixin for Scrapy's exporters. Items of other kinds pass as they are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._chosen = self.fields_to_export is not None  # CsvItemExporter sets it with its first row

    def export_item(self, item: Any) -> None:
        super().export_item(row_of(item) if isinstance(item, Page) and not self._chosen else item)


class Csv(PageRows, CsvItemExporter):
    """`-o pages.csv`."""


class Json(PageRows, JsonItemExporter):
    """`-o pages.json`."""


class JsonLines(PageRows, JsonLinesItemExporter):
    """`-o pages.jsonl`."""


class Xml(PageRows, XmlItemExporter):
    """`-o pages.xml`."""
