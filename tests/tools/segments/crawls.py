"""JOBDIRs of crawls without a network: what was requested, and what was found."""

from contextlib import closing
from functools import cache

from scrapy.settings import Settings

from webcrawl.adapter.values import plain_values
from webcrawl.base.model import Link, Outcome
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.last_run import keep_terms, terms_of
from webcrawl.crawl.segments import FOLDER, FOUND, FoundLog
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.meta_row import CLEAN
from webcrawl.store.outputs import Outputs
from webcrawl.tools.segments.builder import SegmentBuilder
from webcrawl.tools.segments.earlier_crawl import earlier_crawls


@cache
def values(**settings):
    made = Settings()
    made.setmodule("webcrawl.settings")
    made.setdict({"SEEN_MEMORY": 16, **settings}, "cmdline")
    return plain_values(made, "web")


def link(url, via="http://s.test/", path="L"):
    return Link(url, path, via, "http://s.test/")


def crawled(jobdir, requested=(), found=(), *, clean=True, outputs=None, **settings):
    """A crawl that followed no links has asked for these, and found those: one page's links after
    the other.

    With None it has followed them. `outputs`: other finished files.
    """
    with closing(CrawlDB(jobdir / "state")) as db, closing(Outputs(db, jobdir)) as files:
        keep_terms(db, terms_of("web", {}, values(**settings)))
        if db.get("key") is None:
            db.set("key", bytes(16))
        log = CrawlLog(files.open("logs/crawl.log"))
        left = FoundLog(files.open(FOUND)) if found is not None else None
        for name, data in (outputs or {}).items():
            file = files.open(f"{name}.open")
            file.write(data)
            file.finish()
        for one in requested:
            log.finished(one if isinstance(one, Link) else link(one), Outcome(200, 0.1), None, [])
        for links in found or ():
            left.add([one.pack() if isinstance(one, Link) else link(one).pack() for one in links])
        db.set(CLEAN, b"1" if clean else b"")
        db.checkpoint()
    return jobdir


def builder(jobdir, disk=None, store="", **settings):
    return SegmentBuilder(
        jobdir / FOLDER, values(**settings), earlier_crawls(jobdir)[0], disk=disk, store=store
    )


def build(*jobdirs, most=1000, needed=10, disk=None, store="", **settings):
    """The URLs of the next segment, and what was taken."""
    with builder(jobdirs[0], disk, store, **settings) as made:
        if made.undelivered is None:
            made.read([left for jobdir in jobdirs for left in earlier_crawls(jobdir)])
            made.make(most, needed)
        urls = urls_of(made.segment_path(made.number)) if made.undelivered else []
        made.note_delivery()
        return urls


def urls_of(path):
    return [row.split(",")[1] for row in path.read_text().splitlines()[1:]]
