"""Leaves a file behind when it is imported: nothing but a test that names it may do that."""

import os
from pathlib import Path

Path(os.environ["TRAP"]).touch()
thing = dict
