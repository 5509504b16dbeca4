"""Clocks: one that a test sets, and one that is wrong or set while a crawl runs, in the place of
`time.time`.
"""

import gc
import time
from functools import partial
from types import FunctionType

HOUR, DAY = 3600.0, 86_400.0


class Clock:
    """The system's clock, and how many seconds it is ahead of the time."""

    def __init__(self):
        self.ahead = self.step = 0.0
        self._now = time.time

    def __call__(self):
        return self._now() + self.ahead


class SetByHand:
    """A clock that a test sets: it stands at `now`."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


_clock = Clock()


def wrong(seconds=0.0, step=0.0):
    """Prepares a process whose clock is so many seconds ahead; Step sets it by `step` later."""
    return partial(_install, seconds, step)


def _install(seconds, step):
    """Also for those who have it as a default argument: they were defined before."""
    _clock.ahead, _clock.step = seconds, step
    gc.unfreeze()  # or what was loaded before the process was forked is not among them
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            if one.__defaults__:
                one.__defaults__ = tuple(map(_ours, one.__defaults__))
            if one.__kwdefaults__:
                one.__kwdefaults__ = {
                    name: _ours(value) for name, value in one.__kwdefaults__.items()
                }
    time.time = _clock


def _ours(value):
    return _clock if value is time.time else value


class Step:
    """A pipeline that sets the clock, once some pages have come."""

    def __init__(self):
        self._left = 20

    def process_item(self, item):
        self._left -= 1
        if not self._left:
            _clock.ahead += _clock.step
        return item
