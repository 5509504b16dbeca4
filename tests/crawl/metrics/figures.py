"""The figures of a crawl, and what the collector makes of them."""

from prometheus_client.parser import text_string_to_metric_families

from webcrawl.crawl.metrics import CrawlCollector, CrawlLook, Told

ABOUT = {"version": "1.2.3"}
LABELS = {"jobdir": '/crawls/with "quotes" and \\ and\nlines'}
DRONE = {"hive/slots": 100, "hive/sent": 7, "hive/server_up": True, "hive/alive": 3}
REVISITS = {
    "revisit/records": 500,
    "revisit/gone": 3,
    "revisit/signals_true": 2,
    "revisit/freshness": 0.8,
    "revisit/sampled": 9,
}
FIGURES = {
    "pages": 30,
    "failures": 3,
    "status/200": 20,
    "status/404": 6,
    "status/799": 3,
    "status/999": 1,
    "status/-1": 1,
    "status/-4": 2,
    "frontier/dropped/-9998": 5,
    "refused/scope": 9,
    "queued": 12,
    "hosts": 10,
    "hosts_deferred": 2,
    "in_flight": 4,
    "ready": 1,
    "over_budget": 0,
    "over_budget/domains": 0,
    "deferred": 0,
    "slots": 100,
    "seen/keys": 50,
    "seen/waiting": 5,
    "seen/runs": 1,
    "links/waiting": 0,
    "checkpoint_at": 1e9,
    "checkpoint_seconds": 0.5,
    "disk_free": 1e9,
    "disk_least": 0,
    "bandwidth_max": 0,
}


def look_of(trouble="", *, paused=False, times=(1, 0, 2, 5), **figures):
    return CrawlLook({**FIGURES, **figures}, times, trouble, paused)


def collector(path, trouble="", *, labels=LABELS, **look):
    return collector_of(path, look_of(trouble, **look), labels)


def collector_of(path, look, labels=LABELS):
    """A collector that has this look whenever it is asked."""
    return CrawlCollector(lambda: look, labels, ABOUT, Told(path / "metrics.json"))


def read(data):
    """The values of the samples, by name and by the values of the labels that are not those of all."""
    found = {}
    for family in text_string_to_metric_families(data.decode()):
        for sample in family.samples:
            own = [value for name, value in sample.labels.items() if name not in LABELS]
            found[sample.name, *own] = sample.value
    return found
