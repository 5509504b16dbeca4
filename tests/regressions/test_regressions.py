"""Findings of past campaigns: each input runs through its target again."""

import logging
from pathlib import Path

import pytest

from tests.fuzzing.targets import TARGETS

FOLDER = Path(__file__).parent
FOLDERS = [
    folder for folder in FOLDER.iterdir() if folder.is_dir() and folder.name != "__pycache__"
]
INPUTS = sorted(path for folder in FOLDERS for path in folder.iterdir() if path.name != "README.md")


def test_every_folder_is_run():
    """Each folder has inputs, and is named after a target."""
    assert FOLDERS != []
    assert (
        {folder.name for folder in FOLDERS}
        == {path.parent.name for path in INPUTS}
        <= TARGETS.keys()
    )


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
class TestRegressions:
    def test_it_breaks_no_rule_any_more(self, path):
        """The input breaks none of its target's rules."""
        logging.disable()
        try:
            TARGETS[path.parent.name].run(path.read_bytes())
        finally:
            logging.disable(logging.NOTSET)

    def test_the_readme_describes_it(self, path):
        """The folder's README says what this input did."""
        assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")
