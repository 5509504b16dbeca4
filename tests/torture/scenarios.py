"""What befalls the files of a crawl under way, and the connections that its servers accept."""

import os
import shutil
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random

PAGES_BEFORE, PATIENCE = 12, 5.0
ASIDE = ".aside"
FILES = (
    ".",
    "state",
    "state/crawl.db",
    "state/crawl.db-wal",
    "state/crawl.db-shm",
    "state/lock",
    "state/seen",
    "state/seen/url-*",
    "state/seen/content-*",
    "logs",
    "logs/crawl.log",
    "warc",
    "warc/*.open",
    "warc/*.gz",
    "stats.json",
)
FOLDERS = (".", "state", "state/seen", "logs", "warc")
HOWS = ("moved", "removed", "emptied", "a folder", "unreadable")


@dataclass
class Stroke:
    """One thing that happens to one file of a crawl that has some pages and a checkpoint."""

    what: str
    how: str
    path: object = None

    def __str__(self):
        return f"{self.how} {self.what}"

    @property
    def takes_archive(self):
        """Whether answers that are in the archive are gone for good."""
        return self.what.startswith("warc") and self.how in ("removed", "a folder")

    @property
    def index(self):
        """The archive's index that is gone for good, by the name that it would have in the end."""
        return (
            self.path.with_suffix("")
            if self.takes_archive and self.path and ".cdxj" in self.path.name
            else None
        )

    def strike(self, server, crawl, process):
        """Waits for the moment, then does it."""
        begun, end = server.log.count, time.monotonic() + PATIENCE
        while process.is_alive() and self.path is None and time.monotonic() < end:
            if (
                server.log.count - begun >= PAGES_BEFORE
                and "checkpoint in" in crawl.output.read_text()
            ):
                self._do(
                    min(crawl.jobdir.glob(self.what), default=None)
                    if self.what != "."
                    else crawl.jobdir
                )
            time.sleep(0.002)

    def _do(self, path):
        if path is None:
            return
        try:
            {
                "moved": self._move,
                "removed": self._remove,
                "emptied": lambda path: os.truncate(path, 0),
                "a folder": self._replace,
                "unreadable": lambda path: path.chmod(0),
            }[self.how](path)
            self.path = path
        except FileNotFoundError:
            return  # the crawl has removed it itself; another one will come

    def _move(self, path):
        path.rename(f"{path}{ASIDE}")

    def _remove(self, path):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # the crawl may write into it meanwhile
        else:
            path.unlink()

    def _replace(self, path):
        path.unlink()
        path.mkdir()

    def undo(self):
        """What was moved comes back, and replaces what has come in its place."""
        if self.path is None:
            return
        if self.how == "moved":
            if self.path.exists():
                self._remove(self.path)
            Path(f"{self.path}{ASIDE}").rename(self.path)
        elif self.how == "unreadable":
            self.path.chmod(0o700 if self.path.is_dir() else 0o600)
        elif self.how == "a folder" and self.path.is_dir():
            self.path.rmdir()


def strokes():
    """All that can happen here; nothing is unreadable for root."""
    for what, how in product(FILES, HOWS):
        if what in FOLDERS and how in ("emptied", "a folder"):
            continue
        if what == "warc/*.gz" and how != "moved":
            continue  # it is finished: whoever takes it takes no more than it
        if how == "unreadable" and os.geteuid() == 0:
            continue
        yield Stroke(what, how)


@dataclass
class Dropped:
    """A server short of descriptors: some of the connections that it accepts it ends at once, now
    and then.
    """

    share: float

    def __str__(self):
        return f"dropped {self.share:g}"

    def patch(self):
        """From now on; returns how to undo it."""
        from webcrawl.lab.simweb import web_server

        original, chance, share = web_server.Connection, Random(1), self.share

        class Connection(original):
            def connection_made(self, transport):
                super().connection_made(transport)
                if chance.random() < share:
                    transport.abort()

        web_server.Connection = Connection
        return lambda: setattr(web_server, "Connection", original)


DROPPED = [Dropped(share) for share in (0.05, 0.2)]
