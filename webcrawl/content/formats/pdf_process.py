"""Reads PDFs in a process of its own, whatever they do to it. Blocks: call it from a thread."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from webcrawl.content.formats.pdf_worker import HARD, READY, SIZE
from webcrawl.content.html.found_links import Found

logger = logging.getLogger(__name__)

WALL = 10 * HARD  # seconds in which an answer must come: the worker may have to share its processor
TRIES = 30  # to start a process, with PAUSE seconds between them
PAUSE = 1.0
LARGEST = 1 << 26  # bytes of an answer
COMMAND = (sys.executable, "-P", "-m", "webcrawl.content.formats.pdf_worker")


class PdfProcess:
    """One PDF after the other. Its process is started with the first one, and again when it has died."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: socket.socket | None = None
        self._closed = False

    def links(self, body: bytes, url: str) -> Found:
        """The links of a PDF, with a note if there may be more.

        OSError if no process can be started, for longer than a short while: that is nothing the PDF did.
        """
        for last in (False, True):
            self._start()
            try:
                links, note = self._ask(body)
            except (OSError, ValueError):
                ended = self._end()
                if ended == -signal.SIGKILL and not last and not self._closed:
                    continue  # by somebody else, perhaps for want of memory: its own limits end it in other ways
                return Found(url, "", note="pdf:died")
            return Found(url, "", [("pdf", link, "", "") for link in links], note=note)
        raise AssertionError

    def kill(self) -> None:
        """Ends the process at once, from any thread, and what is being read; call `close` afterwards."""
        self._closed = True
        process = self._process
        if process is not None:
            with suppress(OSError):
                process.kill()

    def close(self) -> None:
        """The process has ended when this returns. Not while something is being read."""
        self.kill()
        self._end()

    def _ask(self, body: bytes) -> tuple[list[str], str]:
        wire = self._wire
        if wire is None:
            raise OSError("no process")
        wire.settimeout(WALL)
        wire.sendall(SIZE.pack(len(body)) + body)
        (size,) = SIZE.unpack(self._exactly(wire, SIZE.size))
        if size > LARGEST:
            raise ValueError("too large an answer")
        links, note = json.loads(self._exactly(wire, size))
        return [str(link) for link in links], str(note)

    @staticmethod
    def _exactly(wire: socket.socket, size: int) -> bytes:
        pieces, end = bytearray(), time.monotonic() + WALL
        while len(pieces) < size:
            wire.settimeout(max(end - time.monotonic(), 0.001))
            piece = wire.recv(min(size - len(pieces), 1 << 20))
            if not piece:
                raise ConnectionResetError("the worker has ended")
            pieces += piece
        return bytes(pieces)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._end()
        for attempt in range(1, TRIES + 1):
            try:
                self._open()
            except OSError as error:
                self._end()
                if attempt == TRIES or self._closed:
                    raise OSError(f"no process to read PDFs in: {error}") from error
                if attempt == 1:
                    logger.warning("No process to read PDFs in: %s; trying again for %d s", error, TRIES * PAUSE)
                time.sleep(PAUSE)
            else:
                return

    def _open(self) -> None:
        """Starts the worker, and waits until it says that it is ready."""
        ours, theirs = socket.socketpair()
        self._wire = ours
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is the crawl's
            )
        ours.settimeout(WALL)
        if ours.recv(1) != READY:
            raise ConnectionResetError("the process ends at once")

    def _end(self) -> int | None:
        """End the process if it runs, and return how it ended."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        process, self._process = self._process, None
        if process is None:
            return None
        try:
            ended = process.wait(0.2)  # one that its limits ended may not be gone yet
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return ended
