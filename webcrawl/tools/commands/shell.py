"""`scrapy shell`: opens a Python console on a URL."""

from __future__ import annotations

from scrapy.commands.shell import Command as ScrapysCommand

from webcrawl.adapter.plain_scrapy import PlainCommand


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""
