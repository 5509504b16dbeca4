"""Loops over millions of look-ups: compiled by numba where it is installed, plain Python where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

try:
    import numba
except ImportError:
    numba = None

FAST = numba is not None


def compiled(loop: F) -> F:
    """The loop, which gets its arrays from `vector` and `whole`, so that it runs either way."""
    if numba is None:
        return loop
    made: F = numba.njit(cache=True, nogil=True)(loop)
    return made


def vector(array: Any) -> Any:
    """An array of numpy as the loops want one: a list is four times faster where they are not compiled."""
    return array if FAST else array.tolist()
