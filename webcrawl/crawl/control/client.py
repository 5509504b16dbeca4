"""Asks a crawl that runs, through the socket in its JOBDIR."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webcrawl.base.readable import count
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.wire import LONGEST_ANSWER, address, folder_of, peer, read_answer, request

PIECE = 1 << 16
PAUSE = 0.02  # seconds between two tries to connect
SILENCE = 5.0  # seconds without an answer until the crawl is asked how it is, and between two such questions
ALIVE = 10.0  # seconds for the answer to that, which takes a turn of the event loop
GONE = "the crawl ended before it answered: look into its log, or ask again"
STILL = (
    "process %d has answered nothing for %s: it seems that its event loop stands still, see its log; the command is "
    "carried out if it goes on, and SIGTERM, twice, ends it"
)


class Client:
    """One connection for each question. `patience`: seconds to wait for an answer."""

    def __init__(self, jobdir: Path, patience: float = 10.0) -> None:
        self._jobdir, self._patience = jobdir, patience

    def ask(self, command: str, *words: str) -> Any:
        """Returns the crawl's answer. NotRunning: none listens there. CommandError: it refuses, or does not answer."""
        try:
            return read_answer(self._exchange(request(command, words), self._patience, self._look))
        except TimeoutError as error:
            raise NoAnswer(f"no answer in {count(round(self._patience), 'second')}") from error

    def _look(self, process: int) -> None:
        """NoAnswer if the crawl does not even say how it is: an answer may take long, a turn of its loop does not."""
        try:
            with contextlib.suppress(NotRunning, NoAnswer):  # it ended just now
                self._exchange(request("status", ()), ALIVE)
        except TimeoutError as error:
            raise NoAnswer(STILL % (process, count(round(SILENCE + ALIVE), "second"))) from error

    def _exchange(self, line: bytes, patience: float, silent: Callable[[int], None] | None = None) -> bytes:
        """The answer to a line. TimeoutError after `patience` seconds; before that `silent` hears who is silent."""
        end = time.monotonic() + patience
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience)
            while not self._connected(connection):
                if time.monotonic() > end:
                    raise TimeoutError
                time.sleep(PAUSE)
            return _exchanged(connection, line, end, silent)

    def _connected(self, connection: socket.socket) -> bool:
        """False if too many others wait just now."""
        try:
            with folder_of(self._jobdir) as folder:
                connection.connect(address(folder))
        except BlockingIOError:
            return False
        except PermissionError as error:
            raise CommandError(f"{self._jobdir}: {error.strerror}: only who runs a crawl may command it") from error
        except OSError as error:  # no such folder or socket, or nobody behind it
            raise NotRunning(f"{self._jobdir}: no crawl is running there, or none that listens") from error
        return True


def _exchanged(connection: socket.socket, line: bytes, end: float, silent: Callable[[int], None] | None) -> bytes:
    """The line that comes back, before this time by time.monotonic."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # who refuses unread: the reason may be there
        connection.sendall(line)
    pieces: list[bytes] = []
    size = 0
    while not pieces or b"\n" not in pieces[-1]:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left if silent is None else min(left, SILENCE))
        try:
            piece = connection.recv(PIECE)
        except ConnectionResetError as error:
            raise NoAnswer(GONE) from error
        except TimeoutError:
            if silent is not None and time.monotonic() < end:
                silent(peer(connection)[0])
            continue
        size += len(piece)
        if not piece:
            raise NoAnswer(GONE)
        if size > LONGEST_ANSWER:
            raise CommandError(f"an answer of more than {LONGEST_ANSWER} bytes")
        pieces.append(piece)
    return b"".join(pieces)
