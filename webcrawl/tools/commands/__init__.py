"""Scrapy's commands of this project, one per file, which has the command's name."""
