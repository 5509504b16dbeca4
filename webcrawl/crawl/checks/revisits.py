"""The kinds of values of REVISIT_POLICY and REVISIT_IMPORTANCE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webcrawl.base.loading import load
from webcrawl.base.settings.setting_kinds import text
from webcrawl.crawl.checks.code import Dotted
from webcrawl.crawl.revisit.importance import IMPORTANCES
from webcrawl.crawl.revisit.policy import POLICIES

NONE = "none"


@dataclass(frozen=True, slots=True)
class Shipped:
    """One of a few words, in any case, or a dotted path; the plain value is the dotted path, or none."""

    known: Mapping[str, str]
    none: bool = False  # whether `none` is one of the words
    has: tuple[str, ...] = ()  # what the class must have

    @property
    def allowed(self) -> str:
        words = [*([NONE] if self.none else []), *self.known]
        return f"one of {', '.join(words)}, or {Dotted().allowed}"

    def read(self, value: Any, /) -> str:
        word = text(NONE if value is None and self.none else value)
        if self.none and word.lower() == NONE:
            return NONE
        path = Dotted().read(self.known.get(word.lower(), word))
        missing = [name for name in self.has if not hasattr(load(path), name)]
        if missing:
            raise ValueError(f"{path} has no {missing[0]}")
        return path


OF_A_POLICY = "early", "observe", "due", "worth", "took", "spared", "state", "restore"
REVISIT_POLICY = Shipped(POLICIES, none=True, has=OF_A_POLICY)
REVISIT_IMPORTANCE = Shipped(IMPORTANCES)
