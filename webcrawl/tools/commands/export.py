"""`scrapy export`: what others can open or keep, made of a crawl."""

from webcrawl.tools.commands import store, wacz
from webcrawl.tools.tool_command import CommandGroup


class Command(CommandGroup):
    """`scrapy wacz` and `scrapy store` are the same commands."""

    name = "export"
    says = "Pack a crawl's archive into one WACZ file, or copy its finished files to a store"
    members = {"wacz": wacz.Command, "store": store.Command}  # noqa: RUF012 - a constant of the class
