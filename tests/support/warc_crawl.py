"""A crawl that only writes its archive, and the exchanges for it."""

import random

from tests.support.saving import prepared
from webcrawl.base.model import Exchange, Link, PageState, Timings
from webcrawl.record.warc.warc_writer import WarcFiles, WarcWriter
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs

NOW = 1_700_000_000.25  # 2023-11-14T22:13:20.250Z
INFO = {"software": "webcrawl/0", "robots": "obey"}


class Archive:
    """A database, its outputs and a WarcWriter, opened and closed together."""

    def __init__(self, root, disk=None, *, seed=1, queue=None, **options):
        """Open all in a folder; `options` are those of WarcFiles."""
        self.root = root
        self.db = CrawlDB(root / "state", disk)
        try:
            self.outputs = Outputs(self.db, root, at_once=0)
            files = WarcFiles(**{"prefix": "test", "max_size": 1 << 30, "info": INFO, **options})
            self.writer = WarcWriter(
                self.db,
                self.outputs,
                files,
                random=random.Random(seed),
                clock=lambda: NOW,
                queue=queue,
            )
        except BaseException:
            self.db.close()
            raise

    def write(self, exchange, link=None, *, duplicate=False, **metadata):
        return self.writer.write(
            link or Link(exchange.url), exchange, duplicate=duplicate, metadata=metadata
        )

    def checkpoint(self):
        prepared(self.db)
        self.db.checkpoint()

    def stop(self):
        """End cleanly."""
        self.writer.close()
        self.checkpoint()
        self.close()

    def close(self):
        self.outputs.close()
        self.db.close()


def files(root):
    return sorted((root / "warc").glob("*.warc.gz*"))


def indexes(root):
    return sorted((root / "warc").glob("*.cdxj*"))


def exchange(url="http://a.test/", body=b"<p>hello", *, head=None, wire=None, **changes):
    """Return an exchange whose answer has no codings, unless the arguments say otherwise."""
    request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
    if head is None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(
            body
        )
    values = {
        "url": url,
        "request": request,
        "status": 200,
        "head": head,
        "headers": [(b"Content-Type", b"text/html")],
        "wire": body if wire is None else wire,
        "payload": body,
        "body": body,
        "ip": "127.0.0.1",
        "started": NOW,
        "timings": Timings(total=0.1234),
    }
    found = {name: changes.pop(name) for name in [*changes] if hasattr(PageState, name)}
    return Exchange(**{**values, **changes}, state=PageState(**found))


def chunked(url, body, size=10):
    """Return the same exchange with an answer in chunks."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    wire = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return exchange(url, body, head=head, wire=wire)
