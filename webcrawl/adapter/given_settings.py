"""Settings of a command line that Scrapy itself reads, and refuses in other words or with a traceback."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import shortened


def check_given(settings: BaseSettings | None, given: Iterable[str]) -> None:
    """Raises UsageError for the first `-s` without a JSON object where Scrapy reads one: it speaks of a missing `=`."""
    for word in given:
        name, _, value = word.partition("=")
        if settings is not None and isinstance(settings.get(name), BaseSettings) and not _is_object(value):
            allowed = f"""a JSON object, with double quotes: -s '{name}={{"a.B": 300}}'"""
            raise UsageError(f"{name} = {shortened(value)}: must be {allowed}", print_help=False)


def check_log_file(settings: BaseSettings) -> None:
    """Raises CannotStart if the log file cannot be opened; it may lie in JOBDIR, which is to be there."""
    log = settings["LOG_FILE"]
    if log and settings.getbool("LOG_ENABLED"):
        try:
            Path(log).open("a", encoding="utf-8").close()
        except OSError as error:
            raise CannotStart(f"LOG_FILE = {log}: must be a file that can be written to ({error.strerror})") from error


def _is_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), Mapping)
    except ValueError:
        return False
