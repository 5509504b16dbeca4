"""Where what bounds a crawl is looked at."""

from webcrawl.adapter.archive_reading import EXTENSIONS
from webcrawl.adapter.extensions.bound import Bound


def test_archives_are_not_looked_at():
    """`scrapy process` fetches nothing: it has no clients to look at, and switches this off."""
    path = f"{Bound.__module__}.{Bound.__qualname__}"
    assert EXTENSIONS[path] is None
