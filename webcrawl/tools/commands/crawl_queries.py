"""Asks a crawl or a hive that runs, for commands that stay while crawls come and go."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings

from webcrawl.base.credentials import text_without_credentials
from webcrawl.store.jobdir.crawls import HIVE


def ask(settings: BaseSettings, jobdir: Path, patience: float, command: str, *words: str, written: bytes = b"") -> Any:
    """The answer, as to scrapy ctl; `written` is what `-` stands for. CommandError or NotRunning."""
    from webcrawl.crawl.control.client import Client  # noqa: PLC0415 - Scrapy imports every command for any
    from webcrawl.crawl.control.command import CommandError  # noqa: PLC0415 - as above

    if not (jobdir / HIVE).exists():
        return Client(jobdir, patience).ask(command, *words)
    from webcrawl.tools.supervisor.asked import REFUSALS, AskedHive  # noqa: PLC0415 - as above

    try:
        return AskedHive(settings, str(jobdir), patience, BytesIO(written)).ask(command, *words)
    except REFUSALS as error:
        raise CommandError(text_without_credentials(str(error))) from error
