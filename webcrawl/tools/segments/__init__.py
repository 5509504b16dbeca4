"""Offline crawling: what crawls left is sorted and merged into the next segment of URLs to crawl
(docs/segments.md).
"""
