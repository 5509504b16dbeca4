"""The kind of value of HIVE_PARTITION."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from webcrawl.base.settings.setting_kinds import text
from webcrawl.crawl.checks.places import File
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.partition import WAYS, read_regions


class PartitionWay:
    """One of a few words, or a file of regions."""

    allowed: str = f"one of {', '.join(WAYS)}, or the path of a file of regions"

    def read(self, value: Any, /) -> str:
        found = text(value)
        if found.lower() in WAYS:
            return found.lower()
        path = str(File().read(found))
        try:
            read_regions(Path(path))
        except HiveError as error:
            raise ValueError(str(error).removeprefix(f"{path}, ")) from error
        return path
