"""The metrics for Prometheus, served over HTTP or written to a file (docs/metrics.md).

Nothing is counted here: the crawl's figures are read when somebody asks. The metrics of single
figures are those of the table in store/jobdir/figures.py; here are those that have labels. `Told`
keeps counters from going back after a crash.
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
from webcrawl.crawl.bound import FENCED, Cause
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
    """A metric of the figures whose keys begin with `prefix`, one time series for each value.

    `value` makes the value of the label of the rest of a key; figures for which it returns None
    belong to another metric. `says` is the help text.
    """

    prefix: str
    name: str
    label: str
    value: Callable[[str], str | None]
    says: str
    always: tuple[str, ...] = ()  # values that are shown even if nothing was counted yet


def _answer(rest: str) -> str | None:
    """Return the status to count under; None if this is the code of a failure.

    Statuses that HTTP does not have count as one.
    """
    is_answer = rest.isdecimal() and int(rest) > 0
    if not is_answer:
        return None
    # Servers may send any number: each would be a time series of its own in Prometheus.
    return rest if int(rest) in STATUSES else OTHERS


def _failure(rest: str) -> str | None:
    """Return the name of a failure, whose code is below 0; None for the status of an answer."""
    if not rest.startswith("-"):
        return None
    return _outcome(rest)


def _outcome(rest: str) -> str:
    try:
        return Status(int(rest)).name.lower()
    except ValueError:
        return OTHERS


def _among(names: tuple[str, ...]) -> Callable[[str], str | None]:
    """Return a function that keeps the figures with these names, of all that are named alike."""
    return lambda rest: rest if rest in names else None


def _same(rest: str) -> str:
    return rest


REVISITED = ("unchanged_304", "unchanged_digest", "changed_digest", "changed_text", "gone")
VERDICTS = ("true", "false", "ignored")
FAILED = ("dns_failed", "connect_failed", "connection_lost", "timeout", "unexpected")

# Figures that only some crawls have: the prefix of their names, and the one of them that shows
# whether this crawl has them.
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
    Labelled("refused/", "filtered_links", "filter", _same, "Links that filters have dropped."),
    Labelled(
        BOUND,
        "bound_seconds",
        "by",
        _among(CAUSES),
        "Seconds of the crawl, by its bottleneck.",
        CAUSES,
    ),
    Labelled(
        "revisit/",
        "revisits",
        "found",
        _among(REVISITED),
        "Pages fetched again, by what was found.",
        REVISITED,
    ),
    Labelled(
        "revisit/signals_",
        "revisit_signals",
        "verdict",
        _among(VERDICTS),
        "Announced changes: confirmed, not confirmed, or ignored.",
        VERDICTS,
    ),
)
TROUBLE = (
    "1 if this keeps the crawl from sending requests, else 0; if several do, only the first and "
    "engine_paused."
)
TROUBLES = {  # the words of Outlook.trouble, and the name in the metric
    "paused": "paused",
    "no network": "no_network",
    "no name server": "no_name_server",
    "disk nearly full": "disk",
    FENCED: "cut_off",
}
ENGINE = "engine_paused"  # too little disk, or by somebody's extension


class CrawlLook(NamedTuple):
    """A crawl at one moment: its figures, its downloads by duration, and its trouble."""

    figures: Figures
    times: Sequence[int]
    trouble: str
    engine_paused: bool


class CrawlCollector(Collector):
    """Makes metrics of a crawl's figures, whenever Prometheus asks or the file is written.

    `labels`: of every metric, to tell crawls apart. `about`: the versions, labels of `build_info`.
    """

    def __init__(
        self,
        look: Callable[[], CrawlLook],
        labels: Mapping[str, str],
        about: Mapping[str, str],
        told: Told,
    ) -> None:
        """`look` reads the figures; `told` keeps counters from falling after a kill."""
        self._look = look
        self._labels = dict(labels)
        self._about = dict(about)
        self._told = told
        self._process = ProcessCollector(namespace=PREFIX.rstrip("_"), registry=None)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        data = generate_latest(self)  # calls `collect`
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
        # Counters of the process begin anew with it: they are not kept from falling.
        for metric in self._process.collect():
            self._label(metric)
            yield metric

    def _label(self, metric: Metric) -> None:
        metric.samples = [
            Sample(name, {**self._labels, **own}, value) for name, own, value, *_ in metric.samples
        ]


def families(look: CrawlLook) -> Iterator[Metric]:
    """Yield all metrics of a crawl but those of its process and versions."""
    figures = look.figures
    absent_prefixes = tuple(prefix for prefix, name in OF_SOME.items() if name not in figures)
    for row in COUNTERS:
        if not row.key.startswith(absent_prefixes):
            yield CounterMetricFamily(PREFIX + row.metric, row.says, value=figures.get(row.key, 0))
    for labelled in LABELLED:
        if not labelled.prefix.startswith(absent_prefixes):
            yield _labelled(labelled, figures)
    # Without a page in the sample nothing is estimated: 0 would be shown as an estimate.
    has_estimates = bool(figures.get(f"{REVISIT}sampled"))
    not_estimated = () if has_estimates else [REVISIT + name for name in ESTIMATED]
    for row in GAUGES:
        is_known = row.key in figures and row.key not in not_estimated
        if is_known and not row.key.startswith(absent_prefixes):
            yield GaugeMetricFamily(PREFIX + row.metric, row.says, value=figures[row.key])
    turns = HostTurns.of(figures)
    hosts = {
        "active": turns.active,
        "ready": turns.ready,
        "waiting": turns.waiting,
        "deferred": figures["hosts_deferred"],
    }
    yield _gauges(
        "hosts", "Hosts in rotation (active, ready, waiting), and deferred hosts.", "state", hosts
    )
    troubles = {name: look.trouble == said for said, name in TROUBLES.items()}
    troubles[ENGINE] = look.engine_paused
    yield _gauges("trouble", TROUBLE, "kind", troubles)
    yield _histogram(look.times)


def _labelled(labelled: Labelled, figures: Figures) -> Metric:
    """Return this metric, with the sum of the figures for each value of its label."""
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
    """Return the times of downloads as a histogram; it has no sum, because none is kept.

    `times`: the number of downloads by the bits of their milliseconds; so bucket n ends at 2**n ms.
    Prometheus wants each bucket to include those before.
    """
    buckets, total = [], 0
    for bits, number in enumerate(times):
        total += number
        if bits <= MAX_BITS:
            buckets.append((f"{2**bits / 1000:g}", float(total)))
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
    """Serves the figures; `text` produces them, once a second at most, however many ask."""

    def __init__(
        self, port: socket.socket, text: Callable[[], bytes], unready: Callable[[], str] = str
    ) -> None:
        """`unready` returns why the crawl may fetch nothing now; an empty string if it may."""
        super().__init__(port, lambda: FigureRequest(self))
        self._text = text
        self._bound = str(port.getsockname()[0])  # the address that it listens on
        self.unready = unready
        self._answer = b""  # the last one
        self._made_at = float("-inf")  # when that was made, by the event loop's clock

    def is_named(self, host: str) -> bool:
        """Return whether this Host header names us."""
        return http_answerer.is_named(host, self._bound)

    def answer(self) -> bytes:
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
        # Against DNS rebinding: a web page whose own name was made to lead here sends that name. No
        # browser leaves the header out.
        hosts = self.values(b"host")
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

    A kill takes back what the crawl has counted since its last checkpoint. By how much, the first
    sample of a run shows, beside the file. `may_write`: whether the file's folder is still ours.
    """

    def __init__(self, path: Path, may_write: Callable[[], bool] = lambda: True) -> None:
        self._path = path
        self._may_write = may_write
        # By metric and labels: what former runs reported last, what was reported last, and what is
        # added to the crawl's own counter.
        self._before = _read(path)
        self._told = dict(self._before)
        self._more: dict[str, float] = {}

    def raise_to(self, metric: Metric) -> None:
        """Raise each sample of a counter or histogram by what a kill took back, so that none falls."""
        metric.samples = [
            Sample(sample.name, sample.labels, self._at_least(sample)) for sample in metric.samples
        ]

    def keep(self) -> None:
        """Write the samples that were served. An error is ignored: it matters only after a kill."""
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


def _read(path: Path) -> dict[str, float]:
    try:
        saved = json.loads(path.read_bytes())
        return {str(key): float(value) for key, value in saved.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # none yet, or somebody's own
        return {}
