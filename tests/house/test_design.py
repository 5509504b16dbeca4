"""What folders, comments and docstrings say of the code points to code that exists."""

import ast
import re
import tokenize

import pytest

from tests.support.places import ROOT

PACKAGE = ROOT / "webcrawl"
FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_folder_names_is_there(folder):
    """The files, folders and functions that a folder's docstring names are there."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    named = {name.partition(".")[0] for name in re.findall(r"`([a-z0-9_]+(?:\.\w+)*)`", text)}
    paths = [path for path in folder.rglob("*") if path.suffix in {"", ".py"}]
    functions = named - {path.stem for path in paths}
    defined = {
        node.name for path in paths if functions and path.is_file() for node in _functions(path)
    }

    assert functions - defined == set()


def _functions(path):
    return [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]


FILES = {
    path.name
    for folder in ("webcrawl", "tests", "docs", "benchmarks")
    for path in (ROOT / folder).rglob("*.*")
}
THEIRS = {"scraper.py"}  # Scrapy's


def test_files_that_comments_name():
    """What a comment or a docstring sends its reader to is there."""
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        # most files name none that is missing, and need not be split into tokens
        if not _missing_files(path.read_text(encoding="utf-8")):
            continue
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                    wrong += [f"{path.name}: {name}" for name in _missing_files(token.string)]

    assert wrong == []


def _missing_files(text):
    """The files that a text names and that are not there."""
    named = {name.rpartition("/")[2] for name in re.findall(r"[\w/.-]+\.(?:py|md)\b", text)}
    return named - FILES - THEIRS
