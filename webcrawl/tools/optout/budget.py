"""How often something may be done for one asker, or for one site: nobody uses up what others have."""

from __future__ import annotations

from collections import deque

KEPT = 10_000  # keys remembered


class Budget:
    """At most `most` in `seconds` for each key. Of more than `kept` keys, who took nothing for longest is forgotten."""

    def __init__(self, most: int, seconds: float, kept: int = KEPT) -> None:
        self._most, self._seconds, self._kept = most, seconds, kept
        self._taken: dict[str, deque[float]] = {}  # when each took; who took last is last

    def __repr__(self) -> str:
        return f"<Budget of {len(self._taken)}>"

    def wait(self, key: str, now: float) -> float:
        """Seconds until this key has one left; 0: it has."""
        times = self._taken.get(key)
        if times is None:
            return 0.0
        while times and times[0] <= now - self._seconds:
            times.popleft()
        return 0.0 if len(times) < self._most else times[0] + self._seconds - now

    def take(self, key: str, now: float) -> None:
        """Takes one, whether it has one left or not."""
        times = self._taken.pop(key, None) or deque(maxlen=self._most)
        self._forget(now)
        times.append(now)
        self._taken[key] = times

    def _forget(self, now: float) -> None:
        while self._taken:
            key, times = next(iter(self._taken.items()))
            if len(self._taken) < self._kept and times and times[-1] > now - self._seconds:
                return
            del self._taken[key]


def take(now: float, *asked: tuple[Budget, str]) -> float:
    """Takes one of each budget for its key; none, and the seconds to wait, if one of them has none left."""
    wait = max(budget.wait(key, now) for budget, key in asked)
    if not wait:
        for budget, key in asked:
            budget.take(key, now)
    return wait
