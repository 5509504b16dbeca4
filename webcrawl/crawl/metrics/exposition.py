"""The ways by which figures leave a crawl: over HTTP, in a file, and as counters that never go back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from webcrawl.net import http_answerer
from webcrawl.store.disk import rewrite

MOST = 8  # connections at once: a scraper needs one
PATIENCE = 10.0  # seconds for a request and its answer
LONGEST = 8192  # bytes of a request
FRESH = 1.0  # seconds for which an answer is given again
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener(http_answerer.Listener):
    """`text` makes the answer. At most one look at the crawl per second, whoever asks how often."""

    def __init__(self, port: socket.socket, text: Callable[[], bytes]) -> None:
        super().__init__(port, lambda: FigureRequest(self))
        self._text, self._bound = text, str(port.getsockname()[0])
        self._answer, self._made_at = b"", float("-inf")

    def is_named(self, host: str) -> bool:
        """True if this Host header names us."""
        return http_answerer.is_named(host, self._bound)

    def answer(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= FRESH:
            self._answer, self._made_at = self._text(), now
        return self._answer


class FigureRequest(http_answerer.Connection):
    """A request for the figures."""

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener.open, http_answerer.Limits(MOST, PATIENCE, LONGEST))
        self._listener = listener

    def head_received(self) -> None:
        hosts = self.values(b"host")  # no browser leaves the header out
        if self.method != b"GET":
            self.reply("405 Method Not Allowed", more="Allow: GET\r\n")
        elif self.target.partition(b"?")[0] != b"/metrics":
            self.reply("404 Not Found")
        elif not all(self._listener.is_named(host.decode("latin-1")) for host in hosts):
            self.reply("421 Misdirected Request")
        else:
            self.reply("200 OK", self._listener.answer(), TYPE)


def path_of_drone(path: str, drone: int) -> Path:
    """Each drone of a hive has a file of its own: `webcrawl.prom` becomes `webcrawl-3.prom`."""
    whole = Path(path)
    return whole.with_name(f"{whole.stem}-{drone}{whole.suffix}")


Key = str


class Told:
    """`may_write`: whether the folder of the file is still ours. Without the file, counters are those of the crawl."""

    def __init__(self, path: Path, may_write: Callable[[], bool] = lambda: True) -> None:
        self._path, self._may_write = path, may_write
        self._before = _read(path)  # what former runs told last
        self._told = dict(self._before)
        self._more: dict[Key, float] = {}  # what is added to the crawl's own counters

    def raise_to(self, metric: Metric) -> None:
        """Makes each sample of this counter or histogram at least what it was."""
        metric.samples = [Sample(one.name, one.labels, self._at_least(one)) for one in metric.samples]

    def keep(self) -> None:
        """Writes what was told. Without room for it, only a crash would show."""
        if not self._may_write():
            return
        with contextlib.suppress(OSError):
            rewrite(self._path, json.dumps(self._told).encode())

    def _at_least(self, sample: Sample) -> float:
        key = " ".join((sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))))
        if key not in self._more:
            self._more[key] = max(self._before.get(key, 0.0) - sample.value, 0.0)
        self._told[key] = value = max(sample.value + self._more[key], self._told.get(key, 0.0))
        return value


def _read(path: Path) -> dict[Key, float]:
    try:
        found = json.loads(path.read_bytes())
        return {str(key): float(value) for key, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # none yet, or somebody's own
        return {}
