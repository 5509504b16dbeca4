"""Items as JSON, for pipelines that have one encoder for all: pages have bytes in some of their fields."""

from __future__ import annotations

from typing import Any

from itemadapter import ItemAdapter
from scrapy.utils.serialize import ScrapyJSONEncoder

from webcrawl.content.page import Page

LEFT_OUT = frozenset(("body", "text"))  # they would fill a server's memory; the archive has them
encode = ScrapyJSONEncoder().encode


def to_json(item: Any) -> str:
    """A page as a JSON feed has it, but without its body; of any other item what Scrapy makes of it."""
    return str(encode(_fields(item) if isinstance(item, Page) else item))


def _fields(page: Page) -> dict[str, Any]:
    adapter = ItemAdapter(page)
    return {name: _plain(adapter, name) for name in adapter.field_names() if name not in LEFT_OUT}


def _plain(adapter: ItemAdapter, name: str) -> Any:
    serializer = adapter.get_field_meta(name).get("serializer")
    return serializer(adapter[name]) if serializer is not None else adapter[name]
