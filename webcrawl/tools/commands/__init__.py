"""Scrapy's commands of this project, one per file, which has the command's name.

`console` is no command: it prints for them.
"""
