"""Offline crawling: what crawls left becomes the next segment of URLs (docs/reprocess-and-since.md)."""
