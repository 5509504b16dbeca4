"""The last word on a URL whose turn has come: robots rules, exclusions, whatever may have changed while it waited."""

from __future__ import annotations

from typing import Protocol

from webcrawl.model import Link

Decision = int | float | Link | None
"""None or 0: it may be asked for. Another int: it ends here, with this Status. A float: not before that time.

A Link: that one must be asked for first, of the same host; then the URL's turn comes again.
"""


class Admission(Protocol):
    """Asked for each URL right before it would be handed out."""

    def __call__(self, link: Link, now: float, /) -> Decision: ...
