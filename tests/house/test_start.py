"""What a plain crawl does not load: each of these would make every start slower."""

import subprocess
import sys

import pytest
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list

from tests.support.places import ROOT
from webcrawl import settings

pytestmark = pytest.mark.xdist_group("house")

COMPONENTS = [
    settings.SCHEDULER,
    settings.DOWNLOADER,
    settings.ITEM_PROCESSOR,
    settings.LOG_FORMATTER,
]
COMPONENTS += [*settings.EXTENSIONS_BASE, *settings.ITEM_PIPELINES_BASE, *settings.URL_FILTERS]
COMPONENTS += filter(None, settings.DOWNLOAD_HANDLERS_BASE.values())
OTHERS = {
    "aiohttp",
    "fsspec",
    "pyarrow",
    "redis",
    "requests",
    "tantivy",
    "tldextract",
    "trafilatura",
    "urllib3",
}
# without -a since=, a hive, archives to process, pages to render, a state to check, images to
# describe
UNUSED = {
    *(
        "webcrawl.adapter.archive_reading",
        "webcrawl.crawl.earlier_pages",
        "webcrawl.record.since.index",
        "webcrawl.record.archives",
    ),
    *(
        "webcrawl.adapter.hive_membership",
        "webcrawl.crawl.hive.drone",
        "webcrawl.crawl.hive.batch",
        "webcrawl.crawl.hive.outbox",
        "webcrawl.crawl.hive_parts",
    ),
    *("webcrawl.adapter.browser_on_need", "webcrawl.crawl.rendering"),
    *(
        "webcrawl.content.image_headers",
        "webcrawl.tools.verify_crawl",
        "webcrawl.record.warc.reader",
    ),
}


def test_a_plain_crawl_loads_what_it_needs():
    """With the components of the default settings, of which Scrapy imports the disabled ones too."""
    modules = {
        "webcrawl.adapter.preflight",
        "webcrawl.adapter.spiders.web",
        *(path.rpartition(".")[0] for path in COMPONENTS),
    }
    code = f"import sys, scrapy.cmdline, {', '.join(sorted(modules))}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    loaded = set(run.stdout.split())
    assert "webcrawl.crawl.assembly" in loaded
    assert loaded & (OTHERS | UNUSED) == set()


def test_extensions_of_the_users_stand_beside_the_crawls():
    """`-s EXTENSIONS=…` takes away neither checkpoints nor anything else; None switches one off by
    its name.
    """
    given = Settings()
    given.setmodule(settings)
    given.set(
        "EXTENSIONS",
        {"myproject.Mine": 500, "webcrawl.adapter.extensions.progress.Progress": None},
        "cmdline",
    )

    found = build_component_list(given.getwithbase("EXTENSIONS"))
    assert set(settings.EXTENSIONS_BASE) - set(found) == {
        "webcrawl.adapter.extensions.progress.Progress"
    }
    assert "myproject.Mine" in found
