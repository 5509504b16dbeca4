"""Asks a crawl or a hive that runs, for commands."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from webcrawl.base.readable import text_without_credentials
from webcrawl.store.jobdir.crawls import HIVE

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def ask(settings: BaseSettings, jobdir: Path, patience: float, command: str, *words: str, written: bytes = b"") -> Any:
    """The answer, as to scrapy ctl; `written` is what `-` stands for. CommandError or NotRunning."""
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415 - Scrapy imports every command for any

    if (jobdir / HIVE).exists():
        return ask_hive(settings, str(jobdir), patience, BytesIO(written), command, *words)
    return Client(jobdir, patience).ask(command, *words)


def ask_hive(settings: BaseSettings, place: str, patience: float, stdin: IO[bytes], command: str, *words: str) -> Any:
    """The answer of the hive of a folder or a server. CommandError or NotRunning."""
    from webcrawl.base.errors import CannotStart  # noqa: PLC0415 - as above
    from webcrawl.crawl.control.command import CommandError  # noqa: PLC0415 - as above
    from webcrawl.crawl.hive.errors import HiveError  # noqa: PLC0415 - as above
    from webcrawl.tools.supervisor.orders import HiveClient  # noqa: PLC0415 - as above

    try:
        return HiveClient(settings, place, patience, stdin).ask(command, *words)
    except (HiveError, CannotStart) as error:
        raise CommandError(text_without_credentials(str(error))) from error
