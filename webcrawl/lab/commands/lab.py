"""`scrapy lab`: the laboratory."""

from webcrawl.lab.members import caches, orderings, simweb, walks
from webcrawl.tools.tool_command import CommandGroup


class Command(CommandGroup):
    """One command per study; each is in lab/members."""

    name = "lab"
    says = "Study URL caches, orders of crawling and random walks; serve the synthetic web"
    members = {  # noqa: RUF012 - a constant of the class
        "caches": caches.Command,
        "orderings": orderings.Command,
        "walks": walks.Command,
        "simweb": simweb.Command,
    }
