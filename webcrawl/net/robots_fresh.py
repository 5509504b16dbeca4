"""When a robots.txt is looked at again before its rules expire (docs/robots.md#how-soon-it-is-fetched-again)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from webcrawl.model import Exchange
from webcrawl.net.max_age import max_age
from webcrawl.net.validators import Validators, validators

HOUR, DAY = 3600.0, 86_400.0
BUSY = 100  # URLs since the last look: one look costs at most a hundredth of the host's requests
LONGEST = 128  # bytes of an entity tag
NONE = Validators()
NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Fresh:
    """When to look again if the host is busy, and how. `step`: seconds from the last look to the next."""

    soon: float
    step: float = DAY
    validators: Validators = NONE
    sitemaps: bool = False  # those that the file names were read too

    @property
    def weight(self) -> int:
        """Bytes of memory, about."""
        return 150 + sum(100 + len(value) for value in self.validators if value)

    def says_more(self, until: float) -> bool:
        """Than that the rules are fetched again at this time."""
        return self.soon != until or self.step != DAY or any(self.validators)


class Head(NamedTuple):
    """What the head of a robots.txt answer says of its future."""

    validators: Validators = NONE
    max_age: float | None = None  # seconds; None if it does not say

    def completed(self, before: Fresh | None) -> Head:
        """Of a 304: what it does not repeat still holds."""
        if before is None:
            return self
        return self._replace(validators=self.validators.completed(before.validators))


def head_of(exchange: Exchange) -> Head:
    """Of a body that is not whole no validators are kept: its rules may not be all."""
    headers = exchange.headers
    is_whole = 200 <= exchange.status < 300 and exchange.truncated in ("", "length")
    if not is_whole and exchange.status != NOT_MODIFIED:
        return Head(NONE, max_age(headers))
    return Head(validators(headers, exchange.started, longest=LONGEST), max_age(headers))


def look(now: float, before: Fresh | None, *, changed: bool, head: Head) -> Fresh:
    """After an hour if the rules have just changed, and then at intervals that double up to a day.

    With a day begin those of which only one answer is known. What the server says counts within the same bounds.
    """
    step = min(2 * before.step, DAY) if before is not None else DAY
    if changed:
        step = HOUR
    soon = step if head.max_age is None else min(step, max(head.max_age, HOUR))
    read = before is not None and before.sitemaps
    return Fresh(now + soon, step, head.validators, read)
