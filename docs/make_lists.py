"""Writes what pages of docs/ list from the code: `python docs/make_lists.py`.

docs/columns.md is written whole. In other pages the lists stand between two comments, and the text
around them is the page's own. docs/make_settings.py writes settings.md.
"""  # noqa: INP001 - a script beside the pages that it writes

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))  # as a script it finds the package beside docs/

from docs.column_meanings import meaning_of  # noqa: E402
from docs.markdown import first_paragraph, table  # noqa: E402
from webcrawl.adapter.request_meta import NO_EFFECT  # noqa: E402
from webcrawl.base.loading import load  # noqa: E402
from webcrawl.base.model import Status  # noqa: E402
from webcrawl.base.settings.crawl_settings import URL_FILTERS  # noqa: E402
from webcrawl.crawl.checks.scrapys import (  # noqa: E402
    HIVE,
    PAGES,
    REQUESTS,
    TAKEN,
    UNHEARD,
    Unheard,
)
from webcrawl.crawl.revisit.policies import Policy  # noqa: E402
from webcrawl.frontier.allowances import Allowance  # noqa: E402
from webcrawl.frontier.politeness import Politeness  # noqa: E402
from webcrawl.frontier.prioritizers import Prioritizer  # noqa: E402
from webcrawl.frontier.seen.caches import UrlCache  # noqa: E402
from webcrawl.net.dns_answers import Lookup  # noqa: E402
from webcrawl.record.tables.columns import SCHEMAS  # noqa: E402
from webcrawl.urls import foldings  # noqa: E402
from webcrawl.urls.filters.exclusion import CommandedFilter  # noqa: E402
from webcrawl.urls.filters.filter_protocol import UrlFilter  # noqa: E402

COLUMNS_HEAD = """# Columns of the tables

For users of the Parquet files: the columns of each table, in order, as generated from the code.
[outputs.md](outputs.md) says when a table is written, and has sample questions. The columns of `pages` up to `subset`
have the names and types of Common Crawl's columnar index, except that offsets and lengths have 64 bits. An empty cell
means that the name says all.
"""
KINDS = (  # in the order of the page
    ("politeness policy", "POLITENESS_POLICY", Politeness),
    ("prioritizer", "FRONTIER_PRIORITIZER", Prioritizer),
    ("URL filter", "URL_FILTERS", UrlFilter),
    ("budget of a domain", "DOMAIN_BUDGET", Allowance),
    ("revisit policy", "REVISIT_POLICY", Policy),
    ("cache of popular URLs", "URL_CACHE", UrlCache),
    ("name lookup", "DNS_LOOKUP", Lookup),
)
REGION = "<!-- {name}: made by docs/make_lists.py -->\n"
END = "<!-- end -->\n"


def pages() -> dict[str, str]:
    """Return each page with what the code says, by its name."""
    made = {"columns.md": columns()}
    for page, name, text in (
        ("logs.md", "statuses", statuses),
        ("urls-and-traps.md", "foldings", url_foldings),
        ("urls-and-traps.md", "filters", filters),
        ("policies.md", "kinds", kinds),
        ("scrapy-compatibility.md", "scrapy settings", scrapy_settings),
        ("scrapy-compatibility.md", "meta keys", meta_keys),
    ):
        before = made.get(page) or (DOCS / page).read_text(encoding="utf-8")
        made[page] = with_region(before, name, text)
    return made


def with_region(page: str, name: str, text: Callable[[], str]) -> str:
    """Return the page with this text between its two comments. Raise ValueError if it has none."""
    first = REGION.format(name=name)
    before, found, rest = page.partition(first)
    _, end, after = rest.partition(END)
    if not (found and end):
        raise ValueError(f"no region {name!r}")
    return f"{before}{first}\n{text()}\n{end}{after}"


def columns() -> str:
    """Return the page of all columns."""
    parts = [COLUMNS_HEAD]
    for name, schema in SCHEMAS.items():
        rows = ((f"`{one.name}`", str(one.type), meaning_of(name, one.name)) for one in schema)
        parts.append(f"\n## {name}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "".join(parts)


def statuses() -> str:
    """Return the numbers of crawl.log, with the texts below them in the enumeration."""
    texts = _texts_below(Status)
    rows = ((str(int(one)), texts[one.name]) for one in Status if one.name in texts)
    return table(("status", "what became of the URL"), rows)


def _texts_below(kind: type) -> dict[str, str]:
    """Return the strings that stand below members of an enumeration, which Python does not keep."""
    members = next(ast.iter_child_nodes(ast.parse(dedent(inspect.getsource(kind)))))
    texts = {}
    name = ""
    for line in ast.iter_child_nodes(members):
        if isinstance(line, ast.Assign):
            name = ast.unparse(line.targets[0])
        elif name and isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):
            texts[name] = str(line.value.value)
    return texts


def url_foldings() -> str:
    """Return the foldings that ship with the crawl."""
    own = (
        (name, one)
        for name, one in inspect.getmembers(foldings, inspect.isfunction)
        if list(inspect.signature(one).parameters) == ["url"] and name != "without_session"
    )
    rows = ((f"`{name}`", first_paragraph(one)) for name, one in own)
    return table(("`webcrawl.urls.foldings.`", "effect on the comparison"), rows)


def filters() -> str:
    """Return the filters of the default, in their order, and the one of commands."""
    kinds = [*(load(path) for path in sorted(URL_FILTERS, key=URL_FILTERS.get)), CommandedFilter]  # type: ignore[arg-type]
    return table(("name", "effect"), ((f"`{kind.name}`", first_paragraph(kind)) for kind in kinds))


def kinds() -> str:
    """Return the methods of each Protocol that a class of the user's may replace."""
    rows = ((kind, f"`{setting}`", ", ".join(_methods(of))) for kind, setting, of in KINDS)
    return table(("kind", "setting", "methods"), rows)


def _methods(protocol: type) -> Iterable[str]:
    for name, one in vars(protocol).items():
        if name.startswith("_") and name != "__len__":
            continue
        if isinstance(one, property):
            yield f"`{name}`"
        elif inspect.isfunction(one):
            taken = [each for each in inspect.signature(one).parameters if each != "self"]
            yield f"`{name}({', '.join(taken)})`"


def scrapy_settings() -> str:
    """Return Scrapy's settings that stand for one of ours, and those without effect."""
    taken = table(
        ("setting", "is taken as"), ((f"`{one.theirs}`", f"`{one.ours}`") for one in TAKEN)
    )
    rows = (
        (_names(one.names), one.why, _readers(one)) for one in UNHEARD if HIVE not in one.readers
    )
    return (
        f"{taken}\n## Settings without effect\n\n{table(('settings', 'why', 'effective in'), rows)}"
    )


def _names(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split())


def _readers(one: Unheard) -> str:
    if one.readers == {PAGES}:
        return "`web`"
    if one.readers == {REQUESTS}:
        return "other spiders"
    return " or ".join(f"crawls with {name}" for name in sorted(one.readers))


def meta_keys() -> str:
    """Return the keys of request.meta that have no effect."""
    rows = (
        (f"`{key}`", why, f"crawls with {reader}" if reader else "")
        for key, (why, reader) in NO_EFFECT.items()
    )
    return table(("key without effect", "why", "effective in"), rows)


if __name__ == "__main__":
    for page, text in pages().items():
        (DOCS / page).write_text(text, encoding="utf-8")
