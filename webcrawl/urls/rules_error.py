"""The error that all rules of an operator share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RulesError(ValueError):
    """Rules that cannot be used; the message names the file or setting, and the line or expression that is wrong."""


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns errors from reading the file into RulesError."""
    try:
        yield
    except OSError as error:
        raise RulesError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RulesError(f"{path}: is not UTF-8 text") from error
