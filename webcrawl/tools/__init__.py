"""Commands, and programs that read finished or running crawls.

Each command is a file in `commands`. Commands that are no crawl run without Scrapy: `tool_command`.
"""
