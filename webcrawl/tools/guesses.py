"""Suggests what to type instead of a command that webcrawl does not have.

Users of other programs type many of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from webcrawl.base.program import program

# of difflib's ratio: `wyh` is similar to `why`, and a short word to few others
MIN_SIMILARITY = 0.66
CRAWL = "{program} crawl URL|FILE…; the same command resumes a crawl that was stopped"
DASHBOARD = "{program} dashboard, which shows all crawls below crawls/"
INSTEAD = {
    **dict.fromkeys(("archive", "begin", "download", "get-site", "mirror", "run", "start"), CRAWL),
    **dict.fromkeys(("continue", "restart"), CRAWL),
    "resume": f"{{program}} ctl {{folder}} resume after a pause; after a stop, {CRAWL}",
    **dict.fromkeys(("cancel", "kill", "quit"), "{program} ctl {folder} stop"),
    **dict.fromkeys(
        ("info", "stat", "stats"), "{program} ctl {folder} status, or {program} report {folder}"
    ),
    **dict.fromkeys(("ls", "monitor", "ps", "serve", "top", "ui", "watch"), DASHBOARD),
    **dict.fromkeys(("log", "logs", "tail"), "tail -f {folder}/logs/crawl.log"),
    **dict.fromkeys(("documents", "graph", "store", "wacz"), "{program} export {name} {folder}"),
    **dict.fromkeys(("pack", "package"), "{program} export wacz {folder}"),
    **dict.fromkeys(("push", "upload"), "{program} export store {folder}"),
    **dict.fromkeys(("caches", "orderings", "simweb", "walks"), "{program} lab {name}"),
    **dict.fromkeys(("adopt", "resize"), "{program} hive {name} {folder}"),
    "scale": "{program} hive resize {folder} -n N",
    **dict.fromkeys(("fsck", "validate"), "{program} verify {folder}"),
    **dict.fromkeys(("explain", "trace"), "{program} why {folder} URL"),
    **dict.fromkeys(("find", "grep", "query"), "{program} search {folder} WORDS"),
    **dict.fromkeys(("extract", "reprocess"), "{program} process {folder}"),
    **dict.fromkeys(
        ("delete", "remove", "rm"), "rm -r {folder}, which is all that the crawl keeps"
    ),
}


def instead_of(name: str, words: Sequence[str], known: Sequence[str]) -> str:
    """Return a suggestion what to type instead of an unknown command.

    `words` follow the name on the command line. `known` are the names of all commands.
    """
    from webcrawl.crawl.control.commands import COMMANDS as ORDERS  # noqa: PLC0415 - 0.2 s, for a wrong word

    folder, *others = words or ["JOBDIR"]
    if name in INSTEAD:
        return f"try {INSTEAD[name].format(program=program(), name=name, folder=folder)}"
    if name in ORDERS:
        return f"try {' '.join((program(), 'ctl', folder, name, *others))}"
    if Path(name, "state").exists():
        return f"try {program()} ctl {name} status, {program()} report {name}"
    if _is_source(name):
        return f"try {program()} crawl {name}"
    similar = get_close_matches(name, known, 1, MIN_SIMILARITY)
    return f"did you mean {similar[0]}?" if similar else "-h lists all"


def _is_source(name: str) -> bool:
    """Return whether a word looks like a URL, a host or a file, from which a crawl could begin."""
    return "." in name or ":" in name or Path(name).is_file()
