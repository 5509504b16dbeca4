"""`scrapy view`: opens a URL in the browser, as Scrapy sees it."""

from __future__ import annotations

from scrapy.commands.view import Command as ScrapysCommand

from webcrawl.adapter.plain_scrapy import PlainCommand


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""
