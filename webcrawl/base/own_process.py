"""Python processes of this very package: how they are started, and where they find it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# -P: the current folder does not come first. There may be a checkout named `webcrawl`, which Python takes for a package
# without code before it asks the finder of an editable install.
PYTHON = (sys.executable, "-P")


def environment() -> dict[str, str]:
    """Return the environment in which `webcrawl` is this package, and the user's modules are found as here."""
    root = str(PACKAGE.parent)
    found = [path for path in sys.path if path]
    paths = found if root in found else [root, *found]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
