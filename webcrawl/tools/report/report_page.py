"""The report as one page that needs nothing else: no network, no other file, no script."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from webcrawl.base import numbers
from webcrawl.base.markup import Html, join, tag
from webcrawl.base.program import program
from webcrawl.content.near_duplicates import DISTANCE
from webcrawl.record.statistics import Statistics, host_if_any
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.crawls import absent_drones, hive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.store.jobdir.stats_file import STORE_FAILED
from webcrawl.tools.report import documents, hosts, overview, revisits, waiting
from webcrawl.tools.report.elements import note, standalone_page
from webcrawl.tools.report.log_summary import LogFindings, SeedTable
from webcrawl.tools.report.report_source import ReportSource, read_source


def report(
    jobdir: Path, defaults: Mapping[str, str], now: float, max_distance: int = DISTANCE
) -> str:
    """Return the page on a crawl or hive. Raise StoreError if the folder has none.

    Pages are near-duplicates if their fingerprints differ in at most `max_distance` bits.
    """
    log = LogFindings()
    source = read_all(jobdir, lambda crawl: _read_with_log(crawl, log))
    return page(source, log, defaults, now, max_distance)


def read_all(jobdir: Path, read: Callable[[Path], ReportSource] = read_source) -> ReportSource:
    """Read a crawl, or all drones of a hive as one. Raise NoCrawl if there is none."""
    if hive_of(jobdir) is None:
        return read(jobdir)
    source = ReportSource.of_hive(jobdir, [read(crawl.path) for crawl in JobDir.all(jobdir)])
    source.unreadable += [
        f"{drone.name} contains no crawl, so the work of that drone is not counted"
        for drone in absent_drones(jobdir)
    ]
    return source


def _read_with_log(jobdir: Path, log: LogFindings) -> ReportSource:
    """Read a crawl, and add its log to the findings.

    The statistics are made of the log if the crawl has not kept them from its start.
    """
    source = read_source(jobdir)
    statistics_of_log = None
    if not source.has_full_statistics:
        source.statistics = Statistics(source.key)
        statistics_of_log = source.statistics
    # The findings may have those of other drones already.
    before = log.retried_block_pages.copy()
    path, length = jobdir / LOG, source.outputs.get(LOG, 0)
    place = log.read(path, length, statistics=statistics_of_log)
    if path not in log.unopened:
        log.missing += length - place
    log.take_back_blocked(source.state.blocked_names)
    source.statistics.outcomes -= log.retried_block_pages - before
    return source


def page(
    source: ReportSource,
    log: LogFindings,
    defaults: Mapping[str, str],
    now: float,
    max_distance: int = DISTANCE,
) -> str:
    """Return the whole document, whose policy allows no script but the report's own."""
    script = Html(
        (files("webcrawl.tools.report") / "assets" / "script.js").read_text(encoding="utf-8")
    )
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = "; ".join(
        (
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            f"script-src 'sha256-{digest}'",
            "base-uri 'none'",
        )
    )
    html_by_section = {
        section: section.make() for section in sections(source, log, defaults, max_distance)
    }
    contents = [section for section, html in html_by_section.items() if html is not None]
    body = tag(
        "body",
        _header(source, contents),
        tag("main", unreadable_parts(source, log), *html_by_section.values()),
        _footer(log, now),
        tag("script", script),
    )
    return standalone_page(f"Crawl report: {_name(source)}", body, policy)


class ReportSection(NamedTuple):
    """A section of the report."""

    name: str  # the id of its element
    title: str  # in the table of contents; empty: it has no entry there
    make: Callable[[], Html | None]


