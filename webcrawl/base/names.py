"""Dotted paths that users wrote before modules moved: imports of the old ones still work.

Settings, states of earlier crawls and other people's code name components by such paths. A state keeps the names of
`former`, so that a crawl can be resumed whichever version began it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

# The path that was documented -> where the module or package is.
MOVED = {
    "webcrawl.addon": "webcrawl.adapter.addon",
    "webcrawl.archives": "webcrawl.record.archives",
    "webcrawl.browser": "webcrawl.net.browser",
    "webcrawl.checks": "webcrawl.crawl.checks",
    **{
        f"webcrawl.commands.{name}": f"webcrawl.lab.commands.{name}"
        for name in ("caches", "demo", "lab", "orderings", "simweb", "walks")
    },
    "webcrawl.commands": "webcrawl.tools.commands",
    "webcrawl.control.errors": "webcrawl.crawl.control.command",
    "webcrawl.control": "webcrawl.crawl.control",
    "webcrawl.extensions": "webcrawl.adapter.extensions",
    "webcrawl.fastpath": "webcrawl.adapter.fastpath",
    "webcrawl.formats": "webcrawl.content.formats",
    "webcrawl.hive": "webcrawl.crawl.hive",
    "webcrawl.html": "webcrawl.content.html",
    "webcrawl.identity": "webcrawl.net.identity",
    "webcrawl.logs": "webcrawl.record.logs",
    "webcrawl.model": "webcrawl.base.model",
    "webcrawl.html.found": "webcrawl.content.html.found_links",
    "webcrawl.html.links": "webcrawl.content.html.link_reader",
    "webcrawl.neardup.fingerprint": "webcrawl.content.neardup.near_duplicates",
    "webcrawl.neardup.search": "webcrawl.content.neardup.near_duplicates",
    "webcrawl.neardup": "webcrawl.content.neardup",
    "webcrawl.net.stream_body": "webcrawl.net.stream",
    "webcrawl.pipelines": "webcrawl.adapter.pipelines",
    "webcrawl.preferences": "webcrawl.content.preferences",
    "webcrawl.revisit": "webcrawl.crawl.revisit",
    "webcrawl.seeds": "webcrawl.urls.seeds",
    "webcrawl.seen": "webcrawl.frontier.seen",
    "webcrawl.simweb": "webcrawl.lab.simweb",
    "webcrawl.spiders": "webcrawl.adapter.spiders",
    "webcrawl.tables": "webcrawl.record.tables",
    "webcrawl.urls.assembly": "webcrawl.urls.link_pipeline",
    **{
        f"webcrawl.urls.filters.{old}": f"webcrawl.urls.filters.{new}"
        for new, olds in {
            "filter_protocol": ("protocol",),
            "known_paths": ("known",),
            "traps": ("calendar", "families", "growth", "repeats"),
            "url_parts": ("extension", "length", "port", "scheme"),
        }.items()
        for old in olds
    },
    "webcrawl.warc": "webcrawl.record.warc",
}
# Modules that have become one have no former name in common.
FORMER = {new: old for old, new in MOVED.items() if [*MOVED.values()].count(new) == 1}
OURS = "webcrawl."
STAY = frozenset({"webcrawl.commands"})  # a module of its own, with the commands of two rooms


def _searched(paths: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(paths, key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w])")


@cache
def _old() -> re.Pattern[str]:
    return _searched([*MOVED])


@cache
def _new() -> re.Pattern[str]:
    return _searched([*FORMER])


def current(text: str) -> str:
    """Return the text with each moved path as it is now."""
    return _old().sub(lambda found: MOVED[found[0]], text)


def former(text: str) -> str:
    """The inverse of `current`: how a state names components."""
    return _new().sub(lambda found: FORMER[found[0]], text)


def path_of(component: Any) -> str:
    """The dotted path of a class or function, or of one that is given by such a path, maybe a former one."""
    return current(component) if isinstance(component, str) else f"{component.__module__}.{component.__qualname__}"


def _where(module: str) -> str:
    """As `current`, of a name alone: every import asks."""
    above = module
    while above:
        if above in MOVED:
            return f"{MOVED[above]}{module[len(above) :]}"
        above = above.rpartition(".")[0]
    return module


class FormerNames:
    """Imports a module that has moved by the name that it had: the same module, not a copy.

    Finder and loader in one; the base classes for those would take a third of the time that this package does.
    """

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        if not name.startswith(OURS) or name in STAY or (where := _where(name)) == name:
            return None
        return ModuleSpec(name, cast("Any", self), origin=where)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run already; importlib has replaced its spec by the one of the old name."""
        spec = module.__spec__
        module.__spec__ = spec.loader_state if spec is not None else None


def install() -> None:
    """Before the finder of files, which would load a second copy from the moved folder."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, FormerNames())
