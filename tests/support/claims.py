"""The sentences that a module may say, as templates: `{}` stands for what is put in when it is said."""

import ast
import re
from pathlib import Path

from tests.support.places import ROOT

WORDS = re.compile(r"[A-Za-z]{2}[a-z]* +(\S+ +)*[a-z]{2}")  # two words at least: neither a name, a key nor a unit

PRINTF = re.compile(r"%[-.0-9]*[sdrfg]")


def templates(module: str) -> set[str]:
    """All of this file below webcrawl/: texts of several words that are no docstrings."""
    tree = ast.parse((Path(ROOT) / "webcrawl" / module).read_text())
    return {one for node in _texts(tree) if WORDS.search(one := template(node))}


def _texts(node):
    """The outermost strings and f-strings; of an f-string also those in its expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.JoinedStr):
            yield child
            for part in child.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _texts(part)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child
        else:
            yield from _texts(child)


def template(node) -> str:
    if isinstance(node, ast.Constant):
        return PRINTF.sub("{}", node.value)
    return "".join(PRINTF.sub("{}", part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def pattern(template: str) -> re.Pattern[str]:
    """What a line has that says this sentence; whatever is in braces may be anything."""
    return re.compile("[^\n]*?".join(map(re.escape, re.split(r"\{[^{}]*\}", template))))
