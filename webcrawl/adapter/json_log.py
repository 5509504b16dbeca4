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
    """A format that has Python's own formatter write JSON, because Scrapy chooses the formatter.

    Its text only satisfies the check that Python makes of a format. A traceback follows on lines of
    its own, until the crawl is open and `JsonFormatter` takes over.
    """

    __slots__ = ()

    def __mod__(self, values: Any) -> str:
        return _json_line(values)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON, its traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        values = {**vars(record), "message": record.getMessage()}
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        return _json_line(values)


def _json_line(values: Mapping[str, Any]) -> str:
    """Return the JSON object of a log record with these attributes."""
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
    """Set LOG_FORMAT to a JsonFormat if it is `json`. Call this before Scrapy sets up its log."""
    if str(settings["LOG_FORMAT"]).lower() == JSON:
        settings.set("LOG_FORMAT", JsonFormat("%(message)s"), "cmdline")


def formatter_for(settings: BaseSettings, handler: logging.Handler) -> logging.Formatter:
    """Return the formatter for a log handler: a JsonFormatter if LOG_FORMAT is json, or its own."""
    if isinstance(settings["LOG_FORMAT"], JsonFormat):
        return JsonFormatter()
    return handler.formatter or logging.Formatter()
