"""The settings of a command line that are mappings: of bad JSON Scrapy says that `-s` lacks its `=`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings

from webcrawl.base.readable import shortened


def check_given(settings: BaseSettings | None, given: Iterable[str]) -> None:
    """Raises UsageError for the first `-s` that has no JSON object where Scrapy reads one."""
    for word in given:
        name, _, value = word.partition("=")
        if settings is not None and isinstance(settings.get(name), BaseSettings) and not _is_object(value):
            allowed = f"""a JSON object, with double quotes: -s '{name}={{"a.B": 300}}'"""
            raise UsageError(f"{name} = {shortened(value)}: must be {allowed}", print_help=False)


def _is_object(value: str) -> bool:
    try:
        return isinstance(json.loads(value), Mapping)
    except ValueError:
        return False
