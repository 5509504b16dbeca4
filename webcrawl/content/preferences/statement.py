"""One statement of an owner's, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from webcrawl.content.preferences import purpose_bits

ROBOTS, HEADER, DOCUMENT, EARLIER = "robots.txt", "header", "document", "earlier"  # who says it


class Statement(NamedTuple):
    """Where it is said, by which field, and what: bits of `purpose_bits`."""

    source: str
    field: str
    said: int

    def __str__(self) -> str:
        return f"{self.source} {self.field} {' '.join(purpose_bits.words(self.said))}"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences that an owner states of a page, by whatever way; falsy if there are none.

    Of two statements the more restrictive one applies (draft-ietf-aipref-vocab-08, 5.1).
    """

    statements: tuple[Statement, ...] = ()
    licenses: tuple[str, ...] = ()  # addresses of RSL documents
    policy: str = ""  # address of a TDM policy

    def __bool__(self) -> bool:
        return bool(self.statements or self.licenses or self.policy)

    def __str__(self) -> str:
        """All of it in one line."""
        parts = [str(one) for one in self.statements]
        parts += [f"license {one}" for one in self.licenses]
        return "; ".join([*parts, *([f"tdm-policy {self.policy}"] if self.policy else [])])

    @property
    def said(self) -> int:
        """All statements in one."""
        return purpose_bits.combined(one.said for one in self.statements)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """The purposes that any of them forbids."""
        return purpose_bits.names(purpose_bits.forbidden(self.said))

    @property
    def allowed(self) -> tuple[str, ...]:
        """The purposes that one of them allows, and none forbids."""
        return purpose_bits.names(purpose_bits.allowed(self.said))

    @property
    def directives(self) -> frozenset[str]:
        """`noindex`, `nofollow`, `noarchive`, `noimageai`: those that were said, in a robots meta element or header."""
        return purpose_bits.directives(self.said)

    def forbids(self, purpose: str) -> bool:
        """Return whether the owner does not want the page used for this; ValueError for an unknown purpose."""
        if purpose not in purpose_bits.PURPOSES:
            raise ValueError(f"{purpose!r} is none of {', '.join(purpose_bits.PURPOSES)}")
        return purpose in self.forbidden


NONE = Preferences()
