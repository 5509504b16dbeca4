"""`webcrawl ctl`: asks and commands a crawl that runs (docs/control.md).

Scrapy imports every command for any of them: what takes long is imported later.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable, text_without_credentials
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawls import HIVE, crawls_of
from webcrawl.tools.tool_command import (
    SETTINGS_OPTION,
    ToolCommand,
    print_error,
    print_text,
    usage_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.tools.why.answer import WhyAnswer

VERBS = frozenset(  # which other programs have before the object
    {"checkpoint", "exclude", "get", "include", "pause", "resume", "set", "status", "stop"}
)
PATIENCE = 90.0  # seconds for an answer, which may wait for a checkpoint
WIDTH = 32  # columns of the help before its explanations
USAGE = f"a folder and a command: {program()} ctl JOBDIR status; {program()} ctl --help lists the commands"


class Command(ToolCommand):
    """Exit status 1 if the command is refused, with the reason in a line; 3 if no crawl is running."""

    summary = "Control a running crawl: status, pause, stop, exclude, set and others"
    usage = "JOBDIR COMMAND [WORDS] [--json]"
    accepts_dashed_words = True
    listed_options = SETTINGS_OPTION  # for a hive whose server a setting names

    def long_desc(self) -> str:
        from webcrawl.crawl.control.commands import COMMANDS  # noqa: PLC0415

        lines = (_line(one.usage, one.says) for one in COMMANDS.values())
        here = _line("why URL", f"explain what happened to a URL, as `{program()} why` does")
        statuses = (
            "exit status: 0 done, 1 refused, with the reason in a line, 2 wrong usage,",
            "             3 no crawl is running there",
        )
        return "\n".join((f"{self.summary}\n\ncommands:", *lines, here, "", *statuses))

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument(
            "--json", action="store_true", help="print the answer as one JSON object"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            answer = self._asked(args)
        except (CommandError, NotRunning) as error:
            self.exitcode = (
                ExitStatus.NOT_RUNNING if isinstance(error, NotRunning) else ExitStatus.FAILED
            )
            print_error(_with_advice(error, args), as_json=opts.json)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED
        else:
            self._say(_text(args[1], answer, as_json=opts.json))

    def _say(self, text: str) -> None:
        try:
            print_text(text)
        except OSError as error:
            self.exitcode = ExitStatus.FAILED
            sys.stderr.write(f"{error}\n")

    def _asked(self, args: list[str]) -> Any:
        if len(args) < 2:
            raise usage_error(USAGE)
        jobdir, command, *words = args
        if jobdir in VERBS and not Path(jobdir).exists():
            raise usage_error(f"the folder comes first: {program()} ctl JOBDIR {jobdir}")
        if command == "why":
            return _why(Path(jobdir), words)
        if command == "excluded" and "://" not in jobdir:
            return self._excluded(jobdir, words)
        return self._asked_crawl(jobdir, command, words)

    def _excluded(self, jobdir: str, words: list[str]) -> Any:
        """Return the sites that are left alone; without a running crawl, by its checkpoint."""
        from webcrawl.tools.optout_records import SavedRecords  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            return self._asked_crawl(jobdir, "excluded", words)
        except NotRunning as error:
            try:
                saved = SavedRecords(Path(jobdir))
            except (StoreError, OSError) as damage:
                raise CommandError(str(damage)) from damage
            if not saved.found:
                raise
            sys.stderr.write(f"{readable(str(error))}: the answer is from the last checkpoint\n")
            return saved.ask(*words)

    def _asked_crawl(self, jobdir: str, command: str, words: list[str]) -> Any:
        if command == "seeds" and not _is_hive(jobdir):
            from webcrawl.crawl.control.client import Client, add_seeds  # noqa: PLC0415 - as above

            return add_seeds(
                Client(Path(jobdir), PATIENCE).ask, Path(jobdir), words, sys.stdin.buffer
            )
        return ask(lambda: self.settings, jobdir, PATIENCE, sys.stdin.buffer, command, *words)


def _with_advice(error: Exception, args: Sequence[str]) -> str:
    """Return the error, and what else excludes a site if no crawl hears the command."""
    if isinstance(error, NotRunning) and args[1:2] in (["exclude"], ["include"]):
        return f"{error}; the file that URL_EXCLUDE_FILE names is read when the crawl starts again"
    return str(error)


def ask(
    settings: Callable[[], BaseSettings],
    place: str,
    patience: float,
    stdin: IO[bytes],
    command: str,
    *words: str,
) -> Any:
    """Return the answer of a crawl or hive; `stdin` is what a hive's seeds `-` are.

    `settings` are read for a hive alone: that loads Scrapy. Raise CommandError or NotRunning.
    """
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415 - as above

    if _is_hive(place):
        return _ask_hive(settings(), place, patience, stdin, command, *words)
    return Client(Path(place), patience).ask(command, *words)


def _is_hive(place: str) -> bool:
    try:
        return "://" in place or (Path(place) / HIVE).exists()
    except OSError as error:
        raise CommandError(str(error)) from error


def _ask_hive(
    settings: BaseSettings, place: str, patience: float, stdin: IO[bytes], command: str, *words: str
) -> Any:
    from webcrawl.base.errors import CannotStart  # noqa: PLC0415 - as above
    from webcrawl.crawl.hive.errors import HiveError  # noqa: PLC0415 - as above
    from webcrawl.tools.supervisor.hive_client import HiveClient  # noqa: PLC0415 - as above

    try:
        return HiveClient(settings, place, patience, stdin).ask(command, *words)
    except (HiveError, CannotStart) as error:
        raise CommandError(text_without_credentials(str(error))) from error


def _why(jobdir: Path, words: Sequence[str]) -> WhyAnswer:
    """Return the answer of `webcrawl why`, if the crawl runs, or a drone of the hive does."""
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415
    from webcrawl.tools.why.answer import why  # noqa: PLC0415

    if len(words) != 1:
        raise CommandError("usage: why URL")
    try:
        for folder in crawls_of(jobdir):
            with suppress(NotRunning):
                Client(folder, PATIENCE).ask("status")
                return why(jobdir, words[0])
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from error
    raise NotRunning(f"{jobdir}: no running crawl accepts commands there")


def _line(usage: str, says: str) -> str:
    """Return a line of the help in two columns; what is too long for the first has its own line."""
    between = "\n" + " " * (WIDTH + 3) if len(usage) > WIDTH else " "
    return f"  {usage:<{WIDTH}}{between}{says}"


def _text(command: str, answer: Any, *, as_json: bool) -> str:
    from webcrawl.tools.answer_text import shown, status  # noqa: PLC0415

    if command == "why":
        from webcrawl.tools.why.why_text import text_of  # noqa: PLC0415

        return f"{json.dumps(answer.to_json())}\n" if as_json else text_of(answer)
    is_mapping = isinstance(answer, dict)
    if as_json:
        return f"{json.dumps(answer if is_mapping else {'answer': answer})}\n"
    lines = status(answer) if command == "status" and is_mapping else shown(answer)
    return "".join(f"{line}\n" for line in lines)
