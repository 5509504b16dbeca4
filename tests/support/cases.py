"""Real cases: other people's data, kept outside the repository."""

import os
from pathlib import Path

import pytest

from webcrawl.base.zstd_frame import zstd


def cases(name: str) -> Path:
    """The folder of these cases; skips the test if they are not available."""
    root = os.environ.get("WEBCRAWL_CASES")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"WEBCRAWL_CASES names no folder with {name}")
    return Path(root) / name


def unpacked(path: Path) -> bytes:
    """The bytes in a .zst file."""
    with zstd.open(path, options={zstd.DecompressionParameter.window_log_max: 27}) as file:
        return file.read()
