"""Output files beside their database, and nothing else of a crawl."""

from tests.support.saving import prepared
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs


class Crawl:
    """A database and its outputs, opened and closed together."""

    def __init__(self, root, disk=None, *, at_once=0):
        self.root = root
        self.db = CrawlDB(root / "state", disk)
        try:
            self.outputs = Outputs(self.db, root, at_once=at_once)
        except BaseException:
            self.db.close()
            raise

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()

    def noted(self):
        """The length of each file in the open transaction."""
        return dict(self.db.query("SELECT path, length FROM output"))

    def close(self):
        self.outputs.close()
        self.db.close()
