"""The lines that commands print while they work, the pages that they write, and the numbers that they are given."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import readable
from webcrawl.base.settings.setting_kinds import is_whole
from webcrawl.tools.tool_command import usage_error


class CannotPrint(OSError):  # noqa: N818 - reads as what it is
    """Standard output takes nothing more, because its disk is full perhaps."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def say(line: str) -> None:
    """Prints a line at once, as `say_all` does, escaped: names of files and of hosts may contain anything."""
    say_all(f"{readable(line)}\n")


def say_all(text: str | bytes) -> None:
    """Prints a whole answer, or what somebody wants of it who reads through a pipe. CannotPrint.

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
    except OSError as error:
        raise CannotPrint(error.errno, error.strerror or str(error), "standard output") from error


def complain(why: object, *, as_json: bool = False) -> None:
    """Prints why nothing could be done as one line on standard error; `as_json` answers with it, too."""
    line = readable(" ".join(str(why).split()))
    sys.stderr.write(f"{line}\n")
    if as_json:
        with suppress(OSError):  # standard error has it
            say_all(f"{json.dumps({'error': line})}\n")


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


def port_of(text: str) -> int:
    """A port to listen on. CannotStart."""
    if not is_whole(text, 0, 65_535):
        raise CannotStart(f"--port {text}: must be a whole number from 0 to 65535")
    return int(text)


def whole(option: str, text: str, least: int, most: int) -> int:
    """A whole number within bounds. UsageError."""
    if not is_whole(text, least, most):
        raise usage_error(f"{option} {text}: must be a whole number from {least} to {most}")
    return int(text)
