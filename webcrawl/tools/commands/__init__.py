"""Scrapy's commands of this project, one per file, which has the command's name.

Three files are no commands: `console` prints, `crawl_queries` asks crawls that run, and `interrupts` handles signals.
"""
