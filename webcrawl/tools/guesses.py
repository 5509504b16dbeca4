"""Commands that webcrawl does not have, but users of other programs type: what to type instead."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from webcrawl.base.program import program

LIKE = 0.66  # of difflib's measure: `wyh` is like `why`, and a short word is like few others
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
    """Return a line on what to type instead of a command that is not there.

    `words`: what follows it. `known`: the commands that are there.
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
    close = get_close_matches(name, known, 1, LIKE)
    return f"did you mean {close[0]}?" if close else "-h lists all"


def _is_source(name: str) -> bool:
    """Return whether a crawl could begin from it: a URL, a host or a file."""
    return "." in name or ":" in name or Path(name).is_file()
