"""LOG_FORMAT=json: each line of the log is a JSON object, for programs that collect logs."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scrapy.settings import BaseSettings

JSON = "json"


class JsonFormat(str):
    """A format for Python's own formatter, as Scrapy makes it anew for each handler.

    Its text only satisfies the check that Python makes of a format. A traceback follows on lines of
    its own. Once the crawl is open, `JsonFormatter` makes a traceback a member of its line.
    """

    __slots__ = ()

    def __mod__(self, values: Any) -> str:
        return _line(values)


class JsonFormatter(logging.Formatter):
    """Writes a record, its traceback included, as one line."""

    def format(self, record: logging.LogRecord) -> str:
        values = {**vars(record), "message": record.getMessage()}
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return _line(values)


def _line(values: Mapping[str, Any]) -> str:
    time = datetime.fromtimestamp(values["created"], UTC)
    line = {
        "time": time.isoformat(timespec="milliseconds"),
        "level": values["levelname"],
        "logger": values["name"],
        "message": values["message"],
    }
    if "traceback" in values:
        line["traceback"] = values["traceback"]
    return json.dumps(line, ensure_ascii=False)


def choose_json(settings: BaseSettings) -> None:
    """Put the format into the settings if the user wants JSON. Call it before Scrapy logs."""
    if str(settings["LOG_FORMAT"]).lower() == JSON:
        settings.set("LOG_FORMAT", JsonFormat("%(message)s"), "cmdline")


def formatter_for(settings: BaseSettings, handler: logging.Handler) -> logging.Formatter:
    """Return what formats the lines of a handler: its own formatter, or JSON if the user wants it."""
    if isinstance(settings["LOG_FORMAT"], JsonFormat):
        return JsonFormatter()
    return handler.formatter or logging.Formatter()
