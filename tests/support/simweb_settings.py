"""The one setting by which Scrapy finds this project's commands."""

COMMANDS_MODULE = "webcrawl.commands"
