"""Assigns each line of code to a stage of a page's processing: the table behind `scrapy demo --profile`."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

import webcrawl

LOOP = "event loop, sockets, TLS"
HTTP = "HTTP, names"
ENGINE = "engine and spider"
PARSING = "parsing"
URLS = "canonical forms, filters"
SEEN = "seen, content seen"
FRONTIER = "frontier, seeds"
ROBOTS = "robots.txt"
WARC = "WARC records"
DIGESTS = "SHA-1 for archive and log"
COMPRESSION = "compression"
DISK = "disk, checkpoints"
LOGS = "logs, statistics, pipelines"
OUTPUTS = "index, link log, tables"
START = "start"
OTHER = "other"
CALLER = ""  # its callers are charged

SCHEDULER = ("scheduler", "request_intake", "request_giving", "page_end", "checkpointing", "waking")

# The longest matching prefix of a file's name decides. C code counts as the line of Python that called it. What only
# the event loop calls is uvloop's own code, OpenSSL, and the kernel's work on sockets.
FILES: Mapping[str, str] = {
    "asyncio/": LOOP,
    "selectors.py": LOOP,
    "ssl.py": LOOP,
    "twisted/internet/asyncioreactor.py": LOOP,
    "twisted/": ENGINE,
    "scrapy/": ENGINE,
    "scrapy/utils/log.py": LOGS,
    "scrapy/statscollectors.py": LOGS,
    "scrapy/extensions/": LOGS,
    "pydispatch/": ENGINE,
    "itemadapter/": LOGS,
    "rich/": LOGS,
    "logging/": LOGS,
    "webcrawl/": ENGINE,
    "webcrawl/crawl/profiling/": OTHER,
    "webcrawl/net/": HTTP,
    "webcrawl/net/network.py": HTTP,
    "webcrawl/adapter/handlers.py": HTTP,
    "webcrawl/net/robots": ROBOTS,
    "webcrawl/crawl/admission.py": ROBOTS,
    "webcrawl/crawl/robots_answers.py": ROBOTS,
    "webcrawl/adapter/robots_request.py": ROBOTS,
    "webcrawl/content/html/": PARSING,
    "webcrawl/crawl/listings.py": PARSING,
    "webcrawl/urls/": URLS,
    "webcrawl/urls/url_fingerprint.py": SEEN,
    "webcrawl/urls/recent_urls.py": SEEN,
    "webcrawl/base/url_text.py": CALLER,
    "webcrawl/urls/host_names.py": CALLER,
    "webcrawl/frontier/seen/": SEEN,
    "webcrawl/frontier/": FRONTIER,
    "webcrawl/adapter/barrier.py": FRONTIER,
    **dict.fromkeys((f"webcrawl/adapter/{name}.py" for name in SCHEDULER), FRONTIER),
    "webcrawl/crawl/seeding.py": FRONTIER,
    "webcrawl/urls/seeds/": FRONTIER,
    "webcrawl/record/warc/": WARC,
    "webcrawl/adapter/pipelines/warc.py": WARC,
    "webcrawl/record/warc/warc_writer.py": OUTPUTS,
    "webcrawl/base/surt.py": OUTPUTS,
    "webcrawl/store/jobdir/": LOGS,
    "webcrawl/store/jobdir/index_line.py": OUTPUTS,
    "webcrawl/store/jobdir/link_line.py": OUTPUTS,
    "webcrawl/store/jobdir/host_row.py": FRONTIER,
    "webcrawl/store/jobdir/queue_row.py": FRONTIER,
    "webcrawl/store/jobdir/domain_row.py": FRONTIER,
    "webcrawl/base/readable.py": CALLER,
    "webcrawl/adapter/pipelines/link_log.py": OUTPUTS,
    "webcrawl/adapter/pipelines/tables.py": OUTPUTS,
    "webcrawl/adapter/pipelines/output.py": OUTPUTS,
    "webcrawl/record/tables/": OUTPUTS,
    "pyarrow/": OUTPUTS,
    "webcrawl/store/": DISK,
    "webcrawl/store/run": CALLER,
    "webcrawl/adapter/extensions/": LOGS,
    "webcrawl/adapter/extensions/checkpoints.py": DISK,
    "webcrawl/adapter/extensions/positions.py": DISK,
    "webcrawl/record/logs/": LOGS,
    "webcrawl/crawl/crawl_log.py": LOGS,
    "webcrawl/adapter/logformat.py": LOGS,
    "webcrawl/adapter/pipelines/": LOGS,
    "webcrawl/crawl/saved_state.py": LOGS,
    "webcrawl/record/statistics/": LOGS,
    "webcrawl/base/model.py": CALLER,
    "webcrawl/base/digest.py": DIGESTS,
    "webcrawl/base/dates.py": CALLER,
    "webcrawl/items.py": CALLER,
}
# File names are relative to these; packages first, because they may be installed below either of the others.
ROOTS = ("/site-packages/", "/dist-packages/", f"{Path(webcrawl.__file__).parents[1]}/", f"{Path(os.__file__).parent}/")


def judge(files: Mapping[str, str] = FILES) -> Callable[[FrameType | None], str]:
    """The judge of a Sampler: the innermost frame with a stage decides, unless the stack is an import's."""

    @lru_cache(1 << 16)
    def stage_of(code: CodeType) -> str:
        return _stage(files, code.co_filename, code.co_name)

    def stage(frame: FrameType | None) -> str:
        found = CALLER
        while frame is not None:
            one = stage_of(frame.f_code)
            if one == START:
                return START
            found = found or (COMPRESSION if one == WARC and _compresses(frame) else one)
            frame = frame.f_back
        return found

    return stage


def _compresses(frame: FrameType) -> bool:
    """True if the frame is compressing: one function makes the record's fields and compresses them."""
    line: int | None = frame.f_lineno  # none for instructions that the compiler adds, such as a loop's jump back
    return line is not None and "compress(" in linecache.getline(frame.f_code.co_filename, line)


def _stage(files: Mapping[str, str], path: str, function: str) -> str:
    if path.startswith("<frozen importlib"):
        return START
    name = next((path.rpartition(root)[2] for root in ROOTS if root in path), path)
    beginning = max((start for start in files if name.startswith(start)), key=len, default=None)
    return CALLER if beginning is None or function == "<module>" else files[beginning]
