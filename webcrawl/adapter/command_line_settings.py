"""Checks of settings of a command line that Scrapy would refuse with a traceback."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from webcrawl.base.errors import CannotStart
from webcrawl.base.readable import shortened
from webcrawl.base.settings import PREFIX


def settings_words(settings: BaseSettings | None, words: Iterable[str]) -> list[str]:
    """Return the environment's settings as NAME=VALUE, and then these words of `-s`.

    The last of a name counts. Raise UsageError as `check_json_settings` does. Variables whose name
    is no setting are ignored, because Kubernetes sets some with the same prefix.
    """
    assignments: list[str] = []
    for variable, value in os.environ.items():
        name = variable.removeprefix(PREFIX)
        is_setting = settings is not None and name in settings
        if is_setting and variable.startswith(PREFIX):
            assignments.append(f"{name}={value}")
    assignments += words
    check_json_settings(settings, assignments)
    return assignments


def check_json_settings(settings: BaseSettings | None, assignments: Iterable[str]) -> None:
    """Raise UsageError for the first NAME=VALUE that must be a JSON object and is none."""
    if settings is None:
        return
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        # Settings of components are dictionaries, which Scrapy reads as JSON
        takes_object = isinstance(settings.get(name), BaseSettings)
        if takes_object and not _is_object(value):
            allowed = f"""a JSON object, with double quotes: -s '{name}={{"a.B": 300}}'"""
            raise UsageError(f"{name} = {shortened(value)}: must be {allowed}", print_help=False)


def check_log_file(settings: BaseSettings) -> None:
    """Raise CannotStart if a setting of the log is impossible, or its file cannot be written to.

    The file may be in JOBDIR, so JOBDIR has to exist already.
    """
    log = settings["LOG_FILE"]
    encoding = settings["LOG_ENCODING"]
    try:
        _check_format(settings["LOG_FORMAT"])
        if settings.getbool("LOG_ENABLED") and log:
            Path(log).open("a", encoding=encoding).close()
    except OSError as error:
        raise CannotStart(
            f"LOG_FILE = {log}: must be a file that can be written to ({error.strerror})"
        ) from error
    except LookupError as error:
        line = f"LOG_ENCODING = {encoding}: must be an encoding that Python knows, such as utf-8"
        raise CannotStart(line) from error
    except ValueError as error:
        raise CannotStart(
            f"LOG_ENABLED = {settings['LOG_ENABLED']}: must be one of true, false, 1, 0"
        ) from error


def _check_format(form: str) -> None:
    try:
        logging.Formatter(form).format(logging.makeLogRecord({}))
    except (ValueError, KeyError, TypeError) as error:
        allowed = "a format of Python's logging, such as %(asctime)s %(levelname)s: %(message)s"
        raise CannotStart(f"LOG_FORMAT = {form}: must be {allowed}") from error


def _is_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), Mapping)
    except ValueError:
        return False
