"""The moments of a run at which pipelines and extensions are asked or called: lists that are made as they open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from webcrawl.adapter.page_end import Archiving

if TYPE_CHECKING:
    from webcrawl.content.page import Page


class RunMoments:
    """What takes part in no crawl is in no list."""

    def __init__(self) -> None:
        self.archiving = Archiving()
        self.sources: list[Callable[[], bool]] = []  # whether URLs may come from elsewhere; asked when nothing is left
        self.behind: list[Callable[[], bool]] = []  # whether something is left undone; asked when the crawl has ended
        self.at_hand: list[Callable[[Page], object]] = []  # what outputs look up of all pages at hand
        self.stops, self.ends = ExitStack(), ExitStack()  # what ends before the last checkpoint, and after it
