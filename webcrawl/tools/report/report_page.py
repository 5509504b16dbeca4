"""The report as one page that needs nothing else: no network, no other file, no script to be read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from webcrawl.base.program import program
from webcrawl.content.near_duplicates import DISTANCE
from webcrawl.record.statistics.statistics import Statistics
from webcrawl.store.jobdir.crawl_line import LOG
from webcrawl.store.jobdir.crawls import absent_drones, hive_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.tools.report import numbers
from webcrawl.tools.report.log_summary import Log, read_log
from webcrawl.tools.report.markup import Html, head, join, note, tag
from webcrawl.tools.report.report_source import Source, one_of, read_source
from webcrawl.tools.report.sections import document_sections as content
from webcrawl.tools.report.sections import overview, seeds, waiting
from webcrawl.tools.report.sections import revisit_section as revisits
from webcrawl.tools.report.sections import server_sections as hosts

CONTENTS = {
    "time": "Over time",
    "bound": "What bounded it",
    "revisits": "Revisits",
    "outcomes": "Outcomes",
    "wrong": "What went wrong",
    "seeds": "Seeds",
    "types": "Types",
    "sizes": "Sizes",
    "hosts": "Hosts",
    "domains": "Domains",
    "depth": "Depth",
    "skipped": "Skipped",
    "waiting": "Waiting",
    "disk": "Disk",
    "settings": "Settings",
}


def report(jobdir: Path, defaults: Mapping[str, str], now: float, near: int = DISTANCE) -> str:
    """The page on this crawl or hive; StoreError if the folder holds none. `defaults` of the settings are texts.

    Near-duplicates are pages whose fingerprints differ in at most `near` bits.
    """
    log = Log()
    if hive_of(jobdir) is None:
        return page(_read(jobdir, log), log, defaults, now, near)
    sources = [_read(crawl.path, log) for crawl in JobDir.all(jobdir)]
    source = one_of(jobdir, sources)
    missing = absent_drones(jobdir)
    source.odd += [f"{drone.name} has no crawl in it: what that drone did is not counted" for drone in missing]
    return page(source, log, defaults, now, near)


def _read(jobdir: Path, log: Log) -> Source:
    """Reads a crawl and its log, and makes the statistics from that if none were kept from the beginning on."""
    source = read_source(jobdir)
    if not source.complete:
        source.statistics = Statistics(source.key)
    heard = None if source.complete else source.statistics
    before = log.walled.copy()
    read_log(source.jobdir / LOG, source.outputs.get(LOG, 0), heard, log)
    log.leave_out(source.state.shut)
    source.statistics.outcomes -= log.walled - before
    return source


def page(source: Source, log: Log, defaults: Mapping[str, str], now: float, near: int = DISTANCE) -> str:
    """The whole document."""
    script = Html((files("webcrawl.tools.report") / "assets" / "script.js").read_text(encoding="utf-8"))
    policy = "; ".join(
        ("default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{_hash(script)}'", "base-uri 'none'")
    )
    body = tag(
        "body",
        _header(source),
        tag("main", odd(source, log), *(make() for make in sections(source, log, defaults, near).values())),
        _footer(log, now),
        tag("script", script),
    )
    return f"<!doctype html>\n{tag('html', head(f'Crawl report: {_name(source)}', policy), body, lang='en')}\n"


def sections(
    source: Source, log: Log, defaults: Mapping[str, str], near: int = DISTANCE
) -> dict[str, Callable[[], Html | None]]:
    """What makes each section, by its name, in the order of the page; the dashboard shows them too."""
    return {
        "overview": lambda: overview.overview(source, log),
        "drones": lambda: hosts.drones(source),
        "time": lambda: overview.over_time(source),
        "bound": lambda: overview.bound(source),
        "revisits": lambda: revisits.revisits(source),
        "outcomes": lambda: overview.outcomes(source),
        "wrong": lambda: overview.wrong(source),
        "seeds": lambda: seeds.seeds(source, log),
        "types": lambda: content.types(source),
        "sizes": lambda: content.sizes(source),
        "copies": lambda: content.copies(source, near),
        "hosts": lambda: hosts.servers(source),
        "domains": lambda: hosts.domains(source),
        "depth": lambda: content.depth(source),
        "extremes": lambda: waiting.extremes(log),
        "skipped": lambda: waiting.skipped(source),
        "waiting": lambda: waiting.waiting(source),
        "disk": lambda: waiting.disk(source),
        "settings": lambda: waiting.terms(source, defaults),
    }


def _header(source: Source) -> Html:
    contents = {"drones": "Drones", **CONTENTS} if source.drones else CONTENTS
    if source.revisits is None:
        contents = {name: words for name, words in contents.items() if name != "revisits"}
    links = [tag("a", words, href=f"#{name}") for name, words in contents.items()]
    return tag(
        "header",
        tag("p", "Crawl report", class_="kind"),
        tag("h1", _name(source)),
        tag("p", _state(source), class_="lead"),
        tag("nav", *links, aria_label="Sections"),
    )


def _name(source: Source) -> str:
    return source.jobdir.resolve().name


def _state(source: Source) -> Html:
    spider = source.terms.get("spider", "web")
    if source.drones:
        spider += f", a hive of {numbers.count(len(source.drones), 'drone')}"
    at = tag("time", numbers.when(source.at) if source.at else "an unknown time")
    if source.clean:
        reason = source.stats.get("reason")
        ended = f" ({reason})" if isinstance(reason, str) else ""
        return join(f"Spider {spider}. The last run ended{ended}, with its last checkpoint at ", at, ".")
    each = "the last checkpoint of each drone, the oldest of" if source.drones else "its last checkpoint, of"
    return join(
        f"Spider {spider}. The crawl is running, or was killed: this is {each} ",
        at,
        ". What was done since is not counted.",
    )


def odd(source: Source, log: Log) -> Html | None:
    """A warning about what the report could not read."""
    found = [f"{one}." for one in source.odd]
    if log.damaged:
        found.append(f"{numbers.count(log.damaged, 'line')} of {LOG} cannot be read and are left out.")
    if log.missing:
        found.append(f"{LOG} lacks {numbers.size(log.missing)} that the checkpoint counts.")
    if not source.complete:
        found.append("This crawl has not kept statistics from its beginning on: they were made from its log.")
    return tag("div", *map(note, found), class_="warn") if found else None


def _footer(log: Log, now: float) -> Html:
    return tag(
        "footer",
        note(
            f"Made by {program()} report at {numbers.when(now)} from the state and {numbers.count(log.lines, 'line')} "
            "of crawl.log. A document is an answer of status 2xx to anything but robots.txt.",
        ),
    )


def _hash(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()
