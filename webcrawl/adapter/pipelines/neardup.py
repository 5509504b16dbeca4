"""logs/neardup.log: a fingerprint of each page's text, of which near-duplicates share nearly all bits."""

from __future__ import annotations

from webcrawl.adapter.pipelines.output import LogPipeline
from webcrawl.content.page import Page


class NearDuplicatesPipeline(LogPipeline):
    """One line for each page."""

    output, path = "neardup", "logs/neardup.log"
    content_types = ("text/html", "application/xhtml+xml", "text/plain")

    def process_item(self, page: Page) -> None:
        if 200 <= page.status < 300:
            found = page.fingerprint
            self._log.write(f"{'-' if found is None else f'{found:016x}'}\t{page.url}\n".encode())
