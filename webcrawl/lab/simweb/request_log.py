"""The log of every request: when it came, what the answer was, and when it was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO


@dataclass(slots=True)
class Hit:
    """One request. Times are seconds of the machine's monotonic clock; `wall` is the start since 1970."""

    started: float
    wall: float
    url: str  # as requested: scheme, Host header, request target
    address: str  # the server's
    client: int  # the client's port
    attempt: int = 1
    ended: float = 0.0
    status: int = 0  # 0 if the answer had none
    bytes: int = 0  # sent, head included
    retry_after: int = 0
    outcome: str = ""  # "sent", "left" (by the client), "reset", or "stopped" with the server
    outage: str = ""  # the kind of the outage that decided the answer, or ended it
    agent: str = ""  # the client's User-Agent
    edition: str = ""  # of a changing page that was sent, or "gone"; "" for a 304 and everything else
    conditional: bool = False  # whether the request had If-None-Match or If-Modified-Since

    @property
    def host(self) -> str:
        """The host's name without its port."""
        return self.url.split("/", 3)[2].partition(":")[0]

    @property
    def path(self) -> str:
        return "/" + self.url.split("/", 3)[3]


FIELDS = tuple(field.name for field in fields(Hit))


class Log:
    """Hits in the order in which they ended: in memory if `keep`, and as JSON lines in the file at `path`."""

    def __init__(self, path: Path | None = None, *, keep: bool = True) -> None:
        self.hits: list[Hit] = []
        self.count = 0
        self._keep = keep
        self._file: IO[str] | None = path.open("w", encoding="utf-8") if path else None

    def add(self, hit: Hit) -> None:
        self.count += 1
        if self._keep:
            self.hits.append(hit)
        if self._file is not None:
            self._file.write(json.dumps({name: getattr(hit, name) for name in FIELDS}) + "\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read(path: Path) -> Iterator[Hit]:
    """The hits of a log file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield Hit(**json.loads(line))
