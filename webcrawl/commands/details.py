"""Keeps what Scrapy says of itself at every start and end, sixty lines, for those who ask with LOG_LEVEL=DEBUG."""

from __future__ import annotations

import logging

# By logger, how these messages begin: others of the same loggers, on signals for instance, are for everybody.
DETAILS: dict[str, str | tuple[str, ...]] = {
    "scrapy.addons": "Enabled addons",
    "scrapy.crawler": "Overridden settings",
    "scrapy.middleware": "Enabled ",
    "scrapy.statscollectors": "Dumping Scrapy stats",
    "scrapy.utils.log": ("Scrapy %(version)s started", "Versions"),
}


def demote(record: logging.LogRecord) -> bool:
    """A filter that makes such notices details."""
    if record.levelno == logging.INFO and str(record.msg).startswith(DETAILS[record.name]):
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
    return True


def demote_details() -> None:
    """Filters outlive Scrapy's configuration of the log, which resets the levels of its loggers."""
    for name in DETAILS:
        logging.getLogger(name).addFilter(demote)
