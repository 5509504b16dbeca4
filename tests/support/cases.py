"""Real cases that nobody here made up: other people's data, kept outside the repository."""

import os
from pathlib import Path

import pytest


def cases(name: str) -> Path:
    """The folder of these cases; the test that asks is skipped where they are not at hand."""
    root = os.environ.get("WEBCRAWL_CASES")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"WEBCRAWL_CASES names no folder with {name}")
    return Path(root) / name
