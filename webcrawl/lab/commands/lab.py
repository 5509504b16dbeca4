"""`webcrawl lab`: the laboratory."""

from webcrawl.lab.members import Caches, Orderings, Simweb, Walks
from webcrawl.tools.tool_command import CommandGroup


class Command(CommandGroup):
    """One command per study; lab/members.py has them."""

    name = "lab"
    summary = "Experiments: URL caches, crawl orders, random walks, the synthetic web"
    members = {  # noqa: RUF012 - a constant of the class
        "caches": Caches,
        "orderings": Orderings,
        "walks": Walks,
        "simweb": Simweb,
    }
