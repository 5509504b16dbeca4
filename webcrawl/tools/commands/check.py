"""`scrapy check`: runs the contracts of spiders."""

from __future__ import annotations

from scrapy.commands.check import Command as ScrapysCommand

from webcrawl.adapter.plain_scrapy import PlainCommand


class Command(PlainCommand, ScrapysCommand):
    """Scrapy's own command, by plain Scrapy: no crawl is opened."""
