"""What campaigns once found: each input runs through its target again."""

import logging
from pathlib import Path

import pytest

from tests.fuzzing.targets import TARGETS

FOLDER = Path(__file__).parent / "regressions"
INPUTS = sorted(path for path in FOLDER.glob("*/*") if path.name != "README.md")


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
class TestRegressions:
    def test_it_is_found_no_more(self, path):
        """The input breaks no rule."""
        logging.disable()
        try:
            TARGETS[path.parent.name].run(path.read_bytes())
        finally:
            logging.disable(logging.NOTSET)

    def test_it_is_told_what_it_was(self, path):
        """The folder's README says what this input did."""
        assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")
