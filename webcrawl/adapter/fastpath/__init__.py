"""The crawl in Scrapy's engine; the only package that uses Scrapy's private names."""

from webcrawl.adapter.fastpath.install import install

__all__ = ["install"]
