"""Constants that are others while a test runs."""

from collections.abc import Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import patch


def patched(*modules: tuple[ModuleType, Mapping[str, Any]]) -> ExitStack:
    """Gives modules these constants until it is closed: a test that fails before that changes all
    that come later.
    """
    patches = ExitStack()
    for module, constants in modules:
        patches.enter_context(patch.multiple(module, **constants))
    return patches
