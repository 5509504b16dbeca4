"""`scrapy lab`: the laboratory."""

from webcrawl.lab.commands import caches, orderings, simweb, walks
from webcrawl.tools.tool_command import CommandGroup


class Command(CommandGroup):
    """`scrapy caches`, `orderings`, `walks` and `simweb` are the same commands."""

    name = "lab"
    says = "Study URL caches, orders of crawling and random walks; serve the synthetic web"
    members = {  # noqa: RUF012 - a constant of the class
        "caches": caches.Command,
        "orderings": orderings.Command,
        "walks": walks.Command,
        "simweb": simweb.Command,
    }
