"""Small bodies that many sites have in common, and whose relative links lead to each site's own pages.

A frameset, a page that redirects, "enter here", the start page of a program: such a body is followed once on each new
registered domain, although it was seen elsewhere (docs/decisions/frontier-seen.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

SHELL_SIZE = 4096  # bytes of a body: a larger one is a page of its own, which is skipped on mirrors
DOMAINS = 4096  # on so many a body is followed, besides the one where it was new


class Shells:
    """The choice of bodies that are followed although they were seen.

    It keeps nothing itself: what is to be remembered are digests to be kept among those of bodies. So it takes no
    memory, and is part of the same checkpoint.
    """

    def __init__(
        self, holds: Callable[[bytes], bool], digest: Callable[[bytes], bytes], domain: Callable[[str], str]
    ) -> None:
        """`holds` says whether a digest is kept. `digest` is keyed, and `domain` gives a URL's registered domain."""
        self._holds, self._digest, self._domain = holds, digest, domain
        self._secret = digest(b"shells")  # in front of what is digested here: nobody can write a body with that digest

    def follows(self, body: bytes, url: str, redirects: int) -> list[bytes]:
        """The record to keep if the body with this digest is followed, found after so many redirects in a row.

        Empty if it is not. One per domain is, and what that one redirects to: a mirror of a whole site is not crawled.
        """
        domain = self._domain(url)
        if self._holds(self._of_domain(domain, redirects)):
            return []
        before = bisect_left(range(DOMAINS), 1, key=lambda number: not self._holds(self._of_body(body, number)))
        if before == DOMAINS:
            return []
        return [self._of_body(body, before), *(self._of_domain(domain, hops) for hops in range(redirects + 1))]

    def _of_domain(self, domain: str, redirects: int) -> bytes:
        return self._digest(self._secret + b"%d " % redirects + domain.encode())

    def _of_body(self, body: bytes, number: int) -> bytes:
        """Kept if the body was followed on more than `number` domains."""
        return self._digest(self._secret + body + number.to_bytes(2, "big"))
