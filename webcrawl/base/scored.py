"""What a scorer says of one page: it travels from the scorer's process to prioritizers, tables and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Scored(NamedTuple):
    """Scores are from 0 to 1; None where there is none."""

    score: float | None
    language: str = ""  # as its text shows, else as it declares; ISO 639
    fits: float | None = None  # whether that is one of FOCUS_LANGUAGES
    anchors: Mapping[str, float] = {}  # of the texts of its links, by canonical URL
    tongues: Mapping[str, float] = {}  # what hreflang says of links: 1 for a wanted language, 0 for another one
    flaw: str = ""  # why there is no score although there should be one


UNSCORED = Scored(None, flaw="the scorer rests after failures")
