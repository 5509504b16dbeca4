"""Spans of a sample of the fetches go to an OpenTelemetry collector, here a server of this test's own."""

import gzip
import os
import subprocess
import sys

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.crawling import QUICK, Crawl
from tests.support.plain_site import Site, serving

SPANS = "webcrawl.crawl.page_spans.PageSpans"


class Collector(Site):
    """Keeps the spans that it gets."""

    spans: list

    def do_POST(self):  # noqa: N802 - http.server's name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)
        self.say(200, b"", content_type="application/x-protobuf")


class Pages(Site):
    def answer(self):
        links = b'<a href="/a"></a><a href="/missing"></a>' if self.path == "/" else b""
        self.say(404 if "missing" in self.path else 200, links, content_type="text/html")


@pytest.fixture
def site():
    with serving(Pages) as url:
        yield url


def crawled(tmp_path, site, **environment):
    """A crawl in a process of its own, which ends as a user's does: the last spans go then."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{site}/\nhttp://127.0.0.1:9/nobody\n")
    settings = {**QUICK, "FEATURES": SPANS, "PORTS_ALLOWED": f"9,{site.rpartition(':')[2]}"}
    settings |= {"HOST_PATIENCE": 0, "RETRY_TIMES": 0, "HOST_MAX_FAILURES": 1}
    crawl = Crawl(tmp_path / "job", {"seeds": seeds}, settings)
    words = [sys.executable, "-m", *crawl.words()]
    done = subprocess.run(words, env=os.environ | environment, stderr=subprocess.PIPE, check=True)
    return crawl.stats, done.stderr.decode()


def test_spans_of_a_crawl(tmp_path, site):
    """Each fetch has one, with what OpenTelemetry's conventions ask for and a child for each step; a
    host that does not answer has one that failed.
    """
    Collector.spans = spans = []
    with serving(Collector) as collector:
        crawled(
            tmp_path, site, OTEL_EXPORTER_OTLP_ENDPOINT=collector, OTEL_TRACES_SAMPLER="always_on"
        )
    fetches = {}
    for span in spans:
        values = {one.key: one.value for one in span.attributes}
        if "url.full" in values:
            fetches[values["url.full"].string_value.removeprefix(site)] = span, values
    assert {"/robots.txt", "/", "/a", "/missing"} <= fetches.keys()
    span, values = fetches["/missing"]
    assert span.name == "GET"
    assert values["http.response.status_code"].int_value == 404
    assert values["network.peer.address"].string_value == "127.0.0.1"
    steps = {one.name for one in spans if one.parent_span_id == span.span_id}
    assert "first byte" in steps
    failed, values = fetches["http://127.0.0.1:9/robots.txt"]
    assert values["error.type"].string_value == "connect_failed"
    assert failed.status.code == failed.status.STATUS_CODE_ERROR


def test_a_collector_that_is_away(tmp_path, site):
    """The crawl fetches as ever, and says in its log that spans are lost."""
    stats, said = crawled(
        tmp_path,
        site,
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_TRACES_SAMPLER="always_on",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
    )
    assert stats["answers"] == 4
    assert "Failed to export spans" in said
