"""Writes docs/commands.md and docs/metrics.md: `python docs/make_commands.py`.

Commands, exit statuses, extras and metrics come from the code. The text above a page's first
heading of the second level is its own, and stays.
"""  # noqa: INP001 - a script beside the pages that it writes

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # as a script it finds the package beside docs/

from docs.markdown import table  # noqa: E402
from webcrawl.__main__ import GROUPS  # noqa: E402
from webcrawl.base.program import EXIT_MEANINGS  # noqa: E402
from webcrawl.crawl.control.commands import COMMANDS  # noqa: E402
from webcrawl.crawl.metrics import LABELLED, CrawlLook, families  # noqa: E402
from webcrawl.store.jobdir.figures import COUNTERS, GAUGES  # noqa: E402

PART_OF = {"webcrawl_hive": "In a drone of a hive", "webcrawl_revisit": "With REVISIT_POLICY"}
PART_OF |= {"webcrawl_store": "With OUTPUT_STORE"}
Section = tuple[tuple[str, ...], Iterable[tuple[str, ...]]]  # head and rows of a table
EXTRA = re.compile(r"^([a-z-]+) = \[.*\] # (.*)$", re.MULTILINE)


def commands(page: str) -> str:
    """Return docs/commands.md with the tables as they ought to be."""
    sections: dict[str, Section] = {
        title: (("command", "does"), [(f"`webcrawl {name}`", _purpose(name)) for name in names])
        for title, names in GROUPS.items()
    }
    of_ctl = [(f"`{one.usage}`", one.says) for one in COMMANDS.values()]
    sections["webcrawl ctl"] = (("command", "does"), of_ctl)
    statuses = [(str(int(status)), text) for status, text in EXIT_MEANINGS.items()]
    sections["Exit statuses"] = (("status", "meaning"), statuses)
    extras = EXTRA.findall((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    sections["Extras"] = (("extra", "for"), [(f"`{name}`", text) for name, text in extras])
    return _made(page, sections)


def metrics(page: str) -> str:
    """Return docs/metrics.md with the tables as they ought to be."""
    figures = dict.fromkeys([*(row.key for row in (*COUNTERS, *GAUGES)), "hosts_deferred"], 1)
    figures["revisit/sampled"] = 1  # without it what is estimated is unknown
    rows: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for one in families(CrawlLook(figures, [1], "", engine_paused=False)):
        labels = {name for sample in one.samples for name in sample.labels} - {"le"}
        labels |= {label.label for label in LABELLED if one.name == f"webcrawl_{label.name}"}
        name = f"{one.name}_total" if one.type == "counter" else one.name
        written = f"`{name}` `{{{','.join(sorted(labels))}}}`" if labels else f"`{name}`"
        part = next((PART_OF[start] for start in PART_OF if name.startswith(start)), "All crawls")
        rows[part].append((written, one.type, one.documentation))
    head = ("metric", "type", "meaning")
    return _made(page, {part: (head, of) for part, of in rows.items()})


def _purpose(name: str) -> str:
    found: str = import_module(f"webcrawl.commands.{name}").Command().short_desc()
    return found


def _made(page: str, sections: dict[str, Section]) -> str:
    above = page.partition("\n## ")[0]
    return above + "".join(f"\n## {title}\n\n{table(*rows)}" for title, rows in sections.items())


if __name__ == "__main__":
    for path, make in ((DOCS / "commands.md", commands), (DOCS / "metrics.md", metrics)):
        path.write_text(make(path.read_text(encoding="utf-8")), encoding="utf-8")
