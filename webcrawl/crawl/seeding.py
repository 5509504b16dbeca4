"""Feeds seeds into the crawl as it needs them; the position in the seed lists is part of the checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from webcrawl.crawl.elsewhere import Elsewhere
from webcrawl.model import Link
from webcrawl.seeds.errors import SeedError
from webcrawl.seeds.reader import Seeds
from webcrawl.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB
from webcrawl.urls.pipeline import LinkPipeline

logger = logging.getLogger(__name__)

META = "seeds"


class Seeding:
    """Reads seeds in batches, as far as the crawl needs them.

    `all_first`: nothing is fetched until all are read, for with the scope `seeds` they say which links are inside.
    """

    def __init__(
        self,
        db: CrawlDB,
        seeds: Seeds | None,
        pipeline: LinkPipeline,
        seen: SeenStore,
        *,
        all_first: bool = False,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._db, self._seeds, self._pipeline, self._seen = db, seeds, pipeline, seen
        self.ended = seeds is None
        self.waits = False  # for what our machine lacks to read on
        self._all_first, self._elsewhere = all_first, elsewhere
        position = db.get(META)
        if seeds is not None and position is not None:
            seeds.resume(position)
        db.join(self)

    def __repr__(self) -> str:
        return f"<Seeding taken={self._seeds.taken if self._seeds else 0} ended={self.ended}>"

    @property
    def taken(self) -> int:
        return self._seeds.taken if self._seeds is not None else 0

    @property
    def bad(self) -> int:
        return self._seeds.bad if self._seeds is not None else 0

    @property
    def first(self) -> bool:
        """Whether the crawl must wait until all seeds are read."""
        return self._all_first and not self.ended

    def read(self, most: int) -> bool:
        """Submits the next seeds; False when there are no more."""
        urls = list(self._next(most))
        found = self._pipeline.process("", 0, urls)
        if self._elsewhere is not None:  # each drone reads all, and keeps its own
            found = [one for one in found if self._elsewhere.is_ours(one[1])]
        records = [Link(url, seed=url).pack() for _, url, _ in found]
        self._seen.submit([key for key, _, _ in found], records)
        return bool(urls)

    def _next(self, most: int) -> Iterator[str]:
        while self._seeds is not None and not self.ended and most:
            try:
                url = next(self._seeds).url
            except StopIteration:
                self.ended = True
            except SeedError as error:  # go on with the next list
                logger.error("%s", error)  # noqa: TRY400 - one line, no traceback
            except OSError as error:  # a lack of our machine's, not of the list
                if not self.waits:
                    logger.warning("no more seeds for the moment: %s", error)
                self.waits = True
                return
            else:
                self.waits = False
                most -= 1
                yield url

    def again(self) -> None:
        """Reads all seeds once more: some may have become ours."""
        if self._seeds is not None:
            self._seeds.restart()
            self.ended = False

    def prepare(self) -> Iterator[None]:
        return iter(())

    def save(self) -> None:
        if self._seeds is not None:
            self._db.set(META, self._seeds.position)

    def close(self) -> None:
        if self._seeds is not None:
            self._seeds.close()
