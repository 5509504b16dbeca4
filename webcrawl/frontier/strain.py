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
QUICK = log(SLOWER * LEAST)  # with late answers below this none is slow
FAILS = 0.2  # share of failures: no strain yet

Heard = tuple[int, float, float, float]  # of a host: answers, usual seconds, log of late ones, share of failures


class Strain:
    """Which hosts are under strain, and how many times longer than usual each of them is left alone, up to `most`."""

    def __init__(self, most: float) -> None:
        self.most = most
        self.times: dict[str, float] = {}  # of the hosts under strain, which are few
        self._known: dict[str, Heard] = {}  # the last one heard is the last

    def __repr__(self) -> str:
        return f"<Strain most={self.most} hosts={len(self._known)} strained={len(self.times)}>"

    def heard(self, host: str, seconds: float, *, failed: bool) -> None:
        """A download of this host has ended."""
        now = log(max(seconds, SHORTEST))
        known = self._known.pop(host, None)
        count, usual, lately, fails = self._unknown(seconds, now) if known is None else known
        lately += LATELY * (now - lately)
        fails += LATELY * (failed - fails)
        if count < HEARD:
            usual += (seconds - usual) / (count + 1)
        elif seconds <= SLOWER * LEAST or seconds <= SLOWER * usual:
            usual += USUAL * (seconds - usual)
        else:
            usual += DRIFT * usual
        self._known[host] = count + 1, usual, lately, fails
        strained = count >= HEARD and (lately > QUICK or fails > FAILS)
        times = self._times(usual, lately, fails) if strained else 1.0
        if times > 1.0:
            self.times[host] = times
        else:
            self.times.pop(host, None)

    def _unknown(self, seconds: float, now: float) -> Heard:
        if len(self._known) >= HOSTS:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self.times.pop(oldest, None)
        return 0, seconds, now, 0.0

    def _times(self, usual: float, lately: float, fails: float) -> float:
        slow = exp(lately) / (SLOWER * max(usual, LEAST))
        bad = 1.0 + (fails - FAILS) * self.most
        return min(max(slow, bad), self.most)
