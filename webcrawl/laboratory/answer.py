"""What `scrapy caches` says: a table, or an object for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from webcrawl.laboratory.names import NAMES
from webcrawl.laboratory.study import Row, best_size, critical_region, statistics
from webcrawl.laboratory.traces import Trace

MOST = 1 << 24  # of URL_CACHE_SIZE


def as_json(trace: Trace, rows: Sequence[Row]) -> str:
    """One object on one line."""
    value = {
        "rows": [row.as_json() for row in rows],
        "trace": statistics(trace),
        "critical_region": critical_region(rows),
        "best_size": best_size(rows),
    }
    return f"{json.dumps(value)}\n"


def as_text(trace: Trace, rows: Sequence[Row]) -> str:
    """What the trace is, a table with a column per policy, and what follows from it."""
    names = [name for name in NAMES if name != "INFINITE" and any(row.policy == name for row in rows)]
    lines = [_about(trace), "", "hit rate in percent", "entries".rjust(11) + "".join(name.rjust(11) for name in names)]
    rates = {(row.policy, row.size): row.hit_rate for row in rows}
    sizes = sorted({row.size for row in rows if row.policy != "INFINITE"})
    lines += [f"{size:>11,}" + "".join(f"{100 * rates[name, size]:>11.2f}" for name in names) for size in sizes]
    lines += [f"{'infinite':>11}{100 * row.hit_rate:>11.2f}" for row in rows if row.policy == "INFINITE"]
    return "\n".join([*lines, *_advice(rows), ""])


def _about(trace: Trace) -> str:
    found = statistics(trace)
    words = [f"{trace.urls:,} URLs in {len(trace.lookups):,} look-ups"]
    if "links_mean" in found:
        words.append(
            f"on {found['pages']:,} pages ({found['links_mean']:.1f} each, median {found['links_median']:.0f})"
        )
    words.append(f"{100 * found['once']:.0f} % of the URLs come once, the most popular 1 % are")
    return f"{' '.join(words[:-1])}; {words[-1]} {100 * found['top_1_percent']:.0f} % of the look-ups"


def _advice(rows: Sequence[Row]) -> list[str]:
    region, best = critical_region(rows), best_size(rows)
    if best is None:
        return []
    what = f"set URL_CACHE_SIZE to {min(best, MOST)}"
    if region is None:
        return ["", f"size makes no difference here: {what}"]
    return ["", f"most is gained between {region[0]:,} and {region[1]:,} entries: {what}"]
