"""Modules of docs/examples, as a user has them in a folder of their own."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from tests.support.places import ROOT

EXAMPLES = ROOT / "docs/examples"


def module_of(path):
    """Import a file below docs/examples under its own name."""
    spec = spec_from_file_location(Path(path).stem, EXAMPLES / path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
