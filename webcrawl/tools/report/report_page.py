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


def report(jobdir: Path, defaults: Mapping[str, str], now: float, near: int = DISTANCE) -> str:
    """Return the page on this crawl or hive. Raise StoreError if the folder holds none.

    Near-duplicates are pages whose fingerprints differ in at most `near` bits.
    """
    log = LogFindings()
    return page(read_all(jobdir, lambda crawl: _read(crawl, log)), log, defaults, now, near)


def read_all(jobdir: Path, read: Callable[[Path], ReportSource] = read_source) -> ReportSource:
    """Read a crawl, or all drones of a hive as one."""
    if hive_of(jobdir) is None:
        return read(jobdir)
    source = ReportSource.together(jobdir, [read(crawl.path) for crawl in JobDir.all(jobdir)])
    missing = absent_drones(jobdir)
    source.odd += [
        f"{drone.name} contains no crawl, so the work of that drone is not counted"
        for drone in missing
    ]
    return source


def _read(jobdir: Path, log: LogFindings) -> ReportSource:
    """Read a crawl and its log, which gives the statistics if none were kept from the beginning."""
    source = read_source(jobdir)
    if not source.complete:
        source.statistics = Statistics(source.key)
    heard = None if source.complete else source.statistics
    before = log.walled.copy()
    length = source.outputs.get(LOG, 0)
    log.missing += length - log.read(jobdir / LOG, length, statistics=heard)
    log.leave_out(source.state.shut)
    source.statistics.outcomes -= log.walled - before
    return source


def page(
    source: ReportSource,
    log: LogFindings,
    defaults: Mapping[str, str],
    now: float,
    near: int = DISTANCE,
) -> str:
    """Return the whole document."""
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
    made = {one: one.make() for one in sections(source, log, defaults, near)}
    body = tag(
        "body",
        _header(source, [section for section, html in made.items() if html is not None]),
        tag("main", odd(source, log), *made.values()),
        _footer(log, now),
        tag("script", script),
    )
    return standalone_page(f"Crawl report: {_name(source)}", body, policy)


class ReportSection(NamedTuple):
    """A section of the report.

    `title` is its entry in the table of contents, or empty if it has none.
    """

    name: str
    title: str
    make: Callable[[], Html | None]


def sections(
    source: ReportSource, log: LogFindings, defaults: Mapping[str, str], near: int = DISTANCE
) -> list[ReportSection]:
    """Return all sections in the order of the page; the dashboard shows them too."""
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
        ReportSection("copies", "", lambda: documents.copies(source, near)),
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
    spider = source.terms.get("spider", "web")
    if source.drones:
        spider += f", a hive of {numbers.count(len(source.drones), 'drone')}"
    at = tag("time", numbers.when(source.at) if source.at else "an unknown time")
    if source.clean:
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
    has_failed = source.stats.get("reason") == STORE_FAILED
    state = f"last run failed ({STORE_FAILED})" if has_failed else "crawl is running, or was killed"
    return join(
        f"Spider {spider}. The {state}; this report shows {each} ",
        at,
        ". Later work is not counted.",
    )


def odd(source: ReportSource, log: LogFindings) -> Html | None:
    """Return a warning about what the report could not read."""
    found = [f"{one}." for one in source.odd]
    if log.damaged:
        found.append(
            f"{numbers.count(log.damaged, 'line')} of {LOG} cannot be read and are left out."
        )
    if log.missing:
        found.append(f"{LOG} lacks {numbers.size(log.missing)} that the checkpoint counts.")
    if not source.complete:
        found.append(
            "This crawl did not keep statistics from its start, so they were made from its log."
        )
    return tag("div", *map(note, found), class_="warn") if found else None


def _footer(log: LogFindings, now: float) -> Html:
    return tag(
        "footer",
        note(
            f"Made by {program()} report at {numbers.when(now)} from the state and {numbers.count(log.lines, 'line')} "
            "of crawl.log. A document is an answer of status 2xx to anything but robots.txt.",
        ),
    )


AT_ONCE = 64 << 20  # bytes of crawl.log that are read each time
SEEDS = 200_000  # known by name, and URLs that a wall answered last
# shown as they are now; and what takes a pass over a log of its own
LEFT_OUT = ("overview", "drones", "copies")


class LiveReport:
    """The sections of a crawl or hive that may be running, which are read again and again.

    `read` may run in a thread, one at a time; `sections` are those that it made last.
    """

    def __init__(self, jobdir: Path, crawls: Sequence[Path], defaults: Mapping[str, str]) -> None:
        self._jobdir = jobdir
        self._defaults = defaults
        self._logs = [crawl / LOG for crawl in crawls]
        self._begin()
        self.sections: Mapping[str, Html] = {"note": note("The report is being prepared.")}

    def _begin(self) -> None:
        self.log = LogFindings(seeds=SeedTable(SEEDS), room=SEEDS)
        self._places = dict.fromkeys(self._logs, 0)

    def read(self) -> None:
        """Read the last checkpoint, and what came into the logs since the last time."""
        try:
            left = self.read_logs()
            source = read_all(self._jobdir)
        except (StoreError, OSError) as error:
            self.sections = {
                "note": note(f"The figures of the last checkpoint cannot be read: {error}.")
            }
            return
        source.statistics.outcomes -= self.log.walled + self._behind_walls(source)
        made = {
            one.name: one.make()
            for one in sections(source, self.log, self._defaults)
            if one.name not in LEFT_OUT
        }
        shown = {name: html for name, html in made.items() if html is not None}
        self.sections = {"note": self._note(source, left), **shown}

    def read_logs(self) -> int:
        """Go on where it was, or begin anew if a log was cut back.

        Return how many bytes are left for the next time.
        """
        sizes = {path: path.stat().st_size if path.exists() else 0 for path in self._logs}
        if any(sizes[path] < place for path, place in self._places.items()):
            self._begin()
        budget = AT_ONCE
        for path, size in sizes.items():
            place = self._places[path]
            end = min(size, place + budget)
            self._places[path] = self.log.read(path, end, place)
            budget -= end - place
        return sum(size - self._places[path] for path, size in sizes.items())

    def _behind_walls(self, source: ReportSource) -> Counter[int]:
        """Return answers of walls to URLs that wait for these to open: not their end."""
        shut = set[str]().union(*(crawl.state.shut for crawl in source.crawls))
        hosts = (
            (host_if_any(url.decode("utf-8", "replace")), status)
            for url, (_, status) in self.log.walls.items()
        )
        return Counter(status for host, status in hosts if host in shut)

    def _note(self, source: ReportSource, left: int) -> Html:
        more = (
            f" {numbers.size(left)} of crawl.log have not been read yet; this page updates itself."
            if left
            else ""
        )
        said = [note(f"As of the last checkpoint, at {numbers.when(source.at)}.{more}")]
        if not source.complete:
            source.complete = True  # what is said of that is so of the report alone
            said.append(
                note(
                    f"The statistics lack its beginning: `{program()} report` makes whole ones from the log."
                )
            )
        return join(*said, odd(source, self.log))
