"""Endless families: pages whose shape suggests that there is no end of them, bounded per host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from webcrawl.urls.dates import DATE, MONTHLY
from webcrawl.urls.filters.bounded import BoundedSets
from webcrawl.urls.filters.lines import Lines, leave_out
from webcrawl.urls.hosts import host_of
from webcrawl.urls.sessions import PARAMETER, SEGMENT

if TYPE_CHECKING:
    from webcrawl.urls.filters.protocol import Origin, Setup

SESSION = rf"[?&](?:{PARAMETER})(?:&|$)|{SEGMENT}"
QUERY = r"\?(?:[^&]*&){4}"  # five parameters or more: a page for every combination in a form
DEEP = r"^[^/]+//[^/]+(?:/[^/?]+){11}"  # 36 of 50,000 real URLs are this deep (docs/urls.md)


class FamiliesFilter:
    """The first `pages` distinct URLs of each host and family pass, now and later; the others are dropped."""

    name = "trap_family"

    def __init__(self, pages: int, key: bytes, *, sessions: bool = True) -> None:
        kinds = {"calendar": MONTHLY, "query": QUERY, "deep": DEEP}
        if sessions:
            kinds["session"] = SESSION
        # DATE contains MONTHLY, and CalendarFilter makes the shared search look for it anyway.
        self.suspects = "|".join({**kinds, "calendar": DATE}.values())
        self._suspects = Lines(self.suspects)
        self._kinds = {kind: Lines(expression) for kind, expression in kinds.items()}
        self._taken = BoundedSets(pages, key)

    @classmethod
    def from_setup(cls, setup: Setup, /) -> Self | None:
        settings = setup.settings
        if not settings["TRAP_RULES"]:
            return None
        folded = any(path.endswith(".no_session_ids") for path in settings["URL_FOLDINGS"])
        return cls(settings["TRAP_MAX_PAGES"], setup.key, sessions=not folded)

    def keep(self, urls: list[str], _origin: Origin, /) -> list[str]:
        suspects = self._suspects.among(urls)
        if not suspects:
            return urls
        trapped: set[str] = set()
        for kind, lines in self._kinds.items():
            for url in lines.among(suspects):
                if url not in trapped and not self._taken.admit(f"{kind} {host_of(url)}", url):
                    trapped.add(url)
        return leave_out(urls, trapped)

    def state(self) -> bytes:
        return self._taken.state()

    def restore(self, state: bytes) -> None:
        self._taken.restore(state)
