"""Feeds seeds into the crawl as needed; the place in their lists is in the checkpoint."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import msgpack

from webcrawl.base.model import Link
from webcrawl.crawl.discovery import OtherDrones
from webcrawl.crawl.rules import needs_all_seeds
from webcrawl.frontier.seen.protocol import SeenStore
from webcrawl.store.crawldb import CrawlDB, Part
from webcrawl.urls.canonical import MAX_LENGTH
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.recent_urls import RecentUrls
from webcrawl.urls.seeds.seed_reader import Seed, Seeds
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR, SeedError

if TYPE_CHECKING:
    from webcrawl.crawl.ground import Ground

DAY = 86_400.0


class Absence(NamedTuple):
    """A server that does not answer."""

    server: str  # what it is to the crawl
    since: float  # seconds since 1970


class AwayServers:
    """The servers from which the crawl gets URLs, as far as they do not answer now."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        # one function per server; it returns None while the server answers
        self._absence_checks: list[Callable[[], Absence | None]] = []

    def watch(self, absence: Callable[[], Absence | None]) -> None:
        """Ask this function, too, from now on; it returns None while its server answers."""
        self._absence_checks.append(absence)

    @property
    def names(self) -> str:
        """Return the servers that do not answer; empty if all do."""
        return " and ".join(absence.server for absence in self._absences())

    def __str__(self) -> str:
        """Return for which servers the crawl waits, and since when; empty if all answer."""
        servers = [
            f"{absence.server}, which has not answered since {self._moment(absence.since)}"
            for absence in self._absences()
        ]
        return f"waits for {' and '.join(servers)}" if servers else ""

    def _absences(self) -> list[Absence]:
        absences = [check() for check in self._absence_checks]
        return [absence for absence in absences if absence is not None]

    def _moment(self, at: float) -> str:
        """Return a time for a message, without the date if that was less than a day ago."""
        form = "%H:%M:%S" if self._clock() - at < DAY else "%Y-%m-%d %H:%M:%S"
        return time.strftime(form, time.localtime(at))


logger = logging.getLogger(__name__)

META = "seeds"
MORE = "seeds/more"  # sources that came by command
SEEDS_REMEMBERED = 1 << 12  # seeds that are remembered


