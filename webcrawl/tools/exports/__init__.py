"""The members of `scrapy export`, one per file."""
