"""Crawls whose process is prepared before they begin: with few descriptors, with little memory,
with another clock.
"""

import ctypes
import os
import resource
import struct
from functools import partial
from pathlib import Path

from tests.support.crawling import Running, _crawl, _forked

MIB = 1 << 20


def start(crawl, prepare, **settings):
    """The crawl under way; its process has called `prepare` first."""
    crawl.jobdir.parent.mkdir(parents=True, exist_ok=True)
    arguments = (prepare, crawl.words(**settings), str(crawl.project), str(crawl.output))
    process = _forked.Process(target=_prepared, args=arguments, daemon=True)
    process.start()
    return Running(crawl, process)


def descriptors(count):
    """No descriptor with a higher number, for good."""
    return partial(resource.setrlimit, resource.RLIMIT_NOFILE, (count, count))


def bound_by_permissions():
    """Permissions of files hold for this thread too, and for those that it starts, if it is root's,
    for good (capset(2)).
    """
    if os.geteuid() == 0:
        none = struct.pack("=6I", 0, 0, 0, 0, 0, 0)
        assert ctypes.CDLL(None).capset(struct.pack("=Ii", 0x20080522, 0), none) == 0


def memory(more):
    """So many MiB of address space beyond what the process has at its start, for good."""
    return partial(_limit_memory, int(more * MIB))


def _limit_memory(more):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _prepared(prepare, words, project, output):
    prepare()
    _crawl(words, project, output)
