"""Real limits of the process, each at ten values: descriptors, memory, threads, sizes of files."""

import resource
import threading
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
_start = threading.Thread.start


@dataclass(frozen=True)
class Limit:
    """So much of something, beyond what the process has when it begins."""

    what: str
    value: float

    def __str__(self):
        return f"{self.what} {self.value:g}"

    def impose(self):
        """In the crawl's process, before it begins."""
        globals()[f"_{self.what}"](self.value)


VALUES = {
    "descriptors": (1, 2, 4, 6, 8, 12, 16, 24, 32, 48),
    "memory": (0, 2, 4, 8, 12, 16, 24, 32, 48, 64),  # MiB of address space
    "threads": (0, 1, 2, 3, 4, 5, 6, 7, 8, 10),  # alive at once, beside the main thread
    # KiB, of one file; what the crawl says is one too
    "filesize": (16, 24, 32, 48, 64, 96, 128, 192, 256, 512),
}
LIMITS = [Limit(what, value) for what, values in VALUES.items() for value in values]


def _descriptors(more):
    used = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, hard))


def _memory(more):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(more * MIB),) * 2)


def _threads(most):
    """By Python, for the system's limit counts all processes of a user and does not hold for root."""

    def start(thread):
        if threading.active_count() > most:
            raise RuntimeError("can't start new thread")
        _start(thread)

    threading.Thread.start = start


def _filesize(most):
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (most * 1024, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    )
