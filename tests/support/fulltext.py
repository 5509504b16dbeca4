"""The text files and the index of a crawl, and nothing else of it."""

import gzip
import json

import tantivy

from tests.support.saving import prepared
from tests.support.warc_crawl import exchange
from webcrawl.base.model import Link
from webcrawl.content.page import Page
from webcrawl.record.fulltext import text_files
from webcrawl.record.fulltext.text_files import TextFiles
from webcrawl.record.fulltext.text_index import Indexer, open_index
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs


class Texts:
    """A database, its outputs, text files and, if wanted, the index; opened and closed together."""

    def __init__(self, root, disk=None, *, max_size=1 << 30, index=True):
        """Open all in a folder; `max_size` is that of a text file."""
        self.root = root
        self.db = CrawlDB(root / "state", disk)
        self.indexer = None
        try:
            self.outputs = Outputs(self.db, root, at_once=0)
            self.files = TextFiles(self.db, self.outputs, max_size)
            if index:
                self.indexer = Indexer(
                    self.db, root, self.files, lambda host: ".".join(host.split(".")[-2:])
                )
        except BaseException:
            self.close()
            raise

    def add(self, one):
        return self.files.add(lambda ordinal: text_files.page_line(one, ordinal))

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()
        if self.indexer is not None:
            self.indexer.committed()

    def wait(self):
        """Wait until the index has everything up to the last checkpoint."""
        if self.indexer._done is not None:
            self.indexer._worker.result(self.indexer._done)

    def stop(self):
        """End cleanly."""
        self.files.close()
        self.checkpoint()
        if self.indexer is not None:
            for _ in self.indexer.finish_work():
                pass
        self.close()

    def close(self):
        if self.indexer is not None:
            self.indexer.close()
        if hasattr(self, "outputs"):
            self.outputs.close()
        self.db.close()


def page(url="http://a.test/", body="<p>hello", content_type="text/html", **changes):
    """Return a page with this document, or text."""
    head = [(b"Content-Type", content_type.encode())]
    data = body if isinstance(body, bytes) else f"<meta charset=utf-8>{body}".encode()
    return Page.of(Link(url), exchange(url, data, headers=head, **changes))


def written(root):
    """Return all lines of the text files, finished or not."""
    found = []
    for path in sorted((root / "text").glob("*.jsonl.gz*")):
        with gzip.open(path) as file:
            found += map(json.loads, file)
    return found


def indexed(root):
    """Return number and URL of each page in the index, in the order of their numbers."""
    index = open_index(root / "index")
    searcher = index.searcher()
    hits = searcher.search(tantivy.Query.all_query(), 100_000).hits
    documents = [searcher.doc(address).to_dict() for _, address in hits]
    return sorted((one["ordinal"][0], one["url"][0]) for one in documents)
