"""The one setting that lets Scrapy find this project's commands."""

COMMANDS_MODULE = "webcrawl.commands"
