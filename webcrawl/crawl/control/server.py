"""The socket in JOBDIR on which a crawl takes commands: on its own event loop, in bounded room.

Whatever comes in costs little: a few connections are kept, each with one line of bounded length at
a time, and one that is silent is closed. Only the crawl's own user, and root, are answered: the
file's mode says so to the kernel, and the server asks who is there all the same, for a mode can be
changed by hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import stat
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webcrawl.base.errors import with_place
from webcrawl.base.system import open_folder, peer_of, socket_address
from webcrawl.crawl.control.client import (
    LONGEST_REQUEST,
    NAME,
    answer,
    read_request,
    refusal,
)
from webcrawl.crawl.control.command import CommandError, mistake

logger = logging.getLogger(__name__)

MOST_CONNECTIONS = 16  # connections; one more ends the one that has been silent for longest
# seconds after which a connection that sends no whole line, or takes no answer, is closed
SILENCE = 10.0
# seconds until the next try after a connection could not be accepted: descriptors may be free then
RETRY = 1.0
BACKLOG = 64
MODE = 0o600
NO_LINE = f"the request does not end in a line break, or has more than {LONGEST_REQUEST} bytes"

Obey = Callable[[str, Sequence[str]], Awaitable[Any]]


class ControlServer:
    """Answers commands. `obey` carries one out, or raises CommandError.

    Nothing else that it raises ends the crawl.
    """

    def __init__(self, jobdir: Path, obey: Obey) -> None:
        """Bind the socket in JOBDIR. `obey` carries out one command and returns its answer."""
        self._obey = obey
        # Each connection has a task, which is in one of the two: it waits for a line, since when by
        # time.monotonic, or its command is being carried out.
        self._open: dict[asyncio.Task[None], float] = {}
        self._busy: set[asyncio.Task[None]] = set()
        # a descriptor: JOBDIR may be moved while the crawl runs
        self._folder = open_folder(jobdir)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.setblocking(False)
        self._accepting: asyncio.Task[None] | None = None
        try:
            self._bind()
        except BaseException:
            self._listener.close()
            os.close(self._folder)
            raise

    def _bind(self) -> None:
        """Bind the socket in JOBDIR, in place of one that a killed run has left. Raise OSError.

        The lock on JOBDIR says that no other run listens there.
        """
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(self._look().st_mode):
                raise FileExistsError(
                    errno.EEXIST, "a file that is not a socket is in the way", NAME
                )
            os.unlink(NAME, dir_fd=self._folder)
        # Linux gives the file the socket's mode: it never has a wider one
        os.fchmod(self._listener.fileno(), MODE)
        with socket_address(self._folder, NAME) as address:
            self._listener.bind(address)
        here = self._look()
        self._here = here.st_dev, here.st_ino  # by which `_remove` knows the file as ours
        if stat.S_IMODE(here.st_mode) & ~MODE:
            self._remove()
            raise PermissionError(
                errno.EPERM, "the file system gives other users access to the socket", NAME
            )
        self._listener.listen(BACKLOG)

    def _look(self) -> os.stat_result:
        """Return what is at the socket's name. Raise FileNotFoundError if nothing is."""
        return os.stat(NAME, dir_fd=self._folder, follow_symlinks=False)

    def _remove(self) -> None:
        """Remove the socket's file, unless another one is there by now."""
        with contextlib.suppress(OSError):
            here = self._look()
            if (here.st_dev, here.st_ino) == self._here:
                os.unlink(NAME, dir_fd=self._folder)

    def start(self) -> None:
        """Accept connections on the running event loop."""
        self._accepting = asyncio.get_running_loop().create_task(self._accept())
        # Not in `close`: the task may still be waiting for it in the event loop.
        self._accepting.add_done_callback(lambda _: self._listener.close())

    def close(self) -> None:
        """Remove the file, wherever its folder is now; clients that wait get no answer."""
        self._remove()
        for task in (self._accepting, *self._open, *self._busy):
            if task is not None:
                task.cancel()
        if self._accepting is None:
            self._listener.close()
        os.close(self._folder)

    async def _accept(self) -> None:
        """Take connections until cancelled, one per turn of the event loop."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                # our lack of descriptors or memory; who waits is accepted later
                logger.debug("control: a connection could not be accepted: %s", error)
                await asyncio.sleep(RETRY)
                continue
            self._serve_connection(loop, connection)
            await asyncio.sleep(0)  # many at once are no reason for the crawl to wait

    def _serve_connection(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        """Serve a connection in a task.

        If there are too many, the one that has waited longest for its line is disconnected in its
        place, or, if none waits, the new one.
        """
        if len(self._open) + len(self._busy) >= MOST_CONNECTIONS:
            if not self._open:
                connection.close()
                return
            oldest = min(self._open, key=self._open.__getitem__)
            # Now, and not when the task ends: the next one to come must not choose it again.
            del self._open[oldest]
            oldest.cancel()
        task = loop.create_task(self._serve(loop, connection))
        self._wait(task)
        task.add_done_callback(partial(self._forget, connection))

    def _wait(self, task: asyncio.Task[None]) -> None:
        """Note that a connection waits for its next line, from now on."""
        self._busy.discard(task)
        self._open[task] = time.monotonic()

    def _forget(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        """Close a connection whose task has ended, in whatever way."""
        connection.close()
        self._busy.discard(task)
        self._open.pop(task, None)

    async def _serve(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        """Answer line by line until the client goes, is silent, or sends no whole line."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine of one
        with contextlib.suppress(OSError):  # TimeoutError is one
            connection.setblocking(False)
            if not _may(connection):
                await _send(
                    loop, connection, refusal("only the user who started a crawl may control it")
                )
                return
            rest = b""  # what has come behind the last line
            while True:
                async with asyncio.timeout(SILENCE):
                    line, rest = await _line(loop, connection, rest)
                if line is None:
                    if rest:
                        await _send(loop, connection, refusal(NO_LINE))
                    return
                self._open.pop(task, None)
                self._busy.add(task)
                said = await self._answer_line(line)
                self._wait(task)
                await _send(loop, connection, said)
                # what is there already is sent and received without a turn of the loop
                await asyncio.sleep(0)

    async def _answer_line(self, line: bytes) -> bytes:
        """Return the answer to a request line; errors are answers, too, and end nothing."""
        try:
            command, words = read_request(line)
            return answer(await self._obey(command, words))
        except CommandError as error:
            return refusal(str(error))
        except Exception as error:  # noqa: BLE001 - a mistake in a command, which is no reason to end the crawl
            logger.error(  # noqa: TRY400
                "control: %s, in answer to the request %.200r", with_place(error), line
            )
            return refusal(mistake(error))


async def _send(loop: asyncio.AbstractEventLoop, connection: socket.socket, line: bytes) -> None:
    """Send a line. Raise TimeoutError if the other side does not take it."""
    async with asyncio.timeout(SILENCE):
        await loop.sock_sendall(connection, line)


async def _line(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, rest: bytes
) -> tuple[bytes | None, bytes]:
    """Return the next line and what came behind it, or None and what there is instead."""
    while b"\n" not in rest:
        if len(rest) > LONGEST_REQUEST:
            return None, rest
        piece = await loop.sock_recv(connection, LONGEST_REQUEST)
        if not piece:
            return None, rest
        rest += piece
    line, _, rest = rest.partition(b"\n")
    return (line, rest) if len(line) < LONGEST_REQUEST else (None, line)


def _may(connection: socket.socket) -> bool:
    """Return whether the process on the other side is root's, or of the crawl's own user."""
    return peer_of(connection)[1] in (0, os.geteuid())
