"""How the code hangs together, read from its text: imports, private names, and who replaces whose
methods.
"""

import ast
import gc
from functools import cache
from pathlib import Path

import scrapy

from tests.support.places import ROOT

PACKAGE = ROOT / "webcrawl"
LOADERS = ("import_module", "__import__", "load", "load_object", "find_spec")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """All that it is made of, for many rules look at it."""
    found = list(ast.walk(tree))
    gc.freeze()  # it stays: looking through it for garbage took half of the time
    return found


def sources(package: Path = PACKAGE) -> list[Path]:
    return sorted(package.rglob("*.py"))


def module_of(path: Path, package: Path = PACKAGE) -> str:
    """Its dotted name."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the folder or file directly below the package that a module is in.

    It is "" for the package itself, and for other packages.
    """
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == PACKAGE.name else ""


def is_fast_path(module: str) -> bool:
    """Return whether a module may use Scrapy's private names."""
    return f"{module}.".startswith("webcrawl.adapter.fastpath.")


def imports(tree: ast.Module) -> set[str]:
    """Return all that is imported anywhere in a module, by dotted names.

    Of `from a import b` these are `a` and `a.b`. Imports by a call with a literal name count too,
    and look-ups in `sys.modules`.
    """
    names: set[str] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"imports are absolute, line {node.lineno}"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in LOADERS and node.args:
            names.update(_strings(node.args[0]))
        elif isinstance(node, ast.Subscript) and _name(node.value) == "modules":
            names.update(_strings(node.slice))
    return names


def with_packages(names: set[str]) -> set[str]:
    """Return the names, and the packages that are executed on the way to them."""
    return {
        ".".join(parts[:end])
        for name in names
        for parts in [name.split(".")]
        for end in range(1, len(parts) + 1)
    }


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Return every name that importing `start` imports, over modules of the graph."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        for one in graph.get(name, ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


@cache
def graph_of(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return what each module imports, packages included."""
    return {
        module_of(path, package): with_packages(imports(parsed(path))) for path in sources(package)
    }


def own_names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines itself.

    They are functions, methods, attributes of self, and fields.
    """
    names = {
        node.name
        for node in nodes(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    names |= {
        node.attr for node in nodes(tree) if isinstance(node, ast.Attribute) and _is_set(node)
    }
    return names | {node.id for node in nodes(tree) if isinstance(node, ast.Name)}


def foreign_private(tree: ast.Module) -> list[tuple[int, str]]:
    """Return where a module touches an underscored name that is not its own.

    It may be an attribute of another object, or an import. In a module that imports Scrapy, names
    that its classes have too are free on `self` only.
    """
    own, scrapys = own_names(tree), scrapys_private() if scrapys_imports(tree) else frozenset()
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            free = own_private() | own if _is_self(node.value) else own - scrapys
            if node.attr not in free:
                found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # getattr, vars(x)[…], attrgetter
            parts = [part for part in node.value.split(".") if _is_private(part)]
            found += [(node.lineno, part) for part in parts if part in scrapys]
        elif isinstance(node, ast.Call) and _name(node.func) in (
            "getattr",
            "setattr",
            "hasattr",
            "delattr",
        ):
            found += [
                (node.lineno, name)
                for name in _strings(node.args[1])
                if _is_private(name) and name not in own
            ]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, alias.name) for alias in node.names if _is_private(alias.name)]
    return found


def replaced_methods(tree: ast.Module, methods: frozenset[str]) -> list[tuple[int, str]]:
    """Return where a module replaces or deletes a method of an object that is not its own.

    Anything of an imported class counts as well.
    """
    scrapys = scrapys_imports(tree)
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and not _is_self(node.value):
            is_changed = not isinstance(node.ctx, ast.Load)
            is_foreign = node.attr in methods or _root(node) in scrapys
            if (is_changed and is_foreign) or (not is_changed and node.attr == "__dict__"):
                found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Call) and _name(node.func) in (
            "setattr",
            "delattr",
            "__setattr__",
            "__delattr__",
        ):
            names = {name for argument in node.args[1:2] for name in _strings(argument)}
            is_ours = bool(names) and not names & methods and _root(node.args[0]) not in scrapys
            if not is_ours:
                found.append((node.lineno, ast.unparse(node)))
    return found


