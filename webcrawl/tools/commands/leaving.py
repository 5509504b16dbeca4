"""`scrapy leaving`, as `scrapy optout` was called before."""

from webcrawl.tools.commands import optout


class Command(optout.Command):
    """`scrapy optout` under its earlier name."""

    same_as = "optout"
