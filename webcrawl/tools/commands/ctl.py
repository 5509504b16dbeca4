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

from webcrawl.base.errors import CannotStart, of_file
from webcrawl.base.program import ExitStatus, program
from webcrawl.base.readable import readable, text_without_credentials
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.disk import is_there
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

# Commands that other programs take before their object: `ctl pause JOBDIR` gets a hint.
VERBS = frozenset(
    {"checkpoint", "exclude", "get", "include", "pause", "resume", "set", "status", "stop"}
)
MAX_ANSWER_SECONDS = 90.0  # an answer may wait for a checkpoint
USAGE_COLUMNS = 32  # width of the first column of the help
USAGE = f"a folder and a command: {program()} ctl JOBDIR status; {program()} ctl --help lists the commands"


class Command(ToolCommand):
    """Gives a command to a running crawl or hive, and prints the answer.

    Exit status 1 if the command is refused, with the reason in a line; 3 if no crawl is running.
    """

    summary = "Control a running crawl: status, pause, stop, exclude, set and others"
    usage = "JOBDIR COMMAND [WORDS] [--json]"
    accepts_dashed_words = True
    listed_options = SETTINGS_OPTION  # for a hive whose server a setting names

    def long_desc(self) -> str:
        """Return the help: all commands, and the exit statuses."""
        from webcrawl.crawl.control.commands import COMMANDS  # noqa: PLC0415

        lines = (_help_line(command.usage, command.says) for command in COMMANDS.values())
        # `why` is no command of the crawl: this process answers it.
        why = _help_line("why URL", f"explain what happened to a URL, as `{program()} why` does")
        statuses = (
            "exit status: 0 done, 1 refused, with the reason in a line, 2 wrong usage,",
            "             3 no crawl is running there",
        )
        return "\n".join((f"{self.summary}\n\ncommands:", *lines, why, "", *statuses))

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument(
            "--json", action="store_true", help="print the answer as one JSON object"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Give the command, print the answer, and set the exit status by how it went."""
        try:
            answer = self._answer(args)
        except NotRunning as error:
            self.exitcode = ExitStatus.NOT_RUNNING
            print_error(_with_advice(error, args), as_json=opts.json)
        except CommandError as error:
            self.exitcode = ExitStatus.FAILED
            print_error(error, as_json=opts.json)
        except KeyboardInterrupt:
            self.exitcode = ExitStatus.INTERRUPTED
        else:
            self._print(_text(args[1], answer, as_json=opts.json))

    def _print(self, text: str) -> None:
        try:
            print_text(text)
        except OSError as error:
            self.exitcode = ExitStatus.FAILED
            sys.stderr.write(f"{error}\n")

    def _answer(self, args: list[str]) -> Any:
        """Return the answer to the command. Raise UsageError, CommandError or NotRunning."""
        if len(args) < 2:
            raise usage_error(USAGE)
        jobdir, command, *words = args
        if jobdir in VERBS and not Path(jobdir).exists():
            raise usage_error(f"the folder comes first: {program()} ctl JOBDIR {jobdir}")
        is_hive_server = "://" in jobdir
        if command == "why":
            # It reads files, so it is answered here, whether the crawl runs or not
            if is_hive_server:
                server = text_without_credentials(jobdir)
                raise CommandError(
                    f"{server}: why reads files: give the folder of the hive or drone"
                )
            return _why(Path(jobdir), words)
        if command == "excluded" and not is_hive_server:
            return self._excluded(jobdir, words)
        return self._answer_of_crawl(jobdir, command, words)

    def _excluded(self, jobdir: str, words: list[str]) -> Any:
        """Return the excluded sites, from the running crawl or else from its last checkpoint.

        Raise CommandError if the checkpoint cannot be read, NotRunning if there is no crawl.
        """
        from webcrawl.tools.optout_records import SavedRecords  # noqa: PLC0415 - Scrapy imports every command for any

        try:
            return self._answer_of_crawl(jobdir, "excluded", words)
        except NotRunning as error:
            try:
                saved = SavedRecords(Path(jobdir))
            except (StoreError, OSError) as damage:
                raise CommandError(str(damage)) from damage
            if not saved.has_crawl:
                raise
            sys.stderr.write(f"{readable(str(error))}: the answer is from the last checkpoint\n")
            return saved.ask(*words)

    def _answer_of_crawl(self, jobdir: str, command: str, words: list[str]) -> Any:
        """Return what the crawl or hive answers. Raise CommandError or NotRunning."""
        stdin = sys.stdin.buffer
        if command == "seeds" and not _is_hive(jobdir):
            from webcrawl.crawl.control.client import Client, add_seeds  # noqa: PLC0415 - as above

            client = Client(Path(jobdir), MAX_ANSWER_SECONDS)
            return add_seeds(client.ask, Path(jobdir), words, stdin)
        return ask(lambda: self.settings, jobdir, MAX_ANSWER_SECONDS, stdin, command, *words)


def _with_advice(error: NotRunning, args: Sequence[str]) -> str:
    """Return the error, and for exclude and include how to exclude a site without a crawl."""
    if args[1:2] in (["exclude"], ["include"]):
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
    """Give a crawl or hive a command, and return the answer. Raise CommandError or NotRunning.

    `place` is a JOBDIR, or the URL of a hive's server. `patience` is the time limit in seconds.
    `stdin` has the seeds that `seeds add -` gives to a hive. `settings` is called for a hive alone,
    because reading the settings loads Scrapy.
    """
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415 - as above

    if _is_hive(place):
        return _ask_hive(settings(), place, patience, stdin, command, *words)
    return Client(Path(place), patience).ask(command, *words)


def _is_hive(place: str) -> bool:
    """Return whether a place is a hive: a URL, or a folder with hive.json. Raise CommandError."""
    try:
        return "://" in place or is_there(Path(place) / HIVE)
    except OSError as error:
        raise CommandError(of_file(error)) from error


def _ask_hive(
    settings: BaseSettings, place: str, patience: float, stdin: IO[bytes], command: str, *words: str
) -> Any:
    """Give a hive a command, and return the answer. Raise CommandError or NotRunning."""
    from webcrawl.crawl.hive.errors import HiveError  # noqa: PLC0415 - as above
    from webcrawl.tools.supervisor.hive_client import HiveClient  # noqa: PLC0415 - as above

    try:
        return HiveClient(settings, place, patience, stdin).ask(command, *words)
    except (HiveError, CannotStart) as error:
        raise CommandError(text_without_credentials(str(error))) from error


def _why(jobdir: Path, words: Sequence[str]) -> WhyAnswer:
    """Return the answer of `webcrawl why`. Raise NotRunning unless the crawl or a drone runs."""
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415
    from webcrawl.tools.why.answer import why  # noqa: PLC0415

    if len(words) != 1:
        raise CommandError("usage: why URL")
    try:
        for folder in crawls_of(jobdir):
            with suppress(NotRunning):
                Client(folder, MAX_ANSWER_SECONDS).ask("status")
                return why(jobdir, words[0])
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from error
    raise NotRunning(f"{jobdir}: no running crawl accepts commands there")


def _help_line(usage: str, explanation: str) -> str:
    """Return a command and its explanation in two columns.

    The explanation has a line of its own if the command is wider than the first column.
    """
    is_too_wide = len(usage) > USAGE_COLUMNS
    between = "\n" + " " * (USAGE_COLUMNS + 3) if is_too_wide else " "
    return f"  {usage:<{USAGE_COLUMNS}}{between}{explanation}"


def _text(command: str, answer: Any, *, as_json: bool) -> str:
    """Return the answer to a command as it is printed, for people or as JSON."""
    from webcrawl.tools.answer_text import answer_lines, status_lines  # noqa: PLC0415

    if command == "why":
        from webcrawl.tools.why.why_text import text_of  # noqa: PLC0415

        return f"{json.dumps(answer.to_json())}\n" if as_json else text_of(answer)
    is_mapping = isinstance(answer, dict)
    if as_json:
        return f"{json.dumps(answer if is_mapping else {'answer': answer})}\n"
    is_status = command == "status" and is_mapping
    lines = status_lines(answer) if is_status else answer_lines(answer)
    return "".join(f"{line}\n" for line in lines)
