"""The moments of a run at which pipelines and extensions are asked or called, and its end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.crawl.page_end import Archiving

if TYPE_CHECKING:
    from webcrawl.content.page import Page


@dataclass(slots=True)
class RunEnd:
    """What is known so far of the end of a run."""

    begun: bool = False
    reason: str = ""
    lost: int = 0  # requests of the spider, in this run and those that were killed before
    unclosed: bool = False  # a pipeline was not waited for


class RunMoments:
    """Lists that are made as pipelines and extensions open: what takes part in no crawl is in none."""

    def __init__(self) -> None:
        self.archiving = Archiving()
        self.sources: list[Callable[[], bool]] = []  # whether URLs may come from elsewhere; asked when nothing is left
        self.behind: list[Callable[[], bool]] = []  # whether something is left undone; asked when the crawl has ended
        self.at_hand: list[Callable[[Page], object]] = []  # what outputs look up of all pages at hand
        self.stops, self.ends = ExitStack(), ExitStack()  # what ends before the last checkpoint, and after it
