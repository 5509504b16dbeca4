"""What one crawl of a campaign is like in all its runs, drawn by chance: its outputs and the
features that it has.
"""

import shutil
from dataclasses import dataclass, field
from importlib.util import find_spec

ALWAYS = ("warc", "cdxj", "requests")
SOMETIMES = (
    "links",
    "tables",
    "text",
    "index",
    "images",
    "tags",
    "pagefiles",
    "neardup",
    "skipped",
)
HAS_DOCUMENTS = all(map(find_spec, ("trafilatura", "resiliparse")))
HAS_BROWSER = bool(find_spec("scrapy_playwright")) and shutil.which("chromium") is not None
FEATURES = (
    "documents",
    "requisites",
    "rendering",
    "store",
    "moved to a store",
    "since",
    "process",
    "http2",
)


@dataclass
class Makeup:
    """Outputs, and names of FEATURES."""

    outputs: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)

    def __str__(self):
        outputs = " ".join(self.outputs) or "other outputs in each run"
        return f"{outputs}; {', '.join(sorted(self.features)) or 'nothing else'}"

    def made(self, crawl):
        """The settings that a crawl has by this; one since an earlier crawl has that crawled first."""
        settings = {"OUTPUTS": " ".join(self.outputs)} if self.outputs else {}
        if "requisites" in self.features:
            settings["REQUISITES"] = True
        if "rendering" in self.features:
            settings["RENDER"] = "auto"
        if "process" in self.features:
            settings["CONTENT_SEEN"] = "process"
        if "http2" in self.features:
            settings["HTTP2"] = "prefer"
        if "store" in self.features:
            store = crawl.jobdir.with_name("store")
            store.mkdir()
            settings |= {
                "OUTPUT_STORE": f"file://{store}",
                "OUTPUT_STORE_KEEP": "moved to a store" not in self.features,
            }
        if "since" in self.features:
            earlier = type(crawl)(
                crawl.jobdir.with_name("earlier"), dict(crawl.arguments), crawl.settings
            )
            assert earlier.run() == 0, earlier.output.read_text()[-2000:]
            crawl.arguments["since"] = earlier.jobdir
        return settings


def drawn(chance):
    """One in four is only what changes from run to run; the others have half of all outputs, and
    some features.
    """
    outputs = [name for name in SOMETIMES if chance.random() < 0.5]
    features = {name for name in FEATURES if chance.random() < 0.3}
    if chance.random() < 0.25:
        return Makeup()
    if "moved to a store" in features:
        features.add("store")
    if "rendering" in features and not HAS_BROWSER:
        features.remove("rendering")
    if "documents" in features:
        features.remove("documents")
        outputs += ["documents"] * HAS_DOCUMENTS
    return Makeup([*ALWAYS, *outputs], features)


def in_words(settings):
    return " ".join(f"{name}={value}" for name, value in settings.items())
