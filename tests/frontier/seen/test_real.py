"""The seen stores with real link graphs and crawl logs."""

from hashlib import blake2b

import pytest

from benchmarks.support.seen_graphs import STREAMS
from tests.support.cases import cases
from tests.support.examples import in_campaign
from tests.support.seens import STORES, Reopenable, disk
from webcrawl.frontier.seen.caches.clock import ClockCache
from webcrawl.frontier.seen.protocol import Layout

MIDDLING = Layout(chunk=1000, budget=700, largest=10**6, row=100, fresh=500, at_once=100)
KINDS = {**STORES, "disk": lambda db: disk(db, cache=ClockCache(256), sizes=MIDDLING)}


def fingerprint(url):
    return int.from_bytes(blake2b(url.encode(), digest_size=8).digest())


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("stream", [min(STREAMS), *in_campaign(*sorted(STREAMS.keys() - {min(STREAMS)}))])
def test_a_replayed_crawl_gives_the_distinct_urls_in_first_seen_order(tmp_path, stream, kind):
    """New URLs come out as from a plain set, in order, across restarts and early merges."""
    pages = STREAMS[stream](cases(stream).parent)
    job, taken = Reopenable(tmp_path / "state", KINDS[kind]), []
    for number, page in enumerate(pages):
        job.store.submit([fingerprint(url) for url in page], [url.encode() for url in page])
        taken += job.store.take(100)
        if number % 40 == 0:
            job.store.merge()
        if number % (len(pages) // 3) == 0:
            job.checkpoint()
            job.reopen()
    taken += job.settle()
    job.close()
    expected = list(dict.fromkeys(url for page in pages for url in page))

    assert len(expected) > 3000
    assert [record.decode() for record in taken] == expected
