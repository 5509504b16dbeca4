"""The lines and pages that commands write, the numbers that they are given, and what they ask of crawls that run."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TextIO

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from webcrawl.base.credentials import text_without_credentials
from webcrawl.base.readable import readable
from webcrawl.store.jobdir.crawls import HIVE


def say(line: str) -> None:
    """Prints a line at once, as `say_all` does, escaped: names of files and of hosts may contain anything."""
    say_all(f"{readable(line)}\n")


def say_all(text: str | bytes) -> None:
    """Prints a whole answer, or what somebody wants of it who reads through a pipe; OSError if it cannot be written.

    A reader who has read enough stops nothing: the command goes on, and its exit status says how it went. Nor does it
    matter if nobody wants to read anything (`>&-`).
    """
    output: TextIO | None = sys.stdout
    if output is None:
        return
    try:
        if isinstance(text, bytes):
            output.buffer.write(text)
        else:
            output.write(text)
        output.flush()
    except BrokenPipeError:
        read_enough()


def read_enough() -> None:
    """Whoever reads what is printed has closed the pipe: nothing that follows is an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_page(path: Path, text: str) -> None:
    """Replaces the file as a whole; what is no file, such as /dev/stdout, is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("x", encoding="utf-8") as file:  # follows no link that somebody put there
            file.write(text)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


DIGITS = 20


def whole(option: str, text: str, least: int, most: int) -> int:
    """A whole number within bounds. UsageError."""
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS and least <= int(text) <= most):
        raise UsageError(f"{option} {text}: must be a whole number from {least} to {most}", print_help=False)
    return int(text)


def ask(settings: BaseSettings, jobdir: Path, patience: float, command: str, *words: str, written: bytes = b"") -> Any:
    """The answer, as to scrapy ctl; `written` is what `-` stands for. CommandError or NotRunning."""
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415 - Scrapy imports every command for any

    if (jobdir / HIVE).exists():
        return ask_hive(settings, str(jobdir), patience, BytesIO(written), command, *words)
    return Client(jobdir, patience).ask(command, *words)


def ask_hive(settings: BaseSettings, place: str, patience: float, stdin: IO[bytes], command: str, *words: str) -> Any:
    """The answer of the hive of a folder or a server. CommandError or NotRunning."""
    from webcrawl.crawl.control.command import CommandError  # noqa: PLC0415 - as above
    from webcrawl.tools.supervisor.asked import REFUSALS, AskedHive  # noqa: PLC0415 - as above

    try:
        return AskedHive(settings, place, patience, stdin).ask(command, *words)
    except REFUSALS as error:
        raise CommandError(text_without_credentials(str(error))) from error
