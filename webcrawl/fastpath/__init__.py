"""What makes Scrapy's engine ten times faster, and nothing else; alone in the house with Scrapy's private names."""

from webcrawl.fastpath.install import install

__all__ = ["install"]
