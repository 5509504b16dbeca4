"""How often anybody may have something done: by whom is not known, so it is counted by site, and in all."""

from __future__ import annotations

from collections import Counter, deque


class Budget:
    """At most `per_site` in `seconds` for one site, and `most` for all. It remembers no more than that."""

    def __init__(self, per_site: int, most: int, seconds: float) -> None:
        self._per_site, self._most, self._seconds = per_site, most, seconds
        self._taken: deque[tuple[float, str]] = deque()
        self._of: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<Budget {len(self._taken)} of {self._most}>"

    def take(self, site: str, now: float) -> float:
        """Takes one; or, if there is none left, the seconds until it is worth asking again."""
        while self._taken and self._taken[0][0] <= now - self._seconds:
            _, old = self._taken.popleft()
            self._of[old] -= 1
            if not self._of[old]:
                del self._of[old]
        if len(self._taken) >= self._most:
            return self._taken[0][0] + self._seconds - now
        if self._of[site] >= self._per_site:
            return next(at for at, one in self._taken if one == site) + self._seconds - now
        self._taken.append((now, site))
        self._of[site] += 1
        return 0.0
