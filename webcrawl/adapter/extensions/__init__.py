"""Scrapy's extensions, one per file, by the names in `EXTENSIONS_BASE`."""
