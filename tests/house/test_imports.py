"""The two rules that hold the house together, read from the imports themselves."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "webcrawl"
PURE = (
    "model",
    "settings",
    "loading",
    "checks",
    "seeds",
    "urls",
    "seen",
    "frontier",
    "net",
    "hive",
    "store",
    "simweb",
    "html",
    "items",
    "warc",
    "logs",
    "verify",
    "text",
    "profiling",
)
BELOW = {  # what a room may import of the house, beside itself
    "text": set(),
    "model": {"text"},
    "settings": set(),
    "loading": set(),
    "checks": {"html", "loading", "settings", "urls"},
    "urls": {"loading", "model"},
    "seeds": {"model", "urls"},
    "store": {"model"},
    "seen": {"model", "store"},
    "frontier": {"model", "store", "urls"},
    "net": {"model"},
    "hive": {"model"},
    "simweb": {"model"},
    "html": {"model"},
    "items": {"html", "model"},
    "logs": {"text", "model"},
    "warc": {"text", "model", "store"},
    "profiling": set(),
    "verify": {"text", "frontier", "model", "seen", "store", "urls", "warc"},
}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if _room(path) in PURE]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
class TestRooms:
    def test_no_room_of_the_core_knows_scrapy(self, path):
        """The rooms that do not know Scrapy never import it, nor Twisted."""
        assert not {name for name in _imports(path) if name.split(".")[0] in ("scrapy", "twisted")}

    def test_arrows_go_down_the_picture(self, path):
        """A room imports itself and the rooms below it, no other."""
        rooms = {name.split(".")[1] for name in _imports(path) if name.startswith("webcrawl.")}
        assert rooms <= BELOW[_room(path)] | {_room(path)}
