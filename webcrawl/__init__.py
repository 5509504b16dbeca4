"""Mercator's web crawler, reborn as a Scrapy project."""