def sections(
    source: ReportSource,
    log: LogFindings,
    defaults: Mapping[str, str],
    max_distance: int = DISTANCE,
) -> list[ReportSection]:
    """Return all sections in the order of the page. The dashboard shows them too."""
    return [
        ReportSection("overview", "", lambda: overview.overview(source, log)),
        ReportSection("drones", "Drones", lambda: hosts.drones(source)),
        ReportSection("time", "Over time", lambda: overview.over_time(source)),
        ReportSection("bound", "What bounded it", lambda: overview.bound(source)),
        ReportSection("revisits", "Revisits", lambda: revisits.revisits(source.revisits)),
        ReportSection("outcomes", "Outcomes", lambda: overview.outcomes(source)),
        ReportSection("wrong", "What went wrong", lambda: overview.wrong(source)),
        ReportSection("seeds", "Seeds", lambda: waiting.seeds(source, log)),
        ReportSection("types", "Types", lambda: documents.types(source)),
        ReportSection("sizes", "Sizes", lambda: documents.sizes(source)),
        ReportSection("copies", "", lambda: documents.copies(source, max_distance)),
        ReportSection("hosts", "Hosts", lambda: hosts.servers(source)),
        ReportSection("domains", "Domains", lambda: hosts.domains(source)),
        ReportSection("depth", "Depth", lambda: documents.depth(source)),
        ReportSection("extremes", "", lambda: documents.extremes(log)),
        ReportSection("skipped", "Skipped", lambda: waiting.skipped(source)),
        ReportSection("waiting", "Waiting", lambda: waiting.waiting(source)),
        ReportSection("disk", "Disk", lambda: overview.disk(source)),
        ReportSection("settings", "Settings", lambda: overview.terms(source, defaults)),
    ]


def _header(source: ReportSource, contents: Sequence[ReportSection]) -> Html:
    """Return the name of the crawl, its state, and links to the sections."""
    links = [
        tag("a", section.title, href=f"#{section.name}") for section in contents if section.title
    ]
    return tag(
        "header",
        tag("p", "Crawl report", class_="kind"),
        tag("h1", _name(source)),
        tag("p", _state(source), class_="lead"),
        tag("nav", *links, aria_label="Sections"),
    )


def _name(source: ReportSource) -> str:
    return source.jobdir.resolve().name


def _state(source: ReportSource) -> Html:
    """Return a sentence on the spider, how the last run ended, and the time of the checkpoint."""
    spider = source.terms.get("spider", "web")
    if source.drones:
        spider += f", a hive of {numbers.count(len(source.drones), 'drone')}"
    at = tag("time", numbers.when(source.at) if source.at else "an unknown time")
    if source.is_clean:
        reason = source.stats.get("reason")
        ended = f" ({reason})" if isinstance(reason, str) else ""
        return join(
            f"Spider {spider}. The last run ended{ended}, with its last checkpoint at ", at, "."
        )
    each = (
        "the last checkpoint of each drone, the oldest of"
        if source.drones
        else "its last checkpoint, of"
    )
    state = "crawl is running, or was killed"
    if source.has_failed:
        state = f"last run failed ({STORE_FAILED})"
    return join(
        f"Spider {spider}. The {state}; this report shows {each} ",
        at,
        ". Later work is not counted.",
    )


def unreadable_parts(source: ReportSource, log: LogFindings) -> Html | None:
    """Return a warning about what the report could not read, or None if it could read all."""
    sentences = [f"{sentence}." for sentence in source.unreadable]
    if log.damaged:
        sentences.append(
            f"{numbers.count(log.damaged, 'line')} of {LOG} cannot be read and are left out."
        )
    sentences += [f"The log cannot be read: {words}." for words in log.unopened.values()]
    if log.missing:
        sentences.append(f"{LOG} lacks {numbers.size(log.missing)} that the checkpoint counts.")
    if not source.has_full_statistics:
        sentences.append(
            f"The checkpoint has no statistics of the whole crawl, so they were made from {LOG}."
        )
    return tag("div", *map(note, sentences), class_="warn") if sentences else None


def _footer(log: LogFindings, now: float) -> Html:
    return tag(
        "footer",
        note(
            f"Made by {program()} report at {numbers.when(now)} from the state and {numbers.count(log.lines, 'line')} "
            "of crawl.log. A document is an answer of status 2xx to anything but robots.txt.",
        ),
    )


