"""Every setting of the crawl with its default, as Scrapy reads them.

docs/settings.md lists meanings and allowed values. An assignment at the end of this module replaces
a default.
"""

from webcrawl.base import settings as _table

globals().update(_table.DEFAULTS)
