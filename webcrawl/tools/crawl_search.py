"""Opens the full-text search of a crawl or a hive, without pages that their owners had deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl.store.jobdir.crawls import crawls_of

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_search import SearchAll


def search_of(jobdir: Path) -> SearchAll:
    """Return the search of all full-text indexes of a crawl or a hive.

    Raise ImportError without tantivy, StoreError or OSError if no index can be read.
    """
    from webcrawl.record.fulltext.text_search import SearchAll  # noqa: PLC0415 - tantivy is optional
    from webcrawl.tools.optout_records import records_of  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.urls.exclusion_rules import Forgotten  # noqa: PLC0415 - as above

    crawls = crawls_of(jobdir)
    return SearchAll(crawls, Forgotten(records_of(crawls)))
