"""Every setting of the crawl with its default, as Scrapy reads them: the table is `webcrawl.base.settings`.

docs/settings.md lists meanings and allowed values. An assignment at the end of this module replaces a default.
"""

from webcrawl.base import settings as _table

globals().update({name: one.default for name, one in _table.SETTINGS.items()})
