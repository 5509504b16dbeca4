"""Differences between Linux, where crawls run, and macOS, for which this module has replacements."""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

_LOCAL_PEERCRED, _LOCAL_PEERPID = 0x001, 0x002  # <sys/un.h> of macOS
_PIECE = 1 << 20


def usable_cores() -> list[int]:
    """Return the cores on which this process may run."""
    if sys.platform == "linux":
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def can_choose_cores() -> bool:
    return sys.platform == "linux"


def run_on(process: int, core: int) -> None:
    """Keep a process, and all that it starts, on this core, where the system can do that."""
    if sys.platform == "linux":
        os.sched_setaffinity(process, [core])


def boot_id() -> str:
    """Return what all processes of this machine, containers too, have in common; or ""."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # not Linux: the host name has to do
        return ""


def resident_bytes() -> int:
    """Return the bytes of this process in memory; on macOS the most that it had."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    return getrusage(RUSAGE_SELF).ru_maxrss


def malloc_trim() -> Callable[[], None] | None:
    """Return glibc's function that gives free memory back; None with another C library."""
    # By itself glibc returns what is free at the end of its heap only. In a long crawl it holds 10
    # to 50 MiB of free chunks between chunks in use
    found = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if found is None:
        return None
    found.argtypes = [ctypes.c_size_t]
    found.restype = ctypes.c_int
    return lambda: found(0)


def thread_ids() -> set[int]:
    """Return this process's threads; without Linux only those that Python has started."""
    if sys.platform == "linux":
        return {int(name) for name in os.listdir("/proc/self/task")}  # noqa: PTH208 - names are enough
    return {thread.ident for thread in threading.enumerate() if thread.ident is not None}


def open_folder(path: Path) -> int:
    """Return a descriptor of the folder, which stays that folder if it is moved."""
    flags = os.O_DIRECTORY | os.O_CLOEXEC
    if sys.platform == "linux":
        flags |= os.O_PATH
    return os.open(path, flags)


@contextmanager
def socket_address(folder: int, name: str) -> Iterator[str]:
    """Yield the address of a socket in an open folder, however long the folder's path is.

    The kernel takes 107 bytes, macOS 103. It holds inside of the `with` block only: macOS has no
    path for a descriptor, so that the process has to step into the folder.
    """
    if sys.platform == "linux":
        yield f"/proc/self/fd/{folder}/{name}"
        return
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fchdir(folder)
        yield name
    finally:
        os.fchdir(before)
        os.close(before)


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user on the other side of a local socket."""
    if sys.platform == "linux":
        credentials = struct.Struct("3i")  # struct ucred of <sys/socket.h>
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
        process, user, _ = credentials.unpack(data)
        return process, user
    process = connection.getsockopt(0, _LOCAL_PEERPID)
    _, user = struct.unpack("2I", connection.getsockopt(0, _LOCAL_PEERCRED, 76)[:8])
    return process, user


def allocate(descriptor: int, size: int) -> None:
    """Give an empty file all its space. Raise OSError if the disk is full."""
    if sys.platform == "linux":
        os.posix_fallocate(descriptor, 0, size)
        return
    for begin in range(0, size, _PIECE):
        os.pwrite(descriptor, bytes(min(_PIECE, size - begin)), begin)


def drop_from_cache(descriptor: int) -> None:
    """Advise the kernel to start writing a file out, and to drop it from the page cache."""
    if sys.platform == "linux":
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def secret_file(data: bytes) -> Iterator[str]:
    """Yield the path of a file with this secret for those who read files only.

    On Linux it is in memory only. Elsewhere it is a file of our own user, removed at the end.
    """
    if sys.platform == "linux":
        descriptor = os.memfd_create("secret")
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.name
