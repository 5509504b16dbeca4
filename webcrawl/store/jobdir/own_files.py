"""The files of a JOBDIR that the crawl alone writes: a log or a feed with such a name would damage
them.
"""

from __future__ import annotations

from pathlib import Path

from webcrawl.store.jobdir import history_line
from webcrawl.store.jobdir.crawls import number_of

# of a JOBDIR: what is not an output (docs/on-disk.md)
REWRITTEN = ("stats.json", "metrics.json", "metrics.url", "tags.tsv")
NAMES = "state control.sock hive.json lock server seeds segments index stream"
OWN = (*NAMES.split(), *REWRITTEN, *(f"{name}.new" for name in REWRITTEN))
LOGS = "crawl links found images skipped neardup store requests errors walk"  # logs/NAME.log
TRACE = "logs/url.trace"
# no outputs, though they lie among them: nothing truncates these
BESIDE = ("logs/errors.log", "logs/requests.log")


def is_own(path: Path, jobdir: Path) -> bool:
    """Return whether the crawl in this folder writes to this path itself, or may do so later."""
    place, folder = path.resolve(), jobdir.resolve()
    if folder not in place.parents:
        return False
    logs = [f"logs/{name}.log" for name in LOGS.split()]
    path_in_jobdir = place.relative_to(folder)
    first_folder = folder / path_in_jobdir.parts[0]
    if number_of(first_folder) is not None:
        return is_own(place, first_folder)
    is_log = path_in_jobdir.parent == Path("logs") and path_in_jobdir.suffix == ".log"
    # What `hive` has each drone print: logs/drone-N.log
    if is_log and number_of(path_in_jobdir.with_suffix("")) is not None:
        return True
    return path_in_jobdir.parts[0] in OWN or path_in_jobdir.as_posix() in (
        *logs,
        TRACE,
        history_line.PATH,
    )
