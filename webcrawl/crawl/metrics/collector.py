"""The figures of a crawl as Prometheus' families of metrics. Nothing is counted here: it looks when it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from webcrawl.crawl.metrics.exposition import Told
from webcrawl.crawl.metrics.families import (
    COUNTERS,
    ENGINE,
    GAUGES,
    HOSTS,
    LABELLED,
    OF_SOME,
    TROUBLE,
    TROUBLES,
    Labelled,
    Row,
)
from webcrawl.store.jobdir.history_line import hosts_asked
from webcrawl.store.jobdir.revisit_figures import ESTIMATED
from webcrawl.store.jobdir.revisit_figures import PREFIX as REVISIT

Figures = Mapping[str, float]
PREFIX = "webcrawl_"
LONGEST = 17  # bits of the milliseconds in the last bucket but one: 131 s
MONOTONOUS = ("counter", "histogram")


class Look(NamedTuple):
    """A crawl at one moment: its figures, its downloads by the bits of their milliseconds, and what it suffers from."""

    figures: Figures
    times: Sequence[int]
    trouble: str
    engine_paused: bool


class CrawlCollector(Collector):
    """`labels`: of every metric, so that several crawls can be told apart; `about`: what is known from the start."""

    def __init__(
        self, look: Callable[[], Look], labels: Mapping[str, str], about: Mapping[str, str], told: Told
    ) -> None:
        self._look, self._labels, self._about, self._told = look, dict(labels), dict(about), told
        self._process = ProcessCollector(namespace=PREFIX.rstrip("_"), registry=None)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        data = generate_latest(self)
        self._told.keep()
        return data

    def collect(self) -> Iterator[Metric]:
        look = self._look()
        for metric in (*_families(look), _info("build_info", "Versions.", self._about)):
            if metric.type in MONOTONOUS:
                self._told.raise_to(metric)
            self._label(metric)
            yield metric
        for metric in self._process.collect():  # of this process alone: they begin anew with it
            self._label(metric)
            yield metric

    def _label(self, metric: Metric) -> None:
        metric.samples = [Sample(name, {**self._labels, **own}, value) for name, own, value, *_ in metric.samples]


def _families(look: Look) -> Iterator[Metric]:
    figures = look.figures
    absent = tuple(prefix for prefix, name in OF_SOME.items() if name not in figures)
    for row in COUNTERS:
        if not row.key.startswith(absent):
            yield CounterMetricFamily(PREFIX + row.name, row.says, value=figures.get(row.key, 0))
    for labelled in LABELLED:
        if not labelled.prefix.startswith(absent):
            yield _labelled(labelled, figures)
    unknown = () if figures.get(f"{REVISIT}sampled") else [REVISIT + name for name in ESTIMATED]
    for row in GAUGES:
        if row.key in figures and row.key not in unknown and not row.key.startswith(absent):
            yield GaugeMetricFamily(PREFIX + row.name, row.says, value=figures[row.key])
    yield _gauges(HOSTS, "state", _hosts(figures))
    troubles = {name: look.trouble == said for said, name in TROUBLES.items()}
    yield _gauges(TROUBLE, "kind", {**troubles, ENGINE: look.engine_paused})
    yield _histogram(look.times)


def _labelled(one: Labelled, figures: Figures) -> Metric:
    sums: dict[str, float] = dict.fromkeys(one.always, 0)
    for key, number in figures.items():
        value = one.value(key.removeprefix(one.prefix)) if key.startswith(one.prefix) else None
        if value is not None:
            sums[value] = sums.get(value, 0) + number
    family = CounterMetricFamily(PREFIX + one.name, one.says, labels=[one.label])
    for value, number in sums.items():
        family.add_metric([value], number)
    return family


def _gauges(row: Row, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + row.name, row.says, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _hosts(figures: Figures) -> dict[str, float]:
    asked, ready = hosts_asked(figures), figures["ready"]
    waiting = max(figures["hosts"] - asked - ready, 0)  # downloads that somebody awaits have no host in rotation
    return {"asked": asked, "ready": ready, "waiting": waiting, "aside": figures["hosts_aside"]}


def _histogram(times: Sequence[int]) -> Metric:
    """Without a sum, which nobody keeps."""
    buckets, total = [], 0
    for bits, number in enumerate(times):
        total += number
        if bits <= LONGEST:
            buckets.append((f"{2**bits / 1000:g}", float(total)))
    family = HistogramMetricFamily(
        PREFIX + "download_duration_seconds", "Answers by the time from the request to their end.", labels=[]
    )
    family.add_metric([], [*buckets, ("+Inf", float(total))], sum_value=None)
    return family


def _info(name: str, says: str, values: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, says, labels=[*values])
    family.add_metric([*values.values()], 1)
    return family
