"""tags.tsv: how often each HTML element occurs in the crawl (Mercator's tag counter)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from webcrawl.content.html.tag_counts import TagCounts, start_tags
from webcrawl.content.page import Page
from webcrawl.crawl.outputs.output import Output
from webcrawl.crawl.trip import when_finished
from webcrawl.store.disk import rewrite
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.log_lines import TAGS_POSITION

# In which a `<` may be half of a character
FOREIGN = frozenset(("utf-16le", "utf-16be", "iso-2022-jp"))


class Tags(Output):
    """Counts start tags. The counts are its position in the checkpoint; the file is a copy of them for people."""

    output = "tags"
    state_name = TAGS_POSITION.removeprefix("pipeline.")
    content_types = ("text/html", "application/xhtml+xml")

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._counts = TagCounts()

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            body = page.text.encode() if page.find_encoding() in FOREIGN else page.body
            when_finished(partial(self._counts.add, start_tags(body)))

    def restore(self, position: Sequence[Sequence[str | int]] | None) -> None:
        self._counts = TagCounts(position or ())

    def checkpoint(self) -> list[tuple[str, int, int]]:
        rows = self._counts.rows()
        if self.run.crawl.parts.db.presence.taken_away() is None:  # the checkpoint is about to fail
            lines = "".join(f"{name}\t{elements}\t{pages}\n" for name, elements, pages in rows)
            path = self.folder / "tags.tsv"
            try:
                rewrite(path, lines.encode())
            except OSError as error:
                raise StoreError(f"{path}: {error}") from error
        return rows
