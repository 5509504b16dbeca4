"""Writes docs/errors.md and docs/simweb-kinds.md: `python docs/make_inside.py`.

Errors come from the classes of `FetchError`, flaws from the words of the report, and kinds from the
synthetic web.
"""  # noqa: INP001 - a script beside the pages that it writes

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # as a script it finds the package beside docs/

from docs.markdown import first_paragraph, table  # noqa: E402
from webcrawl.lab.simweb import kind_words  # noqa: E402
from webcrawl.lab.simweb.kinds import documents, link_sources, misbehaviour  # noqa: E402
from webcrawl.lab.simweb.mix import GROUPS  # noqa: E402
from webcrawl.lab.simweb.name_server import BY_NAME  # noqa: E402
from webcrawl.lab.simweb.zoo import ZOO  # noqa: E402
from webcrawl.net import ftp_session  # noqa: E402, F401 - it has errors of its own
from webcrawl.net.errors import FetchError  # noqa: E402
from webcrawl.store.jobdir.counter_words import WRONG  # noqa: E402

ERRORS = """# Errors and flaws

For operators and developers: the names under which failures and defects are counted.
`python docs/make_inside.py` writes this page from the code.

## Errors

An error is a download without a usable answer. `stats.json` counts it as `outcome/NAME`, once per
attempt. The status is the one in crawl.log. Status 0 never reaches the log: the fault is local, the
URL returns to its queue, and no host is charged.

"""
FLAWS = """
## Flaws

A flaw is a defect of an answer that is used anyway. The log marks a truncated body with the
annotation `truncated:NAME`, and the archive records all flaws.

"""
KINDS = """# Kinds of the synthetic web

For testers: what `webcrawl lab simweb --kinds` and `World(mix=…)` take, and which traps and outages
there are. `python docs/make_inside.py` writes this page from the code.
[testing.md](testing.md#the-synthetic-web) explains the web.

Kinds of one group exclude each other, and groups are independent of each other.
"""
PARTS: dict[str, list[Iterable[str]]] = {  # of the groups that have more than a line
    "page": [
        link_sources.KINDS,
        misbehaviour.REDIRECTS,
        misbehaviour.ERRORS,
        [*documents.KINDS, *documents.BODIES],
        documents.CODINGS,
        documents.CHARSETS,
        misbehaviour.SLOW,
        misbehaviour.BROKEN,
        misbehaviour.LIARS,
        link_sources.TRAPS,
    ],
    "dns": [GROUPS["dns"], sorted(BY_NAME)],
}


def errors() -> str:
    """Return the page of errors and flaws."""
    found = table(
        ("name", "status", "when"),
        (
            (f"`{kind.name}`", str(int(kind.status)), first_paragraph(kind))
            for kind in _kinds_of(FetchError)
            if kind.__module__.startswith("webcrawl.")
        ),
    )
    words = {name: text for group in WRONG.values() for name, text in group.items()}
    flaws = table(
        ("counter in `stats.json`", "when"),
        (
            (f"`{name}`", text)
            for name, text in words.items()
            if name.startswith(("truncated/", "flaw/"))
        ),
    )
    return f"{ERRORS}{found}{FLAWS}{flaws}"


def kinds() -> str:
    """Return the page of kinds, traps and outages."""
    groups = "".join(_group(name) for name in GROUPS)
    traps = "".join(f"- `{name}`: {first_paragraph(page)}\n" for name, page in ZOO.items())
    outages = "".join(f"- `{name}`: {text}.\n" for name, text in kind_words.OUTAGES.items())
    return f"{KINDS}{groups}\n## Traps (`--zoo`)\n\n{traps}\n## Outages (`--outage`)\n\n{outages}"


def _kinds_of(error: type[FetchError]) -> Iterator[type[FetchError]]:
    yield error
    for kind in error.__subclasses__():
        yield from _kinds_of(kind)


def _group(name: str) -> str:
    text = kind_words.GROUPS[name]
    lists = "".join(f"- {_listed(members)}.\n" for members in PARTS.get(name, [GROUPS[name]]))
    return f"\n## {name}\n\n{text[:1].upper()}{text[1:]}.\n\n{lists}"


def _listed(members: Iterable[str]) -> str:
    return ", ".join(
        f"`{kind}` ({kind_words.KINDS[kind]})" if kind in kind_words.KINDS else f"`{kind}`"
        for kind in members
    )


PAGES = {"errors.md": errors, "simweb-kinds.md": kinds}

if __name__ == "__main__":
    for file_name, made in PAGES.items():
        (DOCS / file_name).write_text(made(), encoding="utf-8")
