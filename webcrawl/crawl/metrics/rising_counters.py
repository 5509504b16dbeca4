"""Counters that never go back, for Prometheus takes a smaller number for one that began anew at zero.

After a `kill -9` the crawl's own counters are those of the last checkpoint, and count what is done again. What was
told of them before lies in a small file, and is added to.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

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
        new = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            new.write_text(json.dumps(self._told), encoding="utf-8")
            new.replace(self._path)

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
