"""A store in memory that can be away, lie or lose, and crawls that finish files for it."""

import time

from tests.support.outputs import Crawl
from webcrawl.record.objectstore.storing import FileStorage

ADDRESS = "test://store/crawl"


class FakePlace:
    """An object store that keeps files in a dictionary.

    `away` is raised by every call. `most_bytes` is the number of bytes of a file that arrive, at
    most.
    """

    def __init__(self):
        self.files, self.sent, self.removed = {}, [], []
        self.away, self.most_bytes, self.sums = None, None, {}
        self.on_piece = lambda name: None
        self.keeps_part = False  # of an upload that fails

    def _answer(self):
        if self.away is not None:
            raise self.away

    def check(self):
        self._answer()

    def size(self, name):
        self._answer()
        return len(self.files[name]) if name in self.files else None

    def put(self, name, size, pieces, *, new):
        """Take a file in pieces. Raise FileExistsError if it is there and must be new."""
        self._answer()
        data = b""
        try:
            for piece in pieces:
                data += piece
                self.on_piece(name)
                self._answer()
        except BaseException:
            if self.keeps_part:
                self.files[name] = data
            raise
        if new and name in self.files:
            raise FileExistsError(name)
        self.sent.append(name)
        self.files[name] = data[: self.most_bytes]

    def etag(self, name):
        self._answer()
        return self.sums.get(name, "")

    def read(self, name):
        self._answer()
        yield self.files[name]

    def remove(self, name):
        self._answer()
        self.removed.append(name)
        self.files.pop(name, None)


class StoredCrawl(Crawl):
    """Outputs of a crawl that has a store; its time is `now`."""

    def __init__(self, root, place, *, keep=True, disk=None, address=ADDRESS):
        """Open the outputs; `keep` says whether sent files stay."""
        super().__init__(root, disk)
        self.place, self.now, self.hurries = place, 1000.0, False
        self.storing = FileStorage(
            self.db,
            self.outputs,
            root=root,
            address=address,
            keep=keep,
            open_folder=lambda: place,
            is_stopping=lambda: self.hurries,
            clock=self._clock,
            now=lambda: 1_700_000_000.0,
        )

    def _clock(self):
        return self.now

    def finish(self, name="warc/a.warc.gz", data=b"record"):
        """End a file now; the next checkpoint notes it, and the one after gives it its name."""
        output = self.outputs.open(f"{name}.open")
        output.write(data)
        output.finish()

    def checkpoint(self):
        super().checkpoint()
        self.storing.committed()

    def sent(self):
        """Wait until the thread has done what it was given."""
        jobs = [*self.storing._jobs.values(), *self.storing._removals.values()]
        for job in jobs:
            while not self.storing._sender.done(job):
                time.sleep(0.0005)

    def rounds(self, number=4):
        """Take checkpoints, each after the sending that the last one began."""
        for _ in range(number):
            self.checkpoint()
            self.sent()

    def rest(self, tick=1.0):
        """End the crawl by a clock that goes on by `tick` in each slice that waits for the
        store.
        """
        for pause in self.storing.finish_work():
            self.now += tick if pause is not None else 0.0
            time.sleep(0.0005)

    def close(self):
        self.storing.close()
        super().close()
