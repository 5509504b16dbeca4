"""Dotted paths in settings, turned into what they name."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(path: str) -> Any:
    """The class or function at a dotted path. ValueError names the path and says why it cannot be imported."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # a foreign module may raise anything while it is imported
        raise ValueError(f"{path}: {error}") from error
