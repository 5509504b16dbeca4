"""Notices hosts that answer more slowly, or fail more often, than they did at first, and slows down before they ask.

Mercator's wait is in proportion to the last answer already. That keeps our share of a busy server's time as it was;
here it becomes less. Kept in memory only, of a bounded number of hosts: after a restart a host is heard anew.
"""

from __future__ import annotations

from math import exp, log

HOSTS = 1 << 16
HEARD = 10  # answers until a host's usual time is known
USUAL = 1 / 64  # weight of an answer in its usual time, once it is known
DRIFT = 1 / 1024  # by which an answer under strain lengthens it: a host that stays as slow is usual after a thousand
LATELY = 1 / 8  # weight of an answer in what was lately, of which the geometric mean is taken: one odd one says little
SHORTEST = 1e-3  # seconds that an answer counts for at least
LEAST = 0.1  # seconds: a host that answers sooner than this is not busy, whatever it did at first
SLOWER = 2.0  # times its usual time: no strain yet
FAILS = 0.2  # share of failures: no strain yet

# Of a host: answers, usual seconds, log of late ones, share of failures, by how many times its wait is to be longer.
Heard = tuple[int, float, float, float, float]
UNHEARD: Heard = (0, 0.0, 0.0, 0.0, 1.0)


class Strain:
    """How many times longer than usual each host is left alone, from 1 to `most`."""

    def __init__(self, most: float) -> None:
        self.most = most
        self._known: dict[str, Heard] = {}

    def __repr__(self) -> str:
        return f"<Strain most={self.most} hosts={len(self._known)}>"

    def heard(self, host: str, seconds: float, *, failed: bool) -> None:
        """A download of this host has ended."""
        known = self._known.pop(host, None)
        if known is None:
            if len(self._known) >= HOSTS:
                del self._known[next(iter(self._known))]
            count, usual, lately, fails = 0, seconds, log(max(seconds, SHORTEST)), 0.0
        else:
            count, usual, lately, fails, _ = known
        lately += LATELY * (log(max(seconds, SHORTEST)) - lately)
        fails += LATELY * (failed - fails)
        if count < HEARD:
            usual += (seconds - usual) / (count + 1)
        elif seconds <= SLOWER * max(usual, LEAST):
            usual += USUAL * (seconds - usual)
        else:
            usual += DRIFT * usual
        times = 1.0
        if count >= HEARD:
            slow = exp(lately) / (SLOWER * max(usual, LEAST))
            bad = 1.0 + (fails - FAILS) * self.most
            times = min(max(slow, bad, 1.0), self.most)
        self._known[host] = count + 1, usual, lately, fails, times

    def times(self, host: str) -> float:
        """By how many times its ordinary wait is to be longer."""
        return self._known.get(host, UNHEARD)[4]