@cache
def own_private() -> frozenset[str]:
    """Return the underscored names that this package's own classes define or set on themselves.

    The fast path is left out.
    """
    paths = [path for path in sources() if not is_fast_path(module_of(path))]
    all_nodes = [node for path in paths for node in nodes(parsed(path))]
    kinds = [node for node in all_nodes if isinstance(node, ast.ClassDef)]
    names = {name for kind in kinds for statement in kind.body for name in _defined(statement)}
    return frozenset(
        names
        | {node.attr for node in all_nodes if isinstance(node, ast.Attribute) and _is_set(node)}
    )


@cache
def scrapys_private() -> frozenset[str]:
    """Return the underscored names of Scrapy's classes: methods, and attributes of self."""
    names: set[str] = set()
    for path in sources(Path(scrapy.__file__).parent):
        for node in nodes(parsed(path)):
            if isinstance(node, ast.ClassDef):
                names.update(name for statement in node.body for name in _defined(statement))
            elif isinstance(node, ast.Attribute) and _is_set(node):
                names.add(node.attr)
    return frozenset(name for name in names if _is_private(name))


def scrapys_imports(tree: ast.Module) -> set[str]:
    """Return the names that a module binds by importing Scrapy or Twisted."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in ("scrapy", "twisted")
    }


@cache
def own_attributes() -> frozenset[str]:
    """Return the names of all fields and attributes of this package's own classes."""
    all_nodes = [node for path in sources() for node in nodes(parsed(path))]
    named = [
        node
        for node in all_nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    fields = {node.target.id for node in named}
    return frozenset(
        fields
        | {node.attr for node in all_nodes if isinstance(node, ast.Attribute) and _is_set(node)}
    )


@cache
def scrapys_methods() -> frozenset[str]:
    """Return the names of all methods of Scrapy's classes.

    Those that are attributes of our own objects too are left out.
    """
    names: set[str] = set()
    for path in sources(Path(scrapy.__file__).parent):
        for kind in nodes(parsed(path)):
            if isinstance(kind, ast.ClassDef):
                names |= {
                    node.name
                    for node in kind.body
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                    and not any(_is_property(one) for one in node.decorator_list)
                }
    return frozenset(names - own_attributes())


def overridden_private(module: object) -> list[str]:
    """Return private names of Scrapy's or Twisted's classes that a class of this module
    overrides.
    """
    found = []
    for kind in vars(module).values():
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            bases = [
                base
                for base in kind.__mro__
                if base.__module__.partition(".")[0] in ("scrapy", "twisted")
            ]
            found += [
                f"{kind.__name__}.{name}"
                for name in vars(kind)
                if _is_private(name) and _is_of(name, bases)
            ]
    return [name for name in found if not name.endswith("._abc_impl")]  # of every abstract class


def nested_overrides(tree: ast.Module) -> list[str]:
    """Return the same of classes that are defined in functions, as far as their bases are
    imported.
    """
    scrapys = scrapys_imports(tree)
    return [
        f"{kind.name}.{name}"
        for kind in nodes(tree)
        if isinstance(kind, ast.ClassDef) and kind not in tree.body
        if any(_root(base) in scrapys for base in kind.bases)
        for statement in kind.body
        for name in _defined(statement)
        if name in scrapys_private()
    ]


def _is_of(name: str, bases: list[type]) -> bool:
    return any(name in vars(base) for base in bases)


def _defined(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a class body defines."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {statement.name}
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _name(node: ast.expr) -> str:
    """Return the last name of `a` or `b.a`, or "" for anything else."""
    return getattr(node, "id", None) or getattr(node, "attr", "")


def _root(node: ast.expr) -> str:
    """Return the first name of `a`, `a.b` or `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def _strings(node: ast.expr) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def _is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_set(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and _is_self(node.value)


def _is_property(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return "property" in name or name == "setter"
