"""The outputs of a crawl, by the names that the setting OUTPUTS has for them.

A new output goes into this table, and into OUTPUTS of crawl/standalone.py for the library.

Scrapy imports all these pipelines. Each looks whether it is in the checked value of OUTPUTS
(`adapter/values.py`), raises NotConfigured if not, and only then imports what is large. settings.py
repeats them in ITEM_PIPELINES_BASE.
"""

from __future__ import annotations

from collections.abc import Iterable

WARC = "webcrawl.adapter.pipelines.outputs.WarcPipeline", 100
TEXT = "webcrawl.adapter.pipelines.outputs.TextPipeline", 202
DOCUMENTS = "webcrawl.adapter.pipelines.outputs.DocumentsPipeline", 217
PIPELINES = {  # the pipeline and its place; behind 200 come only new pages
    "warc": WARC,
    "cdxj": WARC,  # beside the archive
    "links": ("webcrawl.adapter.pipelines.outputs.LinkLogPipeline", 150),
    # This output has pages that were seen before, too
    "tables": ("webcrawl.adapter.pipelines.outputs.TablesPipeline", 199),
    "text": TEXT,
    "index": TEXT,  # made of the text
    "images": ("webcrawl.adapter.pipelines.outputs.ImagesPipeline", 211),
    "tags": ("webcrawl.adapter.pipelines.outputs.TagsPipeline", 212),
    "pagefiles": ("webcrawl.adapter.pipelines.outputs.PageFilesPipeline", 213),
    "neardup": ("webcrawl.adapter.pipelines.outputs.NearDuplicatesPipeline", 214),
    "changes": ("webcrawl.adapter.pipelines.outputs.ChangesPipeline", 198),
    "skipped": ("webcrawl.adapter.pipelines.outputs.SkippedPipeline", 215),
    "requests": ("webcrawl.adapter.pipelines.outputs.RequestsPipeline", 216),
    "documents": DOCUMENTS,
    "chunks": DOCUMENTS,  # of the documents
    "webhook": ("webcrawl.adapter.pipelines.outputs.WebHookPipeline", 218),
}
NAMES = tuple(PIPELINES)
# Outputs that `webcrawl process` cannot make
ONLY_FETCHED = frozenset(("warc", "cdxj", "requests", "skipped", "changes", "webhook"))
BESIDE = {"cdxj": "warc"}  # what is written only together with something else
# What is written with it, named or not: it is made of that
BRINGS = {"index": "text", "chunks": "documents"}
LIBRARIES = {  # what an output needs (base/loading.py)
    "tables": ("pyarrow",),
    "changes": ("pyarrow",),
    "index": ("tantivy",),
    **dict.fromkeys(("documents", "chunks"), ("pyarrow", "trafilatura", "resiliparse")),
}
# Outputs with the texts of PDFs, if pypdfium2 is installed
OF_PDFS = frozenset(("text", "index", "documents", "chunks"))
# Outputs for which links of all kinds are read from every page, with their texts
READ_LINKS = frozenset(("links", "tables"))


def own_outputs(outputs: Iterable[str]) -> list[str]:
    """Return the dotted paths of the user's own classes among these outputs."""
    return [name for name in outputs if name not in PIPELINES]
