"""No class of the frontier does everything: what a feature needs is in a class of its own."""

import ast
from pathlib import Path

import webcrawl.frontier

MOST = 15
RECORDS = {"Host"}  # rows of a table, of which each field is stored


def _classes():
    for path in sorted(Path(webcrawl.frontier.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in RECORDS:
                yield node


def _methods(cls):
    return {one.name for one in cls.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")}


def _attributes(cls):
    stored = (one for one in ast.walk(cls) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    own = {one.attr for one in stored if isinstance(one.value, ast.Name) and one.value.id == "self"}
    return own | {one.target.id for one in cls.body if isinstance(one, ast.AnnAssign)}


def test_a_class_has_few_public_methods():
    """Nobody has to know more than 15 names of one class."""
    assert {cls.name: len(_methods(cls)) for cls in _classes() if len(_methods(cls)) > MOST} == {}


def test_a_class_has_few_attributes():
    """No class keeps more than 15 things in mind."""
    assert {cls.name: len(_attributes(cls)) for cls in _classes() if len(_attributes(cls)) > MOST} == {}
