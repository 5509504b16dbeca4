"""No class does everything: what a feature needs is in a class of its own."""

import ast
from collections import Counter

import pytest

from tests.support.places import ROOT

MOST, MOST_ANYWHERE = 15, 20
RECORDS = {"Host"}  # rows of a table, of which each field is stored
# What leads every URL through its life: the frontier, the crawl, and their side towards Scrapy.
KERNEL = (
    "frontier/**/*.py",
    "crawl/crawl.py",
    "crawl/discovery.py",
    "crawl/moments.py",
    "crawl/outlook.py",
    "crawl/page_*.py",
    "crawl/visitor.py",
    "adapter/barrier.py",
    "adapter/download*.py",
    "adapter/page_end.py",
    "adapter/request_passage.py",
    "adapter/run*.py",
    "adapter/scheduler.py",
    "adapter/fastpath/*.py",
)


def _classes(*patterns):
    for path in sorted({path for pattern in patterns for path in (ROOT / "webcrawl").glob(pattern)}):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in RECORDS:
                yield path.relative_to(ROOT), node


def _is_record(cls):
    """Return whether its fields are its purpose: a dataclass, a named tuple, a protocol."""
    decorators = {ast.unparse(one).partition("(")[0] for one in cls.decorator_list}
    bases = {ast.unparse(one) for one in cls.bases}
    return "dataclass" in decorators or bool(bases & {"NamedTuple", "Protocol", "TypedDict"})


def _methods(cls):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in cls.body if isinstance(one, kinds) and not one.name.startswith("_")}


def _attributes(cls):
    stored = (one for one in ast.walk(cls) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    own = {one.attr for one in stored if isinstance(one.value, ast.Name) and one.value.id == "self"}
    return own | {one.target.id for one in cls.body if isinstance(one, ast.AnnAssign)}


@pytest.mark.parametrize("names", [_methods, _attributes])
def test_a_class_of_the_kernel_is_small(names):
    """Nobody has to know more than 15 public methods of one, and none keeps more than 15 things in mind."""
    sizes = {f"{path}:{cls.name}": len(names(cls)) for path, cls in _classes(*KERNEL)}

    assert len(sizes) > 100
    assert {name: size for name, size in sizes.items() if size > MOST} == {}


def test_no_class_has_many_attributes():
    """Anywhere, a class that is no record keeps at most 20 things in mind."""
    sizes = {f"{path}:{cls.name}": len(_attributes(cls)) for path, cls in _classes("**/*.py") if not _is_record(cls)}

    assert {name: size for name, size in sizes.items() if size > MOST_ANYWHERE} == {}


MOST_OWNERS = 8
SHARED = {
    "from_crawler run add_options long_desc open_spider process_item": "Scrapy's",
    "answered": "a moment's (docs/design.md)",
    "write": "a file's",
    "of open from_setup to_json": "says what is made, and of what: each class its own",
}


def test_few_classes_share_a_verb():
    """A method's name that more than eight classes have is an interface's or a way to make things."""
    owners = Counter(name for _, cls in _classes("**/*.py") if not _is_protocol(cls) for name in _verbs(cls))
    asked_for = {name for _, cls in _classes("**/*.py") if _is_protocol(cls) for name in _methods(cls)}

    many = {name for name, count in owners.items() if count > MOST_OWNERS}

    assert many - asked_for == {name for names in SHARED for name in names.split()}


def _is_protocol(cls):
    return any(ast.unparse(base).startswith("Protocol") for base in cls.bases)


def _verbs(cls):
    """Its public methods but properties, which are nouns."""
    nouns = {
        one.name
        for one in cls.body
        if isinstance(one, ast.FunctionDef) and "property" in map(ast.unparse, one.decorator_list)
    }
    return _methods(cls) - nouns