MAX_READ_BYTES = 64 << 20  # of all logs together, in one `read`
MAX_LIVE_NAMES = 200_000  # seeds, and blocked URLs, that are known by name
# The dashboard shows the overview and the drones as they are now. Copies would take a pass over
# another log.
LEFT_OUT = ("overview", "drones", "copies")


class LiveReport:
    """The report's sections on a crawl or hive that may be running, for the dashboard.

    `read` brings `sections` up to date. It may run in any thread, but not in two at once.
    """

    def __init__(self, jobdir: Path, crawls: Sequence[Path], defaults: Mapping[str, str]) -> None:
        self._jobdir = jobdir
        self._defaults = defaults
        self._logs = [crawl / LOG for crawl in crawls]
        self._forget_logs()
        self.sections: Mapping[str, Html] = {"note": note("The report is being prepared.")}

    def _forget_logs(self) -> None:
        self.log = LogFindings(seeds=SeedTable(MAX_LIVE_NAMES), max_blocked_urls=MAX_LIVE_NAMES)
        self._places = dict.fromkeys(self._logs, 0)  # bytes of each log that are read

    def read(self) -> None:
        """Read the last checkpoint and the new lines of the logs, and make the sections."""
        try:
            unread_bytes = self.read_logs()
            source = read_all(self._jobdir)
        except (StoreError, OSError) as error:
            self.sections = {
                "note": note(f"The figures of the last checkpoint cannot be read: {error}.")
            }
            return
        not_ends = self.log.retried_block_pages + self._waiting_block_pages(source)
        source.statistics.outcomes -= not_ends
        html_by_name = {
            section.name: section.make()
            for section in sections(source, self.log, self._defaults)
            if section.name not in LEFT_OUT
        }
        shown = {name: html for name, html in html_by_name.items() if html is not None}
        self.sections = {"note": self._note(source, unread_bytes), **shown}

    def read_logs(self) -> int:
        """Read new lines, at most MAX_READ_BYTES, and return how many bytes are left to be read.

        Begin anew if a log is shorter than before: a crawl truncates its log when it resumes after
        a kill.
        """
        sizes = {path: path.stat().st_size if path.exists() else 0 for path in self._logs}
        if any(sizes[path] < place for path, place in self._places.items()):
            self._forget_logs()
        budget = MAX_READ_BYTES
        for path, size in sizes.items():
            place = self._places[path]
            end = min(size, place + budget)
            self._places[path] = self.log.read(path, end, place)
            budget -= end - place
        return sum(size - self._places[path] for path, size in sizes.items())

    def _waiting_block_pages(self, source: ReportSource) -> Counter[int]:
        """Return the block pages, by status, whose URLs wait to be tried again.

        They stay in the findings: the host may give a page before the next `read`.
        """
        blocked = set[str]().union(*(crawl.state.blocked_names for crawl in source.crawls))
        hosts = (
            (host_if_any(url.decode("utf-8", "replace")), status)
            for url, (_, status) in self.log.blocked_urls.items()
        )
        return Counter(status for host, status in hosts if host in blocked)

    def _note(self, source: ReportSource, unread_bytes: int) -> Html:
        """Return the time of the checkpoint, and what the sections lack."""
        unread = ""
        if unread_bytes:
            size = numbers.size(unread_bytes)
            unread = f" {size} of crawl.log have not been read yet; this page updates itself."
        notes = [note(f"As of the last checkpoint, at {numbers.when(source.at)}.{unread}")]
        if not source.has_full_statistics:
            # The warning that the statistics were made of the log is true of the report alone.
            source.has_full_statistics = True
            notes.append(
                note(
                    f"The statistics lack its beginning: `{program()} report` makes whole ones from the log."
                )
            )
        return join(*notes, unreadable_parts(source, self.log))
