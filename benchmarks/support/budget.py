"""What each stage of a page may take: percent of the crawler's CPU time in one run, so the machine
matters little.
"""

from __future__ import annotations

from collections.abc import Mapping

ARCHIVE, ALL = "warc", "warc cdxj links tables"  # OUTPUTS of the two crawls

# By stage: at most so many percent with the archive alone, and with all four outputs: a fifth and
# one point more than it took on 28 November 2026.
BUDGET = {
    "parsing": (33.0, 35.0),
    "frontier, seeds": (22.0, 17.0),
    "engine and spider": (12.0, 11.0),
    "compression": (13.0, 10.0),
    "HTTP, names": (12.0, 9.0),
    "canonical forms, filters": (10.0, 10.0),
    "index, link log, tables": (2.0, 15.0),
    "SHA-1 for archive and log": (8.0, 7.0),
    "start": (6.0, 6.0),
    "WARC records": (7.0, 5.0),
    "event loop, sockets, TLS": (5.0, 4.0),
    "seen, content seen": (4.0, 4.0),
    "logs, statistics, pipelines": (4.0, 4.0),
    "disk, checkpoints": (3.0, 3.0),
    "robots.txt": (2.0, 3.0),
    "other": (2.0, 2.0),
}
# CPU time of a page with all four outputs, over the archive alone: the median of pairs
TIMES = 1.40


def over(shares: Mapping[str, float], place: int) -> dict[str, tuple[float, float]]:
    """Return the stages that take more than they may, with what they take and may take.

    A stage without a budget may take nothing. `place` is 0 for the archive alone, and 1 for all
    outputs.
    """
    found = {}
    for stage, share in shares.items():
        most = BUDGET.get(stage, (0.0, 0.0))[place]
        if share > most:
            found[stage] = share, most
    return found


def table(archive: Mapping[str, float], everything: Mapping[str, float]) -> str:
    """Return a table of both crawls, in percent by stage, each beside its budget."""
    head = (
        f"{'percent of the CPU time':30}{'archive':>9}{'at most':>9}{'all four':>10}{'at most':>9}"
    )
    rows = [
        f"{stage:30}{archive.get(stage, 0.0):9.1f}{one:9.1f}{everything.get(stage, 0.0):10.1f}{four:9.1f}"
        for stage, (one, four) in BUDGET.items()
    ]
    return "\n".join([head, *rows])
