"""Settings that may change with every run of a crawl, drawn by chance; none of them changes which
URLs are fetched.
"""

from tests.support.crawling import POLITE

_CACHES, _PRIORITIZERS = "webcrawl.frontier.seen.caches", "webcrawl.frontier.prioritizers"
CHOICES = {
    "POLITENESS_FACTOR": (0, 0.5, 2),
    "POLITENESS_MIN_DELAY": (0.01, 0.05, 0.2),
    "POLITENESS_MAX_DELAY": (0.2, 0.5),
    "POLITENESS_PER_IP": (False, False, True),
    "CONCURRENT_REQUESTS": (1, 4, 16, 60),
    "CHECKPOINT_INTERVAL": (0.1, 0.2, 0.5),
    "FRONTIER_MEMORY": (8, 32, 128),
    "FRONTIER_LEVELS": (1, 2, 8, 40),
    "FRONTIER_QUEUES": (0, 1, 20),
    "FRONTIER_MAX_QUEUES": (30, 30_000),
    "FRONTIER_PRIORITIZER": (
        *(
            f"{_PRIORITIZERS}.depth.ByArrival",
            f"{_PRIORITIZERS}.depth.ByDepth",
            f"{_PRIORITIZERS}.depth.ByChance",
        ),
        *(f"{_PRIORITIZERS}.links.ByIndegree", f"{_PRIORITIZERS}.links.ByOpic"),
    ),
    "SEEN_MEMORY": (16, 64, 256),
    "URL_CACHE": (
        f"{_CACHES}.policies.LruCache",
        f"{_CACHES}.policies.RandomCache",
        f"{_CACHES}.clock.ClockCache",
    ),
    "OUTPUTS": ("warc cdxj", "warc cdxj index", "warc index", "none"),
    "WARC_MAX_SIZE": (1, 100),
}
IN_FLIGHT = max(CHOICES["CONCURRENT_REQUESTS"])
_NAMES = {
    "factor": "POLITENESS_FACTOR",
    "minimum": "POLITENESS_MIN_DELAY",
    "maximum": "POLITENESS_MAX_DELAY",
}


def drawn(chance):
    """The settings of one run after the other."""
    while True:
        yield {name: chance.choice(values) for name, values in CHOICES.items()}


def polite(settings):
    """Politeness under these settings, as simweb's `mercator` takes it."""
    return POLITE | {word: settings[name] for word, name in _NAMES.items() if name in settings}


def archived(settings):
    """Whether a run with these settings has an archive in its folder."""
    return "warc" in settings.get("OUTPUTS", "warc") and settings.get("OUTPUT_STORE_KEEP", True)
