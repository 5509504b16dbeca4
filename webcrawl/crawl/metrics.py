"""The metrics for Prometheus, served over HTTP or written to a file (docs/metrics.md).

Nothing is counted here: the crawl is looked at when it is asked. The metrics of single figures are
those of the table in store/jobdir/figures.py; here are those that have labels. `Told` keeps
counters from going back after a crash.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from webcrawl.base.model import Status
from webcrawl.crawl.bound import CUT_OFF, Cause
from webcrawl.crawl.bound import PREFIX as BOUND
from webcrawl.net import http_answerer
from webcrawl.store.disk import rewrite
from webcrawl.store.jobdir.figures import COUNTERS, GAUGES, HostTurns
from webcrawl.store.jobdir.revisit_figures import ESTIMATED
from webcrawl.store.jobdir.revisit_figures import PREFIX as REVISIT

Figures = Mapping[str, float]
PREFIX = "webcrawl_"
MAX_BITS = 17  # bits of the milliseconds in the last bucket but one: 131 s
MONOTONOUS = ("counter", "histogram")
OTHERS = "other"
STATUSES = frozenset(map(int, HTTPStatus))
CAUSES = tuple(map(str, Cause))


class Labelled(NamedTuple):
    """The figures with this `prefix`; `value` makes a label of the rest of a key, or None."""

    prefix: str
    name: str
    label: str
    value: Callable[[str], str | None]
    says: str
    always: tuple[str, ...] = ()  # values that are shown even if nothing was counted yet


def _answer(rest: str) -> str | None:
    """Return the status to count under: those that HTTP does not have count as one."""
    is_answer = rest.isdecimal() and int(rest) > 0
    if not is_answer:
        return None
    # Servers may send any number: each would be a time series of its own in Prometheus.
    return rest if int(rest) in STATUSES else OTHERS


def _failure(rest: str) -> str | None:
    """Return the outcome to count under, or None for an HTTP status: failures are negative."""
    if not rest.startswith("-"):
        return None
    return _outcome(rest)


def _outcome(rest: str) -> str:
    """Return the name of an outcome that a key gives by its number; one unknown here is `other`."""
    try:
        return Status(int(rest)).name.lower()
    except ValueError:
        return OTHERS


def _only(names: tuple[str, ...]) -> Callable[[str], str | None]:
    """Return a function that keeps the figures with these names, of all that are named alike."""
    return lambda rest: rest if rest in names else None


def _unchanged_name(rest: str) -> str:
    return rest


REVISITED = ("unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone")
VERDICTS = ("true", "false", "ignored")
FAILED = ("dns_failed", "connect_failed", "connection_lost", "timeout", "unexpected")

# Figures of some crawls alone: by the beginning of their names, the figure that such a crawl has
OF_SOME = {"hive/": "hive/slots", "revisit/": "revisit/records"}
LABELLED = (
    Labelled("status/", "answers", "status", _answer, "Answers by HTTP status.", ("200",)),
    Labelled(
        "status/",
        "failures",
        "outcome",
        _failure,
        "Attempts at URLs that got no answer, by outcome.",
        FAILED,
    ),
    Labelled(
        "frontier/dropped/",
        "dropped_urls",
        "outcome",
        _outcome,
        "URLs that ended while they were queued.",
    ),
    Labelled(
        "refused/", "filtered_links", "filter", _unchanged_name, "Links that filters have dropped."
    ),
    Labelled(
        BOUND,
        "bound_seconds",
        "by",
        _only(CAUSES),
        "Seconds of the crawl, by its bottleneck.",
        CAUSES,
    ),
    Labelled(
        "revisit/",
        "revisits",
        "found",
        _only(REVISITED),
        "Pages fetched again, by what was found.",
        REVISITED,
    ),
    Labelled(
        "revisit/signals_",
        "revisit_signals",
        "verdict",
        _only(VERDICTS),
        "Announced changes: confirmed, not confirmed, or ignored.",
        VERDICTS,
    ),
)
TROUBLE = "1 if this keeps the crawl from sending requests, else 0; if several do, only the first."
TROUBLES = {  # as the crawl says
    "paused": "paused",
    "no network": "no_network",
    "no name server": "no_name_server",
    "disk nearly full": "disk",
    CUT_OFF: "cut_off",
}
ENGINE = "engine_paused"  # too little disk, or by somebody's extension


class CrawlLook(NamedTuple):
    """A crawl at one moment: its figures, its downloads by duration, and its trouble."""

    figures: Figures
    times: Sequence[int]  # answers, by the bits of the milliseconds that they took
    trouble: str  # what keeps the crawl from fetching, as TROUBLES has it; empty if nothing does
    engine_paused: bool


class CrawlCollector(Collector):
    """Makes the metrics of a crawl, each time that somebody asks for them."""

    def __init__(
        self,
        look: Callable[[], CrawlLook],
        labels: Mapping[str, str],
        about: Mapping[str, str],
        told: Told,
    ) -> None:
        """`look` reads the figures; `told` keeps counters from falling after a kill.

        `labels`: of every metric, to tell crawls apart. `about`: versions, by name.
        """
        self._look = look
        self._labels = dict(labels)
        self._about = dict(about)
        self._told = told
        self._process = ProcessCollector(namespace=PREFIX.rstrip("_"), registry=None)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        data = generate_latest(self)
        self._told.keep()
        return data

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, labelled, for one scrape."""
        look = self._look()
        for metric in (*families(look), _info("build_info", "Versions.", self._about)):
            if metric.type in MONOTONOUS:
                self._told.raise_to(metric)
            self._label(metric)
            yield metric
        for metric in self._process.collect():  # of this process alone: they begin anew with it
            self._label(metric)
            yield metric

    def _label(self, metric: Metric) -> None:
        metric.samples = [
            Sample(name, {**self._labels, **own}, value) for name, own, value, *_ in metric.samples
        ]


