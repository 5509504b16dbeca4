"""What `scrapy orderings` says: a table, an object for programs, a drawing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from webcrawl.laboratory.graph import Graph
from webcrawl.laboratory.names import ORDERS
from webcrawl.laboratory.orderings import CRAWL, EXACT, LEVELS, SHARES, Row, Shape
from webcrawl.laboratory.plot import COLOURS, HIGH, LEFT, TOP, WIDE, Line, drawing, y
from webcrawl.report.markup import Html, tag

POINTS = 200  # of a line


def as_json(graph: Graph, rows: Sequence[Row]) -> str:
    """One object on one line."""
    value = {
        "graph": {"pages": graph.pages, "links": len(graph.links), "unreached": graph.unreached, "seeds": graph.seeds},
        "rows": [row.as_json() for row in rows],
    }
    return f"{json.dumps(value)}\n"


def as_text(graph: Graph, rows: Sequence[Row], shape: Shape) -> str:
    """What the graph is, and a line for each row."""
    lines = [_about(graph), "", "percent of all PageRank, after so many percent of the pages, and on average"]
    lines.append(f"{'':22}" + "".join(f"{100 * share:>8.0f}" for share in SHARES) + f"{'mean':>8}")
    for row in rows:
        values = "".join(f"{100 * row.at(share):>8.1f}" for share in SHARES)
        lines.append(f"{row.ordering:<12}{row.how:<10}{values}{100 * row.mean:>8.1f}")
    meanings = {
        EXACT: "one queue, always in order",
        LEVELS: f"FIFO queues ({shape.levels}), each drawn {shape.bias:g} times as often as the next",
        CRAWL: f"as a crawl does it, hosts in turns ({shape.hosts} at a time)",
    }
    used = {row.how for row in rows}
    lines += ["", *(f"{how}: {meaning}" for how, meaning in meanings.items() if how in used), ""]
    return "\n".join(lines)


def _about(graph: Graph) -> str:
    hosts = int(graph.hosts.max()) + 1
    left = f"; {graph.unreached:,} more that no seed leads to are left out" if graph.unreached else ""
    return f"pages: {graph.pages:,}, hosts: {hosts:,}, links: {len(graph.links):,}{left}"


def plot(rows: Sequence[Row]) -> str:
    """The SVG document: one line per ordering, as a crawl has it if that was asked for, else in exact order."""
    how = CRAWL if any(row.how == CRAWL for row in rows) else EXACT
    lines = []
    for row in (row for row in rows if row.how == how):
        shares = [step / POINTS for step in range(POINTS + 1)]
        points = [(LEFT + share * WIDE, y(row.at(share))) for share in shares]
        lines.append(Line(row.ordering, points, COLOURS[ORDERS.index(row.ordering)], dashed=row.ordering == "best"))
    below = [
        tag("text", f"{ten}0 %", x=f"{LEFT + ten / 10 * WIDE:.1f}", y=str(TOP + HIGH + 18), text_anchor="middle")
        for ten in range(0, 11, 2)
    ]
    place = {"x": str(LEFT + WIDE // 2), "y": str(TOP + HIGH + 38)}
    words: Html = tag("text", "pages fetched, and their share of all PageRank", text_anchor="middle", **place)
    return drawing("PageRank by pages fetched", lines, [*below, words])
