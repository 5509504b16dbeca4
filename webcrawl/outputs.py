"""What a crawl can write, by the names that the setting OUTPUTS has for it: the one table of them.

Scrapy imports all these pipelines. Each looks whether it is in the checked value of OUTPUTS (`adapter/values.py`),
raises NotConfigured if not, and only then imports what is large. settings.py repeats them in ITEM_PIPELINES_BASE.
"""

from __future__ import annotations

WARC = "webcrawl.pipelines.warc.WarcPipeline", 100
TEXT = "webcrawl.pipelines.text.TextPipeline", 202
PIPELINES = {  # the pipeline and its place; behind 200 come only new pages
    "warc": WARC,
    "cdxj": WARC,  # beside the archive
    "links": ("webcrawl.pipelines.link_log.LinkLogPipeline", 201),
    "text": TEXT,
    "index": TEXT,  # made of the text
}
NAMES = tuple(PIPELINES)
BESIDE = {"cdxj": "warc"}  # what is written only together with something else
BRINGS = {"index": "text"}  # what is written with it, named or not: it is made of that
NEEDS = {"index": "tantivy"}  # a package that `pip install webcrawl[NAME]` brings, NAME being the output's
