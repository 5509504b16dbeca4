"""The process that reads PDFs: `python -m webcrawl.content.formats.pdf_worker`, a socket being its standard input.

Limits that it sets itself end it when a PDF takes too much; whoever started it starts another one. It ends by itself
when the other end of the socket is closed, at the latest SECONDS after.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import struct

from webcrawl.content.formats import pdf

MEMORY = 512 << 20  # bytes of address space
SOFT, HARD = 3.0, 6.0  # seconds of CPU time for a PDF: after the first no page is begun, at the second it is killed
SIZE = struct.Struct("<Q")
READY = b"R"


def main() -> None:
    """Reads one PDF after the other."""
    wire = socket.socket(fileno=0)
    _check()
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(limit, (most, most))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    wire.sendall(READY)
    while head := _exactly(wire, SIZE.size):
        body = _exactly(wire, *SIZE.unpack(head))
        signal.setitimer(signal.ITIMER_PROF, HARD)
        answer = json.dumps(_read(body)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        wire.sendall(SIZE.pack(len(answer)) + answer)


def _read(body: bytes) -> tuple[list[str], str]:
    try:
        found, whole = pdf.links(body, seconds=SOFT)
    except ValueError:
        return [], "pdf:unreadable"
    return found, "" if whole else "pdf:cut"


def _check() -> None:
    """Loads the library, while there is room for it."""
    try:
        pdf.links(b"")
    except ValueError:
        return


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


if __name__ == "__main__":
    main()
