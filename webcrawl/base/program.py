"""The command that the user has run, for hints that name what to run next.

`webcrawl` says so in the environment, where the processes that it starts find it; everything else is Scrapy's.
"""

from __future__ import annotations

import os

NAME = "WEBCRAWL_PROGRAM"


def program() -> str:
    """The word before a command."""
    return os.environ.get(NAME, "scrapy")
