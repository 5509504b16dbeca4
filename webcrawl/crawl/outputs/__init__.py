"""The outputs of a crawl: what is written of its pages.

Each has the methods of a Scrapy item pipeline.
"""
