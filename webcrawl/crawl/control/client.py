"""The control socket of a crawl: its language, and a client that speaks it (docs/control.md).

One line of JSON each way:

    {"command": "set", "words": ["POLITENESS_FACTOR", "5"]}
    {"ok": true, "answer": "POLITENESS_FACTOR is 5.0"}        or {"ok": false, "error": "one line"}

The socket is a file of JOBDIR, whose path may be longer than the 108 bytes that an address has room
for: it is reached through a descriptor of its folder.

Seeds that a client names are made into what the crawl can open, elsewhere and later. Standard input
is spooled into JOBDIR first: written, synced and renamed before the crawl hears of it, so that a
kill at any moment leaves either no file that the crawl knows of or the whole of it. The crawl knows
the file by its place below JOBDIR, which may be moved between two runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from webcrawl.base.readable import count
from webcrawl.base.system import open_folder, peer_of, socket_address
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR, SeedError, is_url, list_paths

NAME = "control.sock"
CREDENTIALS = struct.Struct("=iII")  # process, user, group
LONGEST_REQUEST = 1 << 16  # bytes of a request, with the end of its line
MOST_WORDS = 1000
LONGEST_ANSWER = 1 << 24
KEYS = {"command", "words"}
UNKEPT = "done, but "  # begins the refusal of what was carried out and may be forgotten
READ_SIZE = 1 << 16
CONNECT_PAUSE = 0.02  # seconds between two tries to connect
# seconds without an answer until the crawl is asked how it is, and between two such questions
SILENCE = 5.0
ALIVE = 10.0  # seconds for the answer to that, which takes a turn of the event loop
GONE = "the crawl ended before it answered: see its log, or repeat the command"
STILL = (
    "process %d has not answered for %s: its event loop seems to be blocked, see its log; the "
    "command is carried out when it continues, and sending SIGTERM twice ends it"
)


@contextmanager
def folder_of(jobdir: Path) -> Iterator[int]:
    """Return a descriptor of the folder, which stays that folder if it is moved."""
    folder = open_folder(jobdir)
    try:
        yield folder
    finally:
        os.close(folder)


def request(command: str, words: tuple[str, ...]) -> bytes:
    """Return a request as a line. Raise CommandError if it is too long."""
    line = json.dumps({"command": command, "words": words}).encode() + b"\n"
    if len(line) > LONGEST_REQUEST:
        raise CommandError(f"{command}: the command is longer than {LONGEST_REQUEST} bytes")
    return line


def read_request(line: bytes) -> tuple[str, list[str]]:
    """Return the command and its words. Raise CommandError for anything else that a line can be."""
    values = _read(line)
    if not isinstance(values, dict) or "command" not in values:
        raise CommandError('a request must be a line such as {"command": "status", "words": []}')
    unknown = sorted(values.keys() - KEYS)
    if unknown:
        raise CommandError(
            f"{unknown[0][:40]!r}: unknown key; a request has only command and words"
        )
    command = values["command"]
    words = values.get("words", [])
    is_list = isinstance(words, list) and all(isinstance(one, str) for one in words)
    if not isinstance(command, str) or not is_list:
        raise CommandError("command must be a string, and words a list of strings")
    if len(words) > MOST_WORDS:
        raise CommandError(f"a command may have at most {MOST_WORDS} words")
    return command, words


def answer(given: Any) -> bytes:
    """Return an answer as a line. Raise CommandError if it is too long."""
    line = json.dumps({"ok": True, "answer": given}).encode() + b"\n"
    if len(line) > LONGEST_ANSWER:
        raise CommandError(
            f"the answer has {len(line)} bytes, but at most {LONGEST_ANSWER} can be sent: ask for less"
        )
    return line


def refusal(why: str) -> bytes:
    return json.dumps({"ok": False, "error": " ".join(why.split())}).encode() + b"\n"


def read_answer(line: bytes) -> Any:
    """Return the crawl's answer to a command.

    Raise CommandError for a refusal or for bytes that are no answer, and NoAnswer if the crawl says
    that it may not keep what it did.
    """
    found = _read(line)
    values = found if isinstance(found, Mapping) else {}
    if values.get("ok") is True and "answer" in values:
        return values["answer"]
    error = values.get("error")
    if not isinstance(error, str):
        raise CommandError("the answer cannot be read")
    if error.startswith(UNKEPT):
        raise NoAnswer(error)
    raise CommandError(error)


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # no UTF-8 and too long numbers too; too deep
        raise CommandError("not a single line of JSON") from error


# -- the client


class Client:
    """One connection for each question. `patience`: seconds to wait for an answer."""

    def __init__(self, jobdir: Path, patience: float = 10.0) -> None:
        self._jobdir = jobdir
        self._patience = patience

    def ask(self, command: str, *words: str) -> Any:
        """Return the crawl's answer.

        Raise NotRunning if no crawl listens there, and CommandError if it refuses or does not
        answer.
        """
        try:
            return read_answer(self._exchange(request(command, words), self._patience, self._look))
        except TimeoutError as error:
            raise NoAnswer(
                f"the crawl did not answer within {count(round(self._patience), 'second')}"
            ) from error

    def _look(self, process: int) -> None:
        """Ask the crawl for its status.

        Raise NoAnswer if it does not answer even that, which takes one turn of its event loop.
        """
        try:
            with contextlib.suppress(NotRunning, NoAnswer):  # it ended just now
                self._exchange(request("status", ()), ALIVE)
        except TimeoutError as error:
            raise NoAnswer(STILL % (process, count(round(SILENCE + ALIVE), "second"))) from error

    def _exchange(
        self, line: bytes, patience: float, silent: Callable[[int], None] | None = None
    ) -> bytes:
        """Return the answer to a line. Raise TimeoutError after `patience` seconds.

        `silent` is called with the number of a process that has answered nothing for SILENCE
        seconds; what it raises ends the wait.
        """
        end = time.monotonic() + patience
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience)
            while not self._connected(connection):
                if time.monotonic() > end:
                    raise TimeoutError
                time.sleep(CONNECT_PAUSE)
            return _exchanged(connection, line, end, silent)

    def _connected(self, connection: socket.socket) -> bool:
        """Return whether the connection was made; False if too many other clients wait just now.

        Raise CommandError for another user's crawl, and NotRunning if there is none.
        """
        try:
            with folder_of(self._jobdir) as folder, socket_address(folder, NAME) as address:
                connection.connect(address)
        except BlockingIOError:
            return False
        except PermissionError as error:
            raise CommandError(
                f"{self._jobdir}: {error.strerror}: only the user who started a crawl may control it"
            ) from error
        except OSError as error:  # no such folder or socket, or nobody behind it
            raise NotRunning(f"{self._jobdir}: no running crawl accepts commands there") from error
        return True


def _exchanged(
    connection: socket.socket, line: bytes, end: float, silent: Callable[[int], None] | None
) -> bytes:
    """Return the line that comes back. Raise TimeoutError at `end`, by time.monotonic.

    Raise NoAnswer if the crawl ends before, and CommandError if the line is too long.
    """
    # A crawl that refuses before it has read the line closes its side, and the reason may be there
    # to be received.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(line)
    pieces: list[bytes] = []
    size = 0
    while not pieces or b"\n" not in pieces[-1]:
        seconds_left = end - time.monotonic()
        if seconds_left <= 0:
            raise TimeoutError
        connection.settimeout(seconds_left if silent is None else min(seconds_left, SILENCE))
        try:
            piece = connection.recv(READ_SIZE)
        except ConnectionResetError as error:
            raise NoAnswer(GONE) from error
        except TimeoutError:  # of SILENCE, or at `end`, which the next turn finds
            if silent is not None and time.monotonic() < end:
                process, *_ = peer_of(connection)
                silent(process)
            continue
        size += len(piece)
        if not piece:
            raise NoAnswer(GONE)
        if size > LONGEST_ANSWER:
            raise CommandError(f"the answer has more than {LONGEST_ANSWER} bytes")
        pieces.append(piece)
    return b"".join(pieces)


# -- seeds that a client hands over

SEED_FOLDER = "seeds"
BLOCK = 1 << 16
STDIN = "-"


def sources_of(words: Sequence[str], spool: Callable[[], str]) -> list[str]:
    """Return the sources in the words of `seeds`, as a crawl can open them.

    `spool` keeps standard input, and names the file. Raise CommandError if a list of seeds cannot
    be read; then nothing is spooled.
    """
    has_verb = len(words) > 0 and words[0] == "add"
    given = words[1:] if has_verb else words
    if not given or given.count(STDIN) > 1:
        raise CommandError("usage: seeds add SRC…; - for standard input may be given once")
    # All lists are read before standard input is: a list that cannot be read leaves no spool.
    sources = [word if word == STDIN else source_named(word) for word in given]
    if STDIN in given:
        sources[given.index(STDIN)] = spool()
    return sources


def add_seeds(
    ask: Callable[..., Any], jobdir: Path, words: Sequence[str], stream: IO[bytes]
) -> Any:
    """Give a crawl these sources, `-` being the stream, and return its answer to `ask`.

    The stream is read only if a crawl is there, and no file is left of it if the crawl refuses.
    """
    spools: list[str] = []  # the file of the stream, if one was written

    def spool() -> str:
        """Write the stream to a file and return its name. Raise NotRunning without a crawl."""
        ask("status")
        spools.append(spooled(jobdir, stream))
        return spools[0]

    sources = sources_of(words, spool)
    try:
        return ask("seeds", "add", *sources)
    except NoAnswer:
        # A CommandError, too, but the crawl may have the seeds all the same, and would miss their
        # file.
        raise
    except (CommandError, NotRunning):
        for name in spools:  # one, or none
            forget_spooled(jobdir, name)
        raise


def source_named(source: str) -> str:
    """Return SRC with whole paths, for a crawl in another folder.

    Raise CommandError if a list cannot be read.
    """
    try:
        Seeds(source).close()
    except (SeedError, OSError) as error:
        raise CommandError(str(error)) from error
    return ",".join(
        path if is_url(path) else str(Path(path).absolute()) for path in list_paths(source)
    )


def spooled(jobdir: Path, stream: IO[bytes]) -> str:
    """Write all of the stream to a new file below JOBDIR; return the name for the crawl.

    Raise CommandError if there is nothing in it, or it cannot be written.
    """
    name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{secrets.token_hex(4)}.txt"
    try:
        with _seed_folder(jobdir) as folder:
            _write(folder, name, stream)
    except OSError as error:
        raise CommandError(f"{jobdir / SEED_FOLDER}: {error.strerror or error}") from error
    return f"{BELOW_JOBDIR}{SEED_FOLDER}/{name}"


def forget_spooled(jobdir: Path, name: str) -> None:
    """Remove the file of `spooled`, which the crawl does not want; no error if that fails."""
    with contextlib.suppress(OSError):
        (jobdir / name.removeprefix(BELOW_JOBDIR)).unlink()


@contextmanager
def _seed_folder(jobdir: Path) -> Iterator[int]:
    """Return a descriptor of the folder for seeds, opened without following a link.

    The operator may have more rights than the user of the crawl, who could have put a link there.
    """
    with contextlib.suppress(FileExistsError):
        (jobdir / SEED_FOLDER).mkdir()
    folder = os.open(
        jobdir / SEED_FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    )
    try:
        yield folder
    finally:
        os.close(folder)


def _write(folder: int, name: str, stream: IO[bytes]) -> None:
    """Write a stream into a new file of a folder, whole or not at all, and sync both.

    `folder`: a descriptor. The file gets its name only when all of it is on the disk.
    """
    temporary_name = f".{name}.part"
    # O_EXCL follows no link either, whoever has put one there.
    descriptor = os.open(
        temporary_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder
    )
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            shutil.copyfileobj(stream, file, BLOCK)
            _must_have_some(file.tell())
            file.flush()
            os.fsync(descriptor)
        os.rename(temporary_name, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary_name, dir_fd=folder)
        raise
    # The crawl hears of the file only after this: its name has to survive a power cut, too.
    os.fsync(folder)


def _must_have_some(size: int) -> None:
    """Raise CommandError if nothing was written."""
    if not size:
        raise CommandError("standard input contains no seeds")
