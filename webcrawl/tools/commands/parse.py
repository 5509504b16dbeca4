"""`scrapy parse`: prints what a spider makes of a URL."""

from __future__ import annotations

from scrapy.commands.parse import Command as ScrapysCommand

from webcrawl.adapter.plain_scrapy import PlainCommand


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""
