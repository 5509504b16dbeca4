"""Writes the tables of docs/settings.md, and webcrawl/settings.pyi: `python docs/make_settings.py`.

Both come from the table of settings. The text above the page's first table is its own, and stays. The stub has the
names for editors and type checkers.
"""  # noqa: INP001 - a script beside the page that it writes

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("settings.md")
STUB = PAGE.parents[1] / "webcrawl/settings.pyi"
sys.path.insert(0, str(PAGE.parents[1]))  # as a script it finds the package beside docs/

from webcrawl.base.settings import DEFAULTS, SECTIONS, SETTINGS  # noqa: E402
from webcrawl.base.settings.setting_kinds import Setting  # noqa: E402
from webcrawl.crawl.checks.check import KINDS  # noqa: E402

FIRST = "\n## "
LONGEST = 60  # characters of a list or dict that stands in its row
HEAD = "| setting | default | meaning | allowed |\n|---|---|---|---|\n"
NOTES = {  # above a section's table
    "Revisits": "[revisits.md](revisits.md) describes revisits. "
    "`REVISIT_AGE`, `REVISIT_RATE` and `REVISIT_SHARE` may change while the crawl runs.\n\n",
}
LAST = "Scrapy's `CLOSESPIDER_…` settings work too and are checked like the rest.\n"


def made(page: str) -> str:
    """The page with the tables as they ought to be."""
    tables = "".join(
        f"\n## {title}\n\n{NOTES.get(title, '')}{HEAD}{''.join(map(_row, rows))}"
        for title, rows in SECTIONS.items()
    )
    longer = "\n".join(_block(one) for one in SETTINGS.values() if _is_long(one.default))
    return f"{page.partition(FIRST)[0]}{tables}\n{LAST}\n## Longer defaults\n\n```python\n{longer}```\n"


def stub() -> str:
    """The names of `webcrawl.settings`, with their types."""
    names = "".join(f"{name}: {_type(default)}\n" for name, default in DEFAULTS.items())
    return f"# Written by docs/make_settings.py\n\nfrom typing import Any\n\n{names}"


def _type(default: Any) -> str:
    if default is None:
        return "Any"
    return {list: "list[str]", dict: "dict[str, Any]"}.get(type(default), type(default).__name__)


def _row(one: Setting) -> str:
    default = "below" if _is_long(one.default) else f"`{one.default!r}`"
    return f"| `{one.name}` | {default} | {one.text} | {KINDS[one.name].allowed} |\n"


def _is_long(default: Any) -> bool:
    return isinstance(default, list | dict) and len(repr(default)) > LONGEST


def _block(one: Setting) -> str:
    first, last = "{}" if isinstance(one.default, dict) else "[]"
    return "\n".join(
        (f"{one.name} = {first}", *(f"    {line}," for line in _lines(one.default)), last, "")
    )


def _lines(default: dict[str, Any] | list[str]) -> Iterator[str]:
    if isinstance(default, dict):
        return (
            f"{json.dumps(name)}: {'None' if of is None else json.dumps(of)}"
            for name, of in default.items()
        )
    return map(json.dumps, default)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    STUB.write_text(stub(), encoding="utf-8")