def families(look: CrawlLook) -> Iterator[Metric]:
    """Yield all metrics of a crawl but those of its process and versions."""
    figures = look.figures
    # beginnings of the names of figures that this crawl has not
    absent = tuple(prefix for prefix, name in OF_SOME.items() if name not in figures)
    for row in COUNTERS:
        if not row.key.startswith(absent):
            yield CounterMetricFamily(PREFIX + row.metric, row.says, value=figures.get(row.key, 0))
    for labelled in LABELLED:
        if not labelled.prefix.startswith(absent):
            yield _labelled(labelled, figures)
    # Without a page in the sample nothing is estimated.
    has_sample = figures.get(f"{REVISIT}sampled")
    unknown = () if has_sample else [REVISIT + name for name in ESTIMATED]
    for row in GAUGES:
        is_known = row.key in figures and row.key not in unknown
        if is_known and not row.key.startswith(absent):
            yield GaugeMetricFamily(PREFIX + row.metric, row.says, value=figures[row.key])
    turns = HostTurns.of(figures)
    hosts = {
        "asked": turns.asked,
        "ready": turns.ready,
        "waiting": turns.waiting,
        "aside": figures["hosts_aside"],
    }
    yield _gauges(
        "hosts", "Hosts in rotation (asked, ready, waiting), and hosts set aside.", "state", hosts
    )
    troubles = {name: look.trouble == said for said, name in TROUBLES.items()}
    troubles[ENGINE] = look.engine_paused
    yield _gauges("trouble", TROUBLE, "kind", troubles)
    yield _histogram(look.times)


def _labelled(labelled: Labelled, figures: Figures) -> Metric:
    """Return one metric: the sums of the figures with its prefix, by the label of each."""
    sums: dict[str, float] = dict.fromkeys(labelled.always, 0)
    for key, number in figures.items():
        if not key.startswith(labelled.prefix):
            continue
        value = labelled.value(key.removeprefix(labelled.prefix))
        if value is not None:
            sums[value] = sums.get(value, 0) + number
    family = CounterMetricFamily(PREFIX + labelled.name, labelled.says, labels=[labelled.label])
    for value, number in sums.items():
        family.add_metric([value], number)
    return family


