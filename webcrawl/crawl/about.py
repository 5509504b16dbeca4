"""What a running crawl knows of single URLs, and its last checkpoint does not."""

from __future__ import annotations

from typing import Any

from webcrawl.crawl.discovery import Discovery
from webcrawl.crawl.elsewhere import Elsewhere
from webcrawl.frontier.protocol import Frontier


class About:
    """Nothing changes by being asked."""

    def __init__(self, discovery: Discovery, frontier: Frontier, elsewhere: Elsewhere | None) -> None:
        self._discovery, self._frontier, self._elsewhere = discovery, frontier, elsewhere
        self.pause = frontier.look.pause  # for how long a host was left alone before a request made now, and why

    def __repr__(self) -> str:
        return f"<About {self._discovery!r}>"

    def __call__(self, url: str) -> dict[str, Any]:
        """`known`: a link to it was found lately, and is this crawl's own. `in_flight`: it is being fetched."""
        ours = self._elsewhere is None or self._elsewhere.is_ours(url)
        return {"known": ours and self._discovery.heard_of(url), "in_flight": self._frontier.look.in_flight(url)}
