"""The native reader of links (docs/html.md), if it was built: no other module imports it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

SWITCH = "WEBCRAWL_NATIVE"  # in the environment; 0 chooses Python's way


def load() -> Any:
    """Return the extension, or None if there is none here or the environment forbids it."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        return import_module("webcrawl._native")
    except ImportError:
        return None


NATIVE = load()


def reader_name() -> str:
    """The reader of links that runs, in words."""
    return "native" if NATIVE is not None else "Python"
