"""The language of a client and a crawl on the control socket: one line of JSON each way (docs/control.md).

    {"command": "set", "words": ["POLITENESS_FACTOR", "5"]}
    {"ok": true, "answer": "POLITENESS_FACTOR is 5.0"}        or {"ok": false, "error": "one line"}

The socket is a file of JOBDIR, whose path may be longer than the 108 bytes that an address has room for: it is reached
through a descriptor of its folder.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webcrawl.crawl.control.command import CommandError, NoAnswer

NAME = "control.sock"
CREDENTIALS = struct.Struct("=iII")  # process, user, group
LONGEST = 1 << 16  # bytes of a request, with the end of its line
MOST_WORDS = 1000
LONGEST_ANSWER = 1 << 24
KEYS = {"command", "words"}
UNKEPT = "done, but "  # begins the refusal of what was carried out and may be forgotten


@contextmanager
def folder_of(jobdir: Path) -> Iterator[int]:
    """A descriptor of the folder, which stays that folder if it is moved."""
    folder = os.open(jobdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def address(folder: int) -> str:
    """The address of the socket of a folder, in a few bytes."""
    return f"/proc/self/fd/{folder}/{NAME}"


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process and the user on the other side."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    process, user, _ = CREDENTIALS.unpack(data)
    return process, user


def request(command: str, words: tuple[str, ...]) -> bytes:
    """CommandError if it is too long for one."""
    line = json.dumps({"command": command, "words": words}).encode() + b"\n"
    if len(line) > LONGEST:
        raise CommandError(f"{command}: longer than {LONGEST} bytes")
    return line


def read_request(line: bytes) -> tuple[str, list[str]]:
    """The command and its words. CommandError for anything else that a line can be."""
    values = _read(line)
    if not isinstance(values, dict) or "command" not in values:
        raise CommandError('a request is a line such as {"command": "status", "words": []}')
    unknown = sorted(values.keys() - KEYS)
    if unknown:
        raise CommandError(f"{unknown[0][:40]!r}: a request has no such key, only command and words")
    command, words = values["command"], values.get("words", [])
    if not isinstance(command, str) or not isinstance(words, list) or not all(isinstance(one, str) for one in words):
        raise CommandError("command must be a text, and words a list of texts")
    if len(words) > MOST_WORDS:
        raise CommandError(f"more than {MOST_WORDS} words")
    return command, words


def answer(given: Any) -> bytes:
    """CommandError for more than a line holds."""
    line = json.dumps({"ok": True, "answer": given}).encode() + b"\n"
    if len(line) > LONGEST_ANSWER:
        raise CommandError(f"the answer has {len(line)} bytes, more than {LONGEST_ANSWER}: ask for less")
    return line


def refusal(why: str) -> bytes:
    return json.dumps({"ok": False, "error": " ".join(why.split())}).encode() + b"\n"


def read_answer(line: bytes) -> Any:
    """The answer. CommandError with the line of a refusal, or for what is no answer; NoAnswer: it is unkept."""
    values = _read(line)
    if isinstance(values, Mapping) and values.get("ok") is True and "answer" in values:
        return values["answer"]
    if isinstance(values, Mapping) and isinstance(values.get("error"), str):
        raise (NoAnswer if values["error"].startswith(UNKEPT) else CommandError)(values["error"])
    raise CommandError("the answer cannot be read")


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # no UTF-8 and too long numbers too; too deep
        raise CommandError("not one line of JSON") from error
