"""The last check of a URL before it is handed out: robots rules and exclusions may have changed while it waited."""

from __future__ import annotations

from typing import Protocol

from webcrawl.model import Link

Decision = int | float | Link | None
"""None or 0: fetch it. Another int: it ends here with this Status. A float: not before that time.

A Link: fetch this one first (it is of the same host), then check the URL again.
"""


class Admission(Protocol):
    """Called for each URL right before it would be handed out."""

    def __call__(self, link: Link, now: float, /) -> Decision: ...
