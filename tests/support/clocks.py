"""A wall clock that is wrong, or is set while a crawl runs; it replaces `time.time` in the crawl's process."""

import gc
import time
from functools import partial
from types import FunctionType

HOUR = 3600.0


class Clock:
    """The system's clock, and how many seconds it is ahead of the time."""

    def __init__(self):
        self.ahead = 0.0
        self._now = time.time

    def __call__(self):
        return self._now() + self.ahead


_clock = Clock()


def wrong(seconds=0.0):
    """Prepares a process whose clock is so many seconds ahead; StepBack sets it later."""
    return partial(_install, seconds)


def _install(seconds):
    """Also for those who have it as a default argument: they were defined before."""
    _clock.ahead = seconds
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            if one.__defaults__:
                one.__defaults__ = tuple(map(_ours, one.__defaults__))
            if one.__kwdefaults__:
                one.__kwdefaults__ = {name: _ours(value) for name, value in one.__kwdefaults__.items()}
    time.time = _clock


def _ours(value):
    return _clock if value is time.time else value


class StepBack:
    """A pipeline that sets the clock back by an hour, once some pages have come."""

    def __init__(self):
        self._left = 20

    def process_item(self, item):
        self._left -= 1
        if not self._left:
            _clock.ahead -= HOUR
        return item
