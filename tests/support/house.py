"""How the code hangs together, read from its text: imports, private names, and who replaces whose methods."""

import ast
from functools import cache
from pathlib import Path
from types import FunctionType

import scrapy

from tests.support.places import ROOT

PACKAGE = ROOT / "webcrawl"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sources(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


def module_of(path: Path, package: Path = PACKAGE) -> str:
    """Its dotted name."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The folder or file directly below the package; the empty string is the package itself, or another's."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == PACKAGE.name else ""


def imports(tree: ast.Module) -> set[str]:
    """All that is imported anywhere in it, by dotted names; of `from a import b` both `a` and `a.b`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"imports are absolute, line {node.lineno}"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def with_packages(names: set[str]) -> set[str]:
    """And the packages that are executed on the way to them."""
    return {".".join(parts[:end]) for name in names for parts in [name.split(".")] for end in range(1, len(parts) + 1)}


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Every name that importing `start` imports, over modules of the graph."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        for one in graph.get(name, ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def graph_of(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Module -> what it imports, packages included."""
    return {module_of(path, package): with_packages(imports(parsed(path))) for path in sources(package)}


def own_names(tree: ast.Module) -> set[str]:
    """Underscored names that a module defines itself: functions, methods, attributes of self, fields."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_self(node.value)}
    return names | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def foreign_private(tree: ast.Module) -> list[tuple[int, str]]:
    """Where it touches an underscored attribute of an object that is not its own."""
    own = own_names(tree)
    found = [
        (node.lineno, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_self(node.value)
    ]
    found += [
        (node.lineno, node.args[1].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "setattr", "hasattr", "delattr")
        and isinstance(node.args[1], ast.Constant)
        and _is_private(node.args[1].value)
    ]
    return [(line, name) for line, name in found if name not in own]


def replaced_methods(tree: ast.Module, methods: frozenset[str]) -> list[tuple[int, str]]:
    """Where it assigns to a method of an object that is not its own."""
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))]
    targets = [one for node in statements for one in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    return [
        (one.lineno, one.attr)
        for one in targets
        if isinstance(one, ast.Attribute) and one.attr in methods and not _is_self(one.value)
    ]


@cache
def own_attributes() -> frozenset[str]:
    """The names of all fields and attributes of this package's own classes."""
    nodes = [node for path in sources() for node in ast.walk(parsed(path))]
    fields = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return frozenset(fields | {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_set(node)})


@cache
def scrapys_methods() -> frozenset[str]:
    """The names of all methods of Scrapy's classes, but for those that are attributes of our own objects too."""
    names: set[str] = set()
    for path in sources(Path(scrapy.__file__).parent):
        for kind in ast.walk(parsed(path)):
            if isinstance(kind, ast.ClassDef):
                names |= {
                    node.name
                    for node in kind.body
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and not any(_is_property(one) for one in node.decorator_list)
                }
    return frozenset(names - own_attributes())


def overridden_private(module: object) -> list[str]:
    """Private methods of Scrapy's or Twisted's classes that a class of this module overrides."""
    found = []
    for kind in vars(module).values():
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            bases = [base for base in kind.__mro__ if base.__module__.partition(".")[0] in ("scrapy", "twisted")]
            found += [
                f"{kind.__name__}.{name}"
                for name in vars(kind)
                if _is_private(name) and isinstance(vars(kind)[name], FunctionType) and _is_of(name, bases)
            ]
    return found


def _is_of(name: str, bases: list[type]) -> bool:
    return any(name in vars(base) for base in bases)


def _is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_set(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and _is_self(node.value)


def _is_property(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return "property" in name or name == "setter"
