"""Times as logs and archives write them: UTC, to the millisecond, whatever the locale."""

from __future__ import annotations

import time
from functools import lru_cache

_DIGITS_ONLY = str.maketrans("", "", "-T:")


def iso(seconds: float) -> str:
    """Seconds since 1970 as 2011-06-23T17:12:08.802Z."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return f"{_second(whole)}.{thousandths:03d}Z"


def digits(seconds: float) -> str:
    """The same as 17 digits, the form of ARC files: 20110623171208802."""
    whole, thousandths = divmod(round(seconds * 1000), 1000)
    return _second(whole).translate(_DIGITS_ONLY) + f"{thousandths:03d}"


@lru_cache(16)
def _second(seconds: int) -> str:
    """Remembered, for it takes 8 us, and a second has hundreds of lines."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