def _gauges(name: str, says: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, says, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _histogram(times: Sequence[int]) -> Metric:
    """Return the times of downloads as a histogram; it has no sum, because none is kept."""
    buckets = []
    total = 0
    for bits, number in enumerate(times):
        total += number  # each bucket has those of the buckets before it, too
        if bits <= MAX_BITS:
            seconds = 2**bits / 1000  # the upper bound of so many bits of milliseconds
            buckets.append((f"{seconds:g}", float(total)))
    family = HistogramMetricFamily(
        PREFIX + "download_duration_seconds",
        "Answers by the seconds from the request to the last byte.",
        labels=[],
    )
    family.add_metric([], [*buckets, ("+Inf", float(total))], sum_value=None)
    return family


def _info(name: str, says: str, values: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, says, labels=[*values])
    family.add_metric([*values.values()], 1)
    return family


# -- the ways out

MAX_CONNECTIONS = 8  # connections at once: a scraper needs one
PATIENCE = 10.0  # seconds for a request and its answer
MAX_REQUEST = 8192  # bytes of a request
ANSWER_FRESH_SECONDS = 1.0  # seconds for which an answer is given again
TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Listener(http_answerer.Listener):
    """Serves the figures, which `text` produces.

    Looks at the crawl at most once a second, no matter how often anyone asks.
    """

    def __init__(
        self, port: socket.socket, text: Callable[[], bytes], unready: Callable[[], str] = str
    ) -> None:
        """`unready` says why the crawl may fetch nothing now; nothing if it may."""
        super().__init__(port, lambda: FigureRequest(self))
        self._text = text
        self._bound = str(port.getsockname()[0])
        self.unready = unready
        self._answer = b""  # the last one, made at that time of the event loop
        self._made_at = float("-inf")

    def is_named(self, host: str) -> bool:
        """Return whether this Host header names us."""
        return http_answerer.is_named(host, self._bound)

    def answer(self) -> bytes:
        """Return all metrics, as of now or of less than ANSWER_FRESH_SECONDS ago."""
        now = asyncio.get_running_loop().time()
        if now - self._made_at >= ANSWER_FRESH_SECONDS:
            self._answer = self._text()
            self._made_at = now
        return self._answer


class FigureRequest(http_answerer.ServerConnection):
    """A request for the figures, or of a probe.

    A probe asks whether the crawl's event loop turns, or whether it may fetch.

    What probes are told is no secret: whoever keeps the process alive asks by any name.
    """

    def __init__(self, listener: Listener) -> None:
        super().__init__(
            listener.open, http_answerer.ClientLimits(MAX_CONNECTIONS, PATIENCE, MAX_REQUEST)
        )
        self._listener = listener

    def head_received(self) -> None:
        """Answer a request: figures, health or readiness, or an error of HTTP."""
        hosts = self.values(b"host")  # no browser leaves the header out
        path = self.target.partition(b"?")[0]
        if self.method != b"GET":
            self.reply("405 Method Not Allowed", more="Allow: GET\r\n")
        elif path == b"/healthz":
            self.reply("200 OK")
        elif path == b"/readyz":
            self._reply_readiness(self._listener.unready())
        elif path != b"/metrics":
            self.reply("404 Not Found")
        elif not all(self._listener.is_named(host.decode("latin-1")) for host in hosts):
            self.reply("421 Misdirected Request")
        else:
            self.reply("200 OK", self._listener.answer(), TEXT_TYPE)

    def _reply_readiness(self, why: str) -> None:
        """`why`: what keeps the crawl from fetching; empty if nothing does."""
        if why:
            self.reply("503 Service Unavailable", f"{why}\n".encode())
        else:
            self.reply("200 OK")


def path_of_drone(path: str, drone: int) -> Path:
    """Each drone of a hive has a file of its own: `webcrawl.prom` becomes `webcrawl-3.prom`."""
    whole = Path(path)
    return whole.with_name(f"{whole.stem}-{drone}{whole.suffix}")


class Told:
    """Keeps counters from falling: each is at least what was reported last, by this run or another.

    Prometheus takes a counter that fell for one that began at zero, and adds all of it: after a
    kill at 12,369 pages, a crawl that resumed at 11,172 had all of these counted again. Without the
    file, counters are those of the crawl.

    `may_write`: whether the folder of the file is still ours.
    """

    def __init__(self, path: Path, may_write: Callable[[], bool] = lambda: True) -> None:
        self._path = path
        self._may_write = may_write
        # All three by name and labels of a sample.
        self._before = _read_counters(path)  # what former runs told last
        self._told = dict(self._before)  # what was told last, by whatever run
        self._more: dict[str, float] = {}  # what is added to the crawl's own counters

    def raise_to(self, metric: Metric) -> None:
        """Raise each sample of a counter or histogram by what a kill took back, so that none falls."""
        metric.samples = [
            Sample(one.name, one.labels, self._at_least(one)) for one in metric.samples
        ]

    def keep(self) -> None:
        """Write the samples that were served. If there is no room, only a crash would show that."""
        if not self._may_write():
            return
        # 5 to 10 KB per scrape, without a sync: what a power cut loses is one peak in a plot.
        with contextlib.suppress(OSError):
            rewrite(self._path, json.dumps(self._told).encode())

    def _at_least(self, sample: Sample) -> float:
        """Return a counter's value plus what a kill took back, never below a value told before."""
        labels = [f"{name}={value}" for name, value in sorted(sample.labels.items())]
        key = " ".join((sample.name, *labels))
        # What a kill took back is added for the rest of this run: a counter that stood still until
        # it is caught up would look like a crawl without pages.
        if key not in self._more:
            self._more[key] = max(self._before.get(key, 0.0) - sample.value, 0.0)
        value = max(sample.value + self._more[key], self._told.get(key, 0.0))
        self._told[key] = value
        return value


def _read_counters(path: Path) -> dict[str, float]:
    """Return the counters of this file; none if it cannot be read: those of the crawl then count."""
    try:
        found = json.loads(path.read_bytes())
        return {str(key): float(value) for key, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # none yet, or somebody's own
        return {}