class Seeding(Part):
    """Reads seeds in batches, as far as the crawl needs them.

    A *source* is a list of seeds: that of the command line, which is read first, or one that a
    command has added while the crawl ran. `all_first`: nothing is fetched until all are read, for
    with the scope `seeds` they say which links are inside.
    """

    def __init__(
        self,
        db: CrawlDB,
        seeds: Seeds | None,
        pipeline: LinkPipeline,
        seen: SeenStore,
        *,
        all_first: bool = False,
        in_turns: bool = False,
        longest: int = MAX_LENGTH,
        other_drones: OtherDrones | None = None,
    ) -> None:
        """Go on to read seeds where the last checkpoint was.

        `seeds`: the list of the command line; None without one.
        `pipeline`: filters seeds, and gives them their canonical form.
        `seen`: decides which seeds are new.
        `all_first`: all are read before anything is fetched.
        `in_turns`: each list is a segment that follows the last run's.
        `longest`: characters of a URL.
        `other_drones`: get the seeds whose hosts are theirs, in a hive.
        """
        self._db = db
        self._pipeline = pipeline
        self._seen = seen
        self._of_command_line = seeds
        self._next_of_command_line = seeds  # None once its turn has come
        self._longest = longest
        # sources by command that are not read to their ends
        self._of_commands: dict[str, Seeds] = {}
        # good and bad seeds of the sources by command that are read to their ends
        self._read_counts = [0, 0]
        self._sources_done: list[str] = []  # by command, read to their ends
        # sources by command that cannot be read to their ends now, and how far they were read
        self._sources_lost: dict[str, bytes] = {}
        self.waits = False  # for what our machine lacks to read on
        # seeds of this run: a checkpoint may not have them yet
        self.lately = RecentUrls(SEEDS_REMEMBERED)
        position = db.get(META)
        if seeds is not None and position is not None:
            seeds.resume(position, in_turns=in_turns)
        self._all_first = all_first
        self._other_drones = other_drones
        self._restore()
        self._seeds = self._next_source()  # the source that is read now
        self.ended = self._seeds is None
        db.join(self)

    @classmethod
    def open(cls, ground: Ground) -> Self:
        """Return the seeding of the crawl that stands on this ground."""
        values, around = ground.values, ground.around
        return cls(
            ground.db,
            around.seeds,
            ground.pipeline,
            ground.seen,
            all_first=around.frontier is not None or needs_all_seeds(values),
            in_turns=not values["URL_FOLLOW"],
            longest=values["URL_MAX_LENGTH"],
            other_drones=ground.drone,
        )

    def _restore(self) -> None:
        """Open the sources by command that earlier runs have not read to their ends."""
        data = self._db.get(MORE)
        if data is None:
            return
        self._read_counts, self._sources_done, places = msgpack.unpackb(data)
        for source, place in places.items():
            self._reopen(source, place)

    def _reopen(self, source: str, place: bytes) -> None:
        """Open a source by command of a former run, which may have gone since; log it if so.

        `place`: how far it was read; empty: from the beginning.
        """
        try:
            seeds = self._seeds_of(source)
            if place:
                seeds.resume(place)
        except (SeedError, OSError) as error:
            logger.error("seeds added by command cannot be read: %s: %s", source, error)  # noqa: TRY400 - one line
            self._sources_lost[source] = place
        else:
            self._of_commands[source] = seeds

    def _seeds_of(self, source: str) -> Seeds:
        """Return the reader of a source; raise SeedError or OSError if it cannot be opened."""
        # The path of a file below JOBDIR is kept without it, because JOBDIR may be moved.
        if source.startswith(BELOW_JOBDIR):
            jobdir, place = self._db.folder.parent, source.removeprefix(BELOW_JOBDIR)
            if self._other_drones is not None and not (jobdir / place).exists():
                jobdir = jobdir.parent  # the hive's, for all of its drones
            source = str(jobdir / place)
        return Seeds(source, None, self._longest)

    def add(self, *sources: str) -> None:
        """Read these sources, too, after those before.

        Raise SeedError or OSError if one cannot be opened: then none is read.
        """
        new = [source for source in sources if source not in self._of_commands]
        # All are opened before one is added: if one cannot be, the command has had no effect.
        self._of_commands |= {source: self._seeds_of(source) for source in new}
        for source in sources:
            self._sources_lost.pop(source, None)
        if self.ended:
            self._seeds = self._next_source()
            self.ended = False

    def _next_source(self) -> Seeds | None:
        """Return the source to be read now: the seeds of the command line first."""
        of_command_line = self._next_of_command_line
        self._next_of_command_line = None
        if of_command_line is not None:
            return of_command_line
        return next(iter(self._of_commands.values()), None)

    def _end_source(self) -> None:
        """Note that the source that was read is at its end, and go on with the next.

        A source by command with a list that could not be read to the end is kept for the next run.
        """
        for source, seeds in self._of_commands.items():
            if seeds is self._seeds:
                if seeds.unread:
                    self._sources_lost[source] = seeds.position
                else:
                    good, bad = self._read_counts
                    self._read_counts = [good + seeds.taken, bad + seeds.bad]
                    self._sources_done.append(source)
                del self._of_commands[source]
                break
        self._seeds = self._next_source()
        self.ended = self._seeds is None

    @property
    def taken(self) -> int:
        return self._read_counts[0] + sum(seeds.taken for seeds in self._sources())

    @property
    def former(self) -> str:
        """Return the former run's seeds of the command line, if those of now are others."""
        return self._of_command_line.former if self._of_command_line is not None else ""

    @property
    def bad(self) -> int:
        return self._read_counts[1] + sum(seeds.bad for seeds in self._sources())

    @property
    def away(self) -> int:
        """Return the number of sources that this run cannot read, or not to the end.

        What they still have is not lost.
        """
        unread_lists = self._of_command_line.unread if self._of_command_line is not None else 0
        return len(self._sources_lost) + unread_lists

    def _sources(self) -> Iterator[Seeds]:
        if self._of_command_line is not None:
            yield self._of_command_line
        yield from self._of_commands.values()

    @property
    def first(self) -> bool:
        """Return whether the crawl must wait until all seeds are read."""
        return self._all_first and not self.ended

    def read(self, most: int) -> bool:
        """Submit up to `most` further seeds; return False when there are no more."""
        seeds = list(self._next(most))
        keys, passed = self._judged(self._starts(seeds))
        links = [Link(url, seed=url) for url in passed]
        # If all seeds have passed as starts, none is a link of a segment: no second look at them.
        of_segment = list(_of_segment(seeds)) if len(links) < len(seeds) else []
        if of_segment:
            links += of_segment
            keys = [*keys, *self._pipeline.keys([link.url for link in of_segment])]
        urls = [link.url for link in links]
        records: Sequence[bytes] = [link.pack() for link in links]
        if self._other_drones is not None:  # each drone reads all, and keeps its own
            keys, records = self._other_drones.keep_seeds(keys, urls, records)
        self._seen.submit(keys, records)
        self.lately.add(urls)
        return bool(seeds)

    def _judged(self, starts: Sequence[str]) -> tuple[Sequence[int], Sequence[str]]:
        """Return fingerprints and URLs of the starts that pass the filters.

        All drones of a hive judge all starts; each counts what the filters drop of its own.
        """
        drones = self._other_drones
        if drones is None:
            keys, passed, _ = self._pipeline.process("", 0, starts)
            return keys, passed
        ours: list[str] = []
        theirs: list[str] = []
        for url in starts:
            (ours if drones.is_ours(url) else theirs).append(url)
        keys, passed, _ = self._pipeline.process("", 0, ours)
        their_keys, their_passed, _ = self._pipeline.process("", 0, theirs, is_counted=False)
        return [*keys, *their_keys], [*passed, *their_passed]

    def _starts(self, seeds: Sequence[Seed]) -> list[str]:
        """Return the URLs of the seeds that the filters judge.

        A link of a segment passed the filters when it was found, and is not judged again. But the
        seeds that it was found from say what is inside.
        """
        if self._all_first:
            starts = dict.fromkeys(link.seed for link in _of_segment(seeds) if link.seed)
            # For the filter of the scope, which learns from seeds that pass it.
            self._pipeline.process("", 0, list(starts))
        return [seed.url for seed in seeds if seed.found is None]

    def _next(self, most: int) -> Iterator[Seed]:
        """Yield up to `most` seeds, from one source after the other.

        A bad line is logged; if our machine lacks something, reading stops, and `waits` is set.
        """
        while self._seeds is not None and not self.ended and most:
            try:
                seed = next(self._seeds)
            except StopIteration:
                self._note_no_lack()
                self._end_source()
            except SeedError as error:  # go on with the next list
                logger.error("%s", error)  # noqa: TRY400 - one line, no traceback
            except OSError as error:  # a lack of our machine's, not of the list
                if not self.waits:
                    logger.warning("seeds cannot be read for the moment: %s", error)
                self.waits = True
                return
            else:
                self._note_no_lack()
                most -= 1
                yield seed

    def _note_no_lack(self) -> None:
        """Note that what our machine lacked to read seeds is there again."""
        if self.waits:
            logger.info("seeds can be read again")
        self.waits = False

    def again(self) -> None:
        """Read all seeds once more: in a hive some may have become this drone's."""
        self._read_counts = [0, 0]
        sources_before = [*self._sources_done, *self._sources_lost]
        self._sources_done = []
        self._sources_lost = {}
        # Those that are away, too, from their beginning: what they have may be ours by now.
        for source in sources_before:
            self._reopen(source, b"")
        for seeds in self._sources():
            seeds.restart()
        self._next_of_command_line = self._of_command_line
        self._seeds = self._next_source()
        self.ended = self._seeds is None

    def save(self) -> None:
        """Write how far each source was read, as part of a checkpoint."""
        if self._of_command_line is not None:
            self._db.set(META, self._of_command_line.position)
        places = dict(self._sources_lost)
        for source, seeds in self._of_commands.items():
            places[source] = seeds.position
        # An earlier row is replaced even if nothing is left: else its sources would be read again.
        has_row = self._db.get(MORE) is not None
        if places or any(self._read_counts) or has_row:
            self._db.set(MORE, msgpack.packb([self._read_counts, self._sources_done, places]))

    def close(self) -> None:
        for seeds in self._sources():
            seeds.close()


def _of_segment(seeds: Sequence[Seed]) -> Iterator[Link]:
    """Yield the links among these that pages of an earlier segment had.

    A segment is a list of URLs that a crawl fetches without following links.
    """
    for seed in seeds:
        if seed.found is not None:
            path, via, first_seed, chain = seed.found
            yield Link(seed.url, path, via, first_seed, chain=chain)
