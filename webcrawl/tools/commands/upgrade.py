"""`scrapy upgrade`: brings the JOBDIR of an earlier webcrawl to the form that this one reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import crawls_of
from webcrawl.tools.commands.console import complain, say
from webcrawl.tools.tool_command import ToolCommand, usage_error


class Command(ToolCommand):
    """Exit status 0, or 1 and one line that says why nothing has changed; docs/operations.md has examples."""

    says = "Bring the crawl or hive of an earlier webcrawl up to date"
    same_as = "verify --upgrade"

    def syntax(self) -> str:
        return "JOBDIR"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        del opts
        if len(args) != 1 or not args[0]:  # an empty name would be the current folder
            raise usage_error(f"one folder: {program()} upgrade JOBDIR")
        self.exitcode = upgraded(Path(args[0]), as_json=False)


def upgraded(jobdir: Path, *, as_json: bool) -> int:
    """Prints what is done, on standard error if somebody waits for JSON; returns the exit status."""
    from webcrawl.tools.upgrade.upgrading import upgrade  # noqa: PLC0415 - Scrapy imports every command for any

    tell = complain if as_json else say
    try:
        for folder in crawls_of(jobdir):
            lines = 0
            for line in upgrade(folder):
                lines += 1
                tell(f"{folder}: {line}")
            if not lines:
                tell(f"{folder}: is up to date")
    except (StoreError, OSError) as error:
        complain(error, as_json=as_json)
        return 1
    return 0
