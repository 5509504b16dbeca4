"""The process at the other end of a `ReaderProcess`: bodies come through a socket that is its standard input.

Limits that it sets itself end it when a body takes too much; whoever started it starts another one. It ends by itself
when the other end of the socket is closed, at the latest after the seconds that a body may take.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import struct
from collections.abc import Callable
from typing import Any

SIZE = struct.Struct("<Q")
READY = b"R"


def serve(read: Callable[[bytes], Any], *, memory: int | None, seconds: float, files: int | None = None) -> None:
    """Answers with what `read` makes of one body after the other, a JSON value.

    It may take so many bytes of address space, and seconds of processor time for a body. Without a limit of memory it
    may write files, too. With `files` 0 one that gets the better of its reader opens no file and no socket.
    """
    wire = socket.socket(fileno=0)
    limits = {} if memory is None else {resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: 0}
    if files is not None:
        limits[resource.RLIMIT_NOFILE] = files
    for limit, most in {**limits, resource.RLIMIT_CORE: 0}.items():
        resource.setrlimit(limit, (most, most))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    wire.sendall(READY)
    while head := _exactly(wire, SIZE.size):
        body = _exactly(wire, *SIZE.unpack(head))
        signal.setitimer(signal.ITIMER_PROF, seconds)
        answer = json.dumps(read(body)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        wire.sendall(SIZE.pack(len(answer)) + answer)


def _exactly(wire: socket.socket, size: int) -> bytes:
    """So many bytes; none if the other end is closed."""
    pieces, left = [], size
    while left:
        piece = wire.recv(min(left, 1 << 20))
        if not piece:
            return b""
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
