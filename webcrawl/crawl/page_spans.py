"""OpenTelemetry spans of a sample of the fetches: FEATURES=webcrawl.crawl.page_spans.PageSpans.

OpenTelemetry's own variables say where they go and how many there are:

    OTEL_EXPORTER_OTLP_ENDPOINT   the collector; by default http://localhost:4318
    OTEL_TRACES_SAMPLER           by default traceidratio
    OTEL_TRACES_SAMPLER_ARG       the share of fetches; by default 0.01
    OTEL_SERVICE_NAME             by default webcrawl

A thread of the exporter sends them. A collector that is away costs the crawl nothing but lines in
the log, and the spans.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import missing
from webcrawl.base.model import Exchange, Link, Outcome, Status, Timings

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
    from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
except ImportError as error:
    raise RulesError(f"FEATURES: {missing('opentelemetry')}") from error

SHARE = 0.01  # of the fetches
NANO = 10**9


class PageSpans:
    """Sends a span for each sampled fetch that is in crawl.log, with one for each step it took."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        """`exporter`: where spans go, if not where OpenTelemetry's variables say."""
        sampler = None if "OTEL_TRACES_SAMPLER" in os.environ else TraceIdRatioBased(SHARE)
        name = os.environ.get("OTEL_SERVICE_NAME", "webcrawl")
        resource = Resource.create({SERVICE_NAME: name})
        provider = TracerProvider(sampler=sampler, resource=resource)
        provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = provider.get_tracer("webcrawl")
        self.flush = provider.force_flush

    def on_ended(self, link: Link, outcome: Outcome, exchange: Exchange | None) -> None:
        """Report a fetch as a span for tracing, with a child for each step of the download."""
        if exchange is None and not outcome.ended:  # no host was requested
            return
        timings = exchange.timings if exchange is not None else Timings(total=outcome.seconds)
        started = exchange.started if exchange is not None else outcome.at - outcome.seconds
        begin = int(started * NANO)
        span = self._tracer.start_span(
            "GET",
            kind=SpanKind.CLIENT,
            start_time=begin,
            attributes=_attributes(link, outcome, exchange),
        )
        if span.is_recording():
            context = set_span_in_context(span)
            # `offset`: seconds from the beginning of the fetch
            for name, offset, seconds in _steps(timings):
                step = self._tracer.start_span(
                    name, context=context, start_time=begin + int(offset * NANO)
                )
                step.end(begin + int((offset + seconds) * NANO))
            if outcome.status < 0:
                span.set_status(StatusCode.ERROR, _words(outcome.status))
        span.end(begin + int(timings.total * NANO))


def _attributes(link: Link, outcome: Outcome, exchange: Exchange | None) -> Mapping[str, str | int]:
    """Return the attributes of an HTTP client's span, by OpenTelemetry's conventions."""
    parts = urlsplit(link.url)
    found: dict[str, str | int] = {
        "http.request.method": "GET",
        "url.full": link.url,
        "server.address": parts.hostname or "",
        "webcrawl.depth": link.depth,
    }
    if outcome.ip:
        found["network.peer.address"] = outcome.ip
    if exchange is None:
        found["error.type"] = _words(outcome.status)
        return found
    found["http.response.status_code"] = exchange.status
    found["http.response.body.size"] = exchange.size
    if exchange.truncated:
        found["webcrawl.truncated"] = exchange.truncated
    return found


def _steps(timings: Timings) -> Iterator[tuple[str, float, float]]:
    """Yield the steps of a fetch that took time: name, seconds from its start, and duration."""
    offset = 0.0
    steps = ("dns", "connect", "tls", "first_byte")
    for name in steps:
        seconds = getattr(timings, name)
        if seconds:
            yield name.replace("_", " "), offset, seconds
        offset += seconds
    if timings.first_byte and timings.total > offset:
        yield "body", offset, timings.total - offset


def _words(status: int) -> str:
    try:
        return Status(status).name.lower()
    except ValueError:
        return str(status)
