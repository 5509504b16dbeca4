"""Scrapy's commands of this project, one per file, which has the command's name.

Two files are no commands: `console` prints, and `crawl_queries` asks crawls that run.
"""
