"""`scrapy ctl`: asks and commands a crawl that runs (docs/control.md).

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand

from webcrawl.control.errors import CommandError, NotRunning
from webcrawl.logs.readable import readable

REFUSED, NOT_RUNNING, INTERRUPTED = 1, 2, 130
PATIENCE = 60.0  # seconds for an answer, which may wait for a checkpoint
USAGE = "usage: scrapy ctl JOBDIR COMMAND [WORDS]; scrapy ctl --help lists the commands"


class Command(ScrapyCommand):
    """Exit status 0: done; 1: refused, with the reason in a line; 2: no crawl is running there."""

    requires_project = False
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "JOBDIR COMMAND [WORDS] [--json]"

    def short_desc(self) -> str:
        return "Ask and command a crawl that runs: status, pause, stop, exclude, set and others"

    def long_desc(self) -> str:
        from webcrawl.control.commands import COMMANDS  # noqa: PLC0415

        lines = (f"  {one.usage:<32} {one.says}" for one in COMMANDS.values())
        return "\n".join((f"{self.short_desc()}\n\ncommands:", *lines))

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("--json", action="store_true", help="print the answer as one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            if len(args) < 2:
                raise CommandError(USAGE)
            answer = self._asked(Path(args[0]), args[1], *args[2:])
        except (CommandError, NotRunning) as error:
            self.exitcode = NOT_RUNNING if isinstance(error, NotRunning) else REFUSED
            line = readable(" ".join(str(error).split()))
            sys.stderr.write(f"{line}\n")
            if opts.json:
                sys.stdout.write(f"{json.dumps({'error': line})}\n")
        except KeyboardInterrupt:
            self.exitcode = INTERRUPTED
        else:
            sys.stdout.write(_text(answer, as_json=opts.json))

    def _asked(self, jobdir: Path, command: str, *words: str) -> Any:
        from webcrawl.control.client import Client  # noqa: PLC0415

        return Client(jobdir, PATIENCE).ask(command, *words)


def _text(answer: Any, *, as_json: bool) -> str:
    from webcrawl.control.shown import shown  # noqa: PLC0415

    if as_json:
        return f"{json.dumps(answer if isinstance(answer, dict) else {'answer': answer})}\n"
    return "".join(f"{line}\n" for line in shown(answer))
