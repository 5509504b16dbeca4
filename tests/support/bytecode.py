"""Bytecode for all processes of a run: the tests' own, and the hundreds that they start.

Where Python is told to keep none beside the code (PYTHONDONTWRITEBYTECODE, as in many containers),
each of these processes would compile all that it imports; it is kept in another folder instead.
"""

import os
import sys

NAMES = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


def keep(folder):
    """From now on, for this process and those that it starts; `folder` is asked for only if it is
    needed.
    """
    if os.environ.pop(NAMES[0], ""):
        os.environ[NAMES[1]] = sys.pycache_prefix = str(folder())
        sys.dont_write_bytecode = False
