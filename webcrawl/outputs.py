"""What a crawl can write, by the names that the setting OUTPUTS has for it: the one table of them.

Scrapy imports all these pipelines. Each looks whether it is in the checked value of OUTPUTS (`adapter/values.py`),
raises NotConfigured if not, and only then imports what is large. settings.py repeats them in ITEM_PIPELINES_BASE.
"""

from __future__ import annotations

WARC = "webcrawl.pipelines.warc.WarcPipeline", 100
PIPELINES = {  # the pipeline and its place; behind 200 come only new pages
    "warc": WARC,
    "cdxj": WARC,  # beside the archive
    "links": ("webcrawl.pipelines.link_log.LinkLogPipeline", 150),
    "tags": ("webcrawl.pipelines.tags.TagsPipeline", 212),
}
NAMES = tuple(PIPELINES)
BESIDE = {"cdxj": "warc"}  # what is written only together with something else
