"""`scrapy bench`: measures Scrapy itself, on a server of its own."""

from __future__ import annotations

from scrapy.commands.bench import Command as ScrapysCommand

from webcrawl.adapter.plain_scrapy import PlainCommand


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""
