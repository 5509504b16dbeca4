"""docs/design.md points to code that exists."""

import ast
import re

import pytest

from tests.support.places import ROOT

PACKAGE = ROOT / "webcrawl"
DESIGN = (ROOT / "docs/design.md").read_text(encoding="utf-8")
TABLE = DESIGN.partition("## Where to change it")[2].partition("\n## ")[0]
PLACES = sorted(set(re.findall(r"`([a-z0-9_/]+\.py)(?::([A-Za-z_.]+))?`", TABLE.partition("\n| what")[2])))


def test_the_table_was_found():
    """The table has its rows."""
    assert len(PLACES) > 30


@pytest.mark.parametrize(("path", "name"), PLACES, ids=lambda value: value)
def test_every_place_exists(path, name):
    """Each file of the table exists, and defines the name behind the colon."""
    node = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    for part in filter(None, name.split(".")):
        node = next((child for child in node.body if part in _defines(child)), None)
        assert node is not None, f"{path} has no {name}"


def _defines(node):
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id]
    return [getattr(node, "name", None)]
