"""The members of `scrapy lab`, one per file."""
