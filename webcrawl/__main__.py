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
from webcrawl.base.program import NAME, ExitStatus, open_missing

GROUPS = {
    "Crawl": ("crawl", "hive", "demo"),
    "Running crawls": ("ctl", "dashboard", "mcp"),
    "Results": ("why", "report", "search", "diff", "verify", "qa"),
    "Data": ("process", "export"),
    "Site owners": ("account", "identity"),
    "Advanced": ("segments", "lab"),
}
HELP = frozenset({"-h", "--help", "help"})
VERSION = frozenset({"-V", "--version", "version"})


# New objects between two searches for cycles. A crawl makes 250,000 before its first page, nearly all
# of them modules', which stay: a search among them takes 30 ms and finds nothing.
MANY = 400_000


def main() -> None:
    """Run the command: `webcrawl crawl web -a seeds=…` is `scrapy crawl web …` in a checkout."""
    open_missing()
    try:
        _run()
    except KeyboardInterrupt:
        # while modules are loaded, or in a command that has nothing to say of it
        sys.exit(ExitStatus.INTERRUPTED)


def _run() -> None:
    words = sys.argv[1:]
    if words and words[0] in VERSION and len(words) == 1:
        sys.stdout.write(f"webcrawl {__version__}\n")
        return
    if words[:1] == ["help"] and len(words) > 1:  # as git has it
        words = sys.argv[1:] = [*words[1:], "--help"]
    if not words or (words[0] in HELP and len(words) == 1):
        from webcrawl.tools.tool_command import print_text  # noqa: PLC0415 - as below

        for line in _help():
            print_text(f"{line}\n")
        return
    gc.set_threshold(MANY)
    atexit.register(gc.freeze)  # nor is a last search of any use
    os.environ[NAME] = "webcrawl"
    # before a scrapy.cfg, which may be another project's
    os.environ["SCRAPY_SETTINGS_MODULE"] = "webcrawl.settings"
    sys.path.append(str(Path.cwd()))  # where a user keeps pipelines
    if words[0] == "completion":
        from webcrawl.tools.commands.completion import print_completion  # noqa: PLC0415 - few want it

        sys.exit(print_completion(words[1:]))
    from webcrawl.tools.tool_command import run_tool, unknown_command  # noqa: PLC0415 - --version need not wait

    status = run_tool(words)
    if status is not None:
        sys.exit(status)
    if line := unknown_command(words):
        sys.stderr.write(f"{line}\n")
        sys.exit(ExitStatus.USAGE)
    from scrapy.cmdline import execute  # noqa: PLC0415 - half a second that most commands need not wait

    execute()


def _help() -> Iterator[str]:
    yield f"webcrawl {__version__}, a web crawler. Usage: webcrawl COMMAND [options]"
    for title, names in GROUPS.items():
        yield f"\n{title}:"
        for name in names:
            yield f"  {name:<10}{import_module(f'webcrawl.commands.{name}').Command().short_desc()}"
    yield "\n`webcrawl COMMAND -h` explains one. Scrapy's own commands work too, such as fetch and shell."
    yield "`webcrawl completion bash` (or zsh, fish) prints a script that completes commands and options."
    yield "Exit status: 0 done, 1 failed or refused, 2 wrong command line, 3 no crawl is running there."


if __name__ == "__main__":
    main()
