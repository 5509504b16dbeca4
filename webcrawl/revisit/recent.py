"""Which pages were fetched within the last minute or two, so that a signal lets them rest."""

from __future__ import annotations

MOST = 20_000  # pages in each half: 4 MB; what is fetched faster than that rests less


class Recent:
    """In memory only. Two halves: the older one is forgotten when the younger is as old as a rest, or full."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._since = 0.0
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}

    def __repr__(self) -> str:
        return f"<Recent {len(self._young)} + {len(self._old)}>"

    def note(self, url: str, at: float) -> None:
        """A page was fetched."""
        if not 0.0 <= at - self._since < self._span or len(self._young) >= MOST:
            self._old, self._young, self._since = self._young, {}, at
        self._young[hash(url)] = at

    def of(self, url: str) -> float:
        """When this page was fetched; 0 if that is not known."""
        number = hash(url)
        return self._young.get(number) or self._old.get(number, 0.0)
