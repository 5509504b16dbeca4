"""A crawl's JOBDIR, opened for questions about URLs in one read transaction, without a lock.

Frontier, robots.txt rules and sheets are the crawl's own classes, on the checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, TypeVar

from webcrawl.base.errors import RulesError
from webcrawl.base.loading import load
from webcrawl.base.readable import count
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.base.url_text import host_of
from webcrawl.crawl.control.in_force import META as IN_FORCE
from webcrawl.crawl.control.in_force import PausedHosts
from webcrawl.crawl.control.sheets import BUDGET, OF_HOST, Sheets, without_conflict
from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.member import IDENTITY, MAP, unpack_identity
from webcrawl.crawl.hive.partition import (
    Partition,
    SlotFingerprints,
    SlotMap,
    partition_of,
)
from webcrawl.crawl.last_run import FOLLOW, ON
from webcrawl.crawl.rendering.deciding import Need
from webcrawl.crawl.rules import allowance_of, own_of, rules_of
from webcrawl.frontier.allowances import Allowance
from webcrawl.frontier.booking import HostTerms
from webcrawl.frontier.core import BIAS, Core, Rules, Shape
from webcrawl.frontier.host_inspection import HostInspection
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.frontier.prioritizers import Popularity
from webcrawl.frontier.prioritizers.focus import ByFocus
from webcrawl.frontier.seen.sorted_keys import opened
from webcrawl.frontier.state import LEARNT, POPULARITY, read_core
from webcrawl.net.robots import agent_of
from webcrawl.net.robots_book import RobotsBook
from webcrawl.record.objectstore.storing import stored_files_at_checkpoint
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.disk import regular
from webcrawl.store.host_table import HostTable
from webcrawl.store.jobdir import meta_row
from webcrawl.store.jobdir.crawl_line import LOG as CRAWL_LOG
from webcrawl.store.jobdir.index_line import INDEX
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.log_lines import LINKS_LOG, SKIPPED_LOG
from webcrawl.store.jobdir.outputs import lengths
from webcrawl.store.jobdir.snapshot import SavedDB
from webcrawl.tools.optout_records import records_as_saved
from webcrawl.tools.why.file_search import ArchiveIndexes, LogFile
from webcrawl.tools.why.places import SeenSnapshot
from webcrawl.tools.why.saved_settings import values_for, values_of
from webcrawl.tools.why.url_rules import CanonicalForm, CrawlFilters, form_of
from webcrawl.urls.exclusion_rules import COMMAND
from webcrawl.urls.foldings import Folding, read_host_rules
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.url_fingerprint import Fingerprints

MIB = 1 << 20
FRONTIER_BYTES = 32 * MIB  # of memory for the frontier that is opened
MAX_HOSTS = 500_000  # looked through for one of a domain: half a second
PartT = TypeVar("PartT")


class OpenedCrawl:
    """One crawl, as of its last checkpoint.

    `notes` are lines for the user about what could not be read. `clock_ahead` are the seconds that
    the machine's clock shows beyond the crawl's.
    """

    def __init__(self, jobdir: Path, trusted: Container[str] = ()) -> None:
        """Open the crawl. Raise StoreError or OSError if its state cannot be read.

        `trusted`: code beyond webcrawl's own that its settings may name.
        """
        JobDir.open(jobdir)
        self.jobdir = jobdir
        self._trusted = trusted
        self.is_complete = True  # none of its logs is missing, nor another drone of its hive
        # the crawl runs: what it wrote since its last checkpoint counts too
        self.is_running = False
        self.domains = RegisteredDomains()
        self._closing = ExitStack()
        snapshot, files = opened(jobdir / "state")
        self.snapshot = snapshot
        self._closing.callback(self.snapshot.close)
        self._closing.callback(files.close)
        try:
            self.seen = SeenSnapshot(self.snapshot, files)
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    def _read(self) -> None:
        """Read the settings, the times and the lengths of files; note which logs are not whole."""
        snapshot = self.snapshot
        self.notes: list[str] = [*self.seen.notes]
        self.terms = meta_row.terms(snapshot)
        self.in_force: dict[str, Any] = meta_row.value(
            snapshot, IN_FORCE, meta_row.mapping, dict[str, Any]()
        )
        ordered = self.in_force.get("set")  # settings that were changed by command
        if not isinstance(ordered, Mapping):
            ordered = {}
        self.values = values_of(self.terms, ordered, self._trusted, self.notes)
        self.key = meta_row.key(snapshot)
        checkpoint_time, clock_ahead = meta_row.times(snapshot)
        self.checkpoint_time = checkpoint_time
        self.clock_ahead = clock_ahead
        self.outputs = lengths(snapshot)
        for name in (CRAWL_LOG, SKIPPED_LOG, LINKS_LOG):
            shortfall = self._shortfall_of(name)
            if shortfall:
                self.notes.append(f"{name}: {shortfall}")
                self.is_complete = False

    def _shortfall_of(self, name: str) -> str:
        """Return, in words, what this log lacks of what the last checkpoint noted; empty if nothing."""
        noted = self.outputs.get(name, 0)
        if not noted:
            return ""
        try:
            with regular(self.jobdir / name) as file:
                there = os.fstat(file.fileno()).st_size
        except OSError as error:
            return f"{error.strerror}: its information is missing here"
        # Of a log that was shortened `why` once said that no page links to a URL, without a note.
        if there >= noted:
            return ""
        return (
            f"it ends {count(noted - there, 'byte')} too early: their information is missing here"
        )

    # -- the crawl's own parts, opened on the checkpoint

    def _part(self, name: str, make: Callable[[CrawlDB], PartT]) -> PartT:
        """Open a part of the crawl. Raise DamagedFile, with this name, if its state is damaged."""
        try:
            return make(SavedDB(self.snapshot))
        except meta_row.UNREADABLE as error:
            raise self.snapshot.damaged(f"{name}: {error!r}") from error

    @cached_property
    def sheets(self) -> Sheets:
        """Return the settings of single hosts, which were given by command."""
        return self._part("sheets", Sheets)

    def values_for(self, host: str) -> CheckedSettings:
        return values_for(host, self.values, self.sheets)

    @cached_property
    def _rules(self) -> Rules:
        return rules_of(self.values, self.domains, self.key)

    @cached_property
    def core(self) -> Core:
        """Return the frontier; no host of it is active."""
        shape = Shape(self.values["FRONTIER_LEVELS"], BIAS, FRONTIER_BYTES)
        core = self._part("frontier", partial(read_core, shape=shape, rules=self._rules))
        core.deferred.held.update(self._part("hosts paused", PausedHosts).names)
        host_settings = {*OF_HOST}
        if self.values["POLITENESS_PER_IP"]:  # an address has one request, whatever its hosts are
            host_settings.discard("HOST_CONNECTIONS")
        self.sheets.listen(
            host_settings, self._host_terms_of, partial(setattr, core.book, "host_terms")
        )
        self.sheets.listen([BUDGET], self._allowance_of, core.queues.budgets.set_overrides)
        return core

    def _host_terms_of(self, own: Mapping[str, Any]) -> HostTerms:
        return own_of(without_conflict(with_values(self.values, own)))

    def _allowance_of(self, own: Mapping[str, Any]) -> Allowance:
        return allowance_of(with_values(self.values, own))

    @cached_property
    def inspection(self) -> HostInspection:
        return HostInspection(self.core)

    @cached_property
    def robots(self) -> RobotsBook | None:
        """Return the rules of robots.txt files, or None if the last run did not read them."""
        if not self.values["ROBOTSTXT_OBEY"]:
            return None
        return RobotsBook(self._part("robots", RobotsRows), agent_of(self.values))

    @cached_property
    def focus(self) -> ByFocus | None:
        """Return the crawl's prioritizer if it scores pages, with what it has learnt; else None."""
        prioritizer = self._rules.prioritizer
        if not isinstance(prioritizer, ByFocus):
            return None
        table = Popularity(self.key, self.values["FRONTIER_MEMORY"] * MIB // LEARNT)
        meta_row.value(self.snapshot, POPULARITY, table.restore, None)
        prioritizer.learn(table)
        return prioritizer

    @cached_property
    def _rendering(self) -> HostTable[Need] | None:
        if not self.snapshot.has("rendering"):
            return None
        return HostTable(SavedDB(self.snapshot), "rendering", Need, Need.unpack)

    def rendering(self, host: str) -> str:
        """Return, in words, what a browser has shown of a host; empty if nothing."""
        need = self._rendering.get(host) if self._rendering is not None else None
        return need.in_words() if need is not None else ""

    @property
    def output_kinds(self) -> list[str]:
        """Return the OUTPUTS of the last run."""
        return self.terms.get("OUTPUTS", "").split(", ")

    @cached_property
    def stored_files(self) -> dict[str, str]:
        """Return the files of which a store has verified copies: their addresses by name."""
        files, _ = stored_files_at_checkpoint(self.snapshot)
        return {name: f"{file.address}/{name}" for name, file in files.items() if not file.is_taken}

    @property
    def has_stored_indexes(self) -> bool:
        """Return whether a store has indexes of the archive."""
        return any(name.endswith(INDEX) for name in self.stored_files)

    def unnoted_links(self, *, notes_links: bool) -> Iterator[str]:
        """Yield a line about links of pages that have too many, which no output notes.

        `notes_links`: an output has the links of pages, followed or not.
        """
        tallies = meta_row.value(
            self.snapshot, meta_row.COUNTERS, meta_row.mapping, dict[str, Any]()
        )
        counters = tallies.get("crawl", {})
        cut = counters.get("links/cut", 0)
        if cut and not notes_links:
            yield (
                "links that were not followed, because their pages have too many (links_cut in "
                f"crawl.log): none of {cut:,}"
            )
        unlogged = counters.get("links/unlogged", 0)
        if unlogged:
            yield f"links without room in {LINKS_LOG}: none of {unlogged:,}"

    # -- URLs

    @cached_property
    def filters(self) -> CrawlFilters:
        """Return the crawl's filters, with what they had learned by the last checkpoint."""
        learned = meta_row.value(
            self.snapshot, meta_row.FILTERS, meta_row.mapping, dict[str, Any]()
        )
        excluded = [
            record for record in records_as_saved(self.snapshot) if record.source == COMMAND
        ]
        return CrawlFilters(
            self.values, self.key, self.domains, learned, excluded, self.sheets, self._trusted
        )

    @cached_property
    def _foldings(self) -> list[Folding]:
        foldings: list[Folding] = []
        path = self.values["URL_HOST_RULES"]
        if path:
            try:
                foldings.append(read_host_rules(Path(path)))
            except RulesError as error:
                self.notes.append(str(error))
        return [*foldings, *map(load, self.values["URL_FOLDINGS"])]

    def form(self, text: str) -> CanonicalForm:
        """Return the form in which this crawl knows a URL."""
        return form_of(text, self.values["URL_MAX_LENGTH"], self._foldings)

    def domain_of(self, url: str) -> str:
        return self.domains(host_of(url))

    @cached_property
    def _fingerprints(self) -> Fingerprints:
        if self.slot_map is None:
            return Fingerprints(self.key)
        partition = self._partition(self.slot_map)
        return SlotFingerprints(self.key, partition.slot, partition.slots)

    def seen_keys(self, forms: Collection[CanonicalForm]) -> list[int]:
        """Return the keys by which the seen store knows these URLs."""
        return self._fingerprints([form.compared for form in forms], [form.url for form in forms])

    # -- a hive's

    @cached_property
    def slot_map(self) -> SlotMap | None:
        """Return the map of which drone has which hosts; None if none is known, or for no hive."""
        if not self.snapshot.get(IDENTITY):
            return None
        return meta_row.value(self.snapshot, MAP, SlotMap.unpack, None)

    def owner(self, url: str) -> int | None:
        """Return the drone to which the URL belongs; None if that is not known, or for no hive."""
        if self.slot_map is None:
            return None
        return self.slot_map.owners[self._partition(self.slot_map).slot(host_of(url))]

    def other_owner(self, url: str) -> int | None:
        """Return the drone to which the URL belongs, if that is known and is not this drone."""
        identity = unpack_identity(self.snapshot.get(IDENTITY))
        owner = self.owner(url) if url else None
        return None if identity is None or owner == identity.drone else owner

    def _partition(self, slots: SlotMap) -> Partition:
        """Return how the hosts are divided among these slots.

        Raise DamagedFile if the map has another number of slots than HIVE_PARTITION says.
        """
        try:
            return partition_of(self.values["HIVE_PARTITION"], self.domains).with_slots_of(slots)
        except HiveError as error:
            raise self.snapshot.damaged(f"table meta, {MAP}: {error}") from error

    # -- files

    def log(self, name: str) -> LogFile:
        """Return one of the logs, up to where the last checkpoint has it unless the crawl runs."""
        length = None if self.is_running else self.outputs.get(name, 0)
        if name == CRAWL_LOG:
            return LogFile(self.jobdir, name, length, column=3, separator=b" ")
        # all others have tabs between their fields
        return LogFile(self.jobdir, name, length, column=2, separator=b"\t")

    def has_output(self, name: str) -> bool:
        return name in self.outputs or (self.is_running and (self.jobdir / name).exists())

    @property
    def follows_links(self) -> bool:
        """Return whether found links are crawled, and not left for a later segment."""
        return self.terms.get(FOLLOW, ON) == ON

    @property
    def indexes(self) -> ArchiveIndexes:
        return ArchiveIndexes(self.jobdir, self.outputs, is_running=self.is_running)

    @cached_property
    def _first_page(self) -> str:
        """Return the first page in the log that is no robots.txt; empty if there is none."""
        for line in self.log(CRAWL_LOG).first_lines():
            if not line.is_prerequisite:
                return line.url
        return ""

    def page_of_another_host(self, host: str) -> str:
        """Return the crawl's first page if that is of another host than this one, else nothing."""
        page = self._first_page
        is_other = page and host_of(page) != host
        return page if is_other else ""

    def has_domain(self, url: str) -> bool:
        """Return whether a known host is of the URL's registered domain, among MAX_HOSTS of them."""
        domain = self.domain_of(url)
        hosts = f"SELECT name FROM host LIMIT {MAX_HOSTS}"
        sql = f"SELECT 1 FROM ({hosts}) WHERE name = ? OR substr(name, -length(?) - 1) = '.' || ? LIMIT 1"
        return any(True for _ in self.snapshot.rows(sql, (domain, domain, domain)))
