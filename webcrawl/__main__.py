"""The command `webcrawl`: Scrapy's, with this package's settings, in whatever folder."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from webcrawl import __version__
from webcrawl.base.program import INTERRUPTED, NAME, open_missing

GROUPS = {
    "Crawl": ("crawl", "hive", "segments", "demo"),
    "Look at a crawl": ("ctl", "dashboard", "why", "report", "search", "diff", "verify"),
    "Use what it found": ("export", "process"),
    "Face the sites' owners": ("identity", "account"),
    "Study": ("lab",),
}


# new objects between two searches for cycles: all modules together make fewer, and stay
MANY = 100_000


def main() -> None:
    """Run the command: `webcrawl crawl web -a seeds=…` is `scrapy crawl web …` in a checkout."""
    open_missing()
    try:
        _run()
    except KeyboardInterrupt:
        # while modules are loaded, or in a command that has nothing to say of it
        sys.exit(INTERRUPTED)


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"webcrawl {__version__}\n")
        return
    if sys.argv[1:] in ([], ["-h"], ["--help"], ["help"]):
        from webcrawl.tools.tool_command import say_all  # noqa: PLC0415 - as below

        for line in _help():
            say_all(f"{line}\n")
        return
    if "://" in sys.argv[1]:
        sys.exit(f"{sys.argv[1]}: the first word must be a command: webcrawl crawl {sys.argv[1]}")
    gc.set_threshold(MANY)
    atexit.register(gc.freeze)  # nor is a last search of any use
    os.environ[NAME] = "webcrawl"
    # before a scrapy.cfg, which may be another project's
    os.environ["SCRAPY_SETTINGS_MODULE"] = "webcrawl.settings"
    sys.path.append(str(Path.cwd()))  # where a user keeps pipelines
    from webcrawl.tools.tool_command import refusal, run_tool  # noqa: PLC0415 - --version need not wait

    status = run_tool(sys.argv[1:])
    if status is not None:
        sys.exit(status)
    if line := refusal(sys.argv[1:]):
        sys.stderr.write(f"{line}\n")
        sys.exit(2)
    from scrapy.cmdline import execute  # noqa: PLC0415 - half a second that most commands need not wait

    execute()


def _help() -> Iterator[str]:
    yield f"webcrawl {__version__}, a web crawler. Usage: webcrawl COMMAND [options]"
    for title, names in GROUPS.items():
        yield f"\n{title}:"
        for name in names:
            yield f"  {name:<10}{import_module(f'webcrawl.commands.{name}').Command().short_desc()}"
    yield "\n`webcrawl COMMAND -h` explains one. Scrapy's own commands work too, such as fetch and shell."


if __name__ == "__main__":
    main()
