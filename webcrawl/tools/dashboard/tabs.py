"""The pages of a crawl, one per tab: what it answers, its logs, and the report's sections."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.base import numbers
from webcrawl.base.loading import missing
from webcrawl.base.markup import Html, join, lines, tag
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import FIELDS
from webcrawl.tools.crawl_search import search_of
from webcrawl.tools.dashboard.commands import answered, commands_content, table
from webcrawl.tools.dashboard.crawl_page import ShownCrawl, figures_part
from webcrawl.tools.dashboard.crawls import Ask, CrawlWatch
from webcrawl.tools.dashboard.frame import Parts, button, choice, field, hidden, part
from webcrawl.tools.report import elements
from webcrawl.tools.report.elements import Cell, TableColumn, note, section

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_search import FoundPage, Snippet

HOSTS_BY = {"queue": "by queue", "errors": "by errors", "bytes": "by bytes", "delay": "by delay"}
LOGS = ("crawl.log", "errors.log", "skipped.log", "requests.log")
MOST_LINES = 100
MOST_FOUND = 20  # pages of a search
LIVE = ("", "hosts", "errors", "seeds", "log")  # pages that change while they are open
REPORTED = {  # sections of the report on these
    "": ("time", "bound", "revisits", "outcomes", "types", "sizes", "depth", "disk", "settings"),
    "hosts": ("hosts", "domains", "waiting"),
    "errors": ("wrong", "skipped"),
    "seeds": ("seeds", "extremes"),
}
TAIL = 1 << 18  # bytes of a log's end
LONGEST_LINE = 4000  # characters
TRACEBACKS = "errors.log"
LONGEST = 4096  # characters of a URL that is asked about
SERVER_AWAY = "The hive's server does not answer, or the drones have just ended."
Why = Callable[[Path, str], Any]  # of a JOBDIR and a URL: what is known of it


class TabContents:
    """Makes the contents of a crawl's tabs. `ask` and `why` may block; they run in threads."""

    def __init__(self, ask: Ask, why: Why) -> None:
        self._ask = ask
        self._why = why

    async def page(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Html:
        """Return all that is on a page below its header."""
        if tab == "why":
            return await self._why_page(watch, shown, query.get("url", "").strip())
        if tab == "search":
            return await _search_page(watch, shown, query.get("find", "").strip())
        if tab == "commands":
            return commands_content(shown, query.get("host", ""))
        host = query.get("host", "").strip()[:LONGEST]
        if host and tab == "hosts":
            return await self._host_page(watch, shown, host)
        parts = await self.parts(watch, shown, tab, query)
        now, *report = [part(name, html) for name, html in parts.items()]
        if tab == "hosts":
            by = _of(query.get("by"), HOSTS_BY)
            links = {label: shown.at("hosts", by=name) for name, label in HOSTS_BY.items()}
            now = section(
                None,
                "Hosts now",
                now,
                more=choice("spans", HOSTS_BY[by], links, "Order of the hosts"),
            )
        elif tab == "log":
            now = _with_finder(shown, _of(query.get("name"), LOGS), query.get("find", ""), now)
        elif tab == "seeds" and shown.sample.answers:
            now = join(now, _seed_form(shown))
        return join(now, *report)

    async def parts(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Parts:
        """Return the parts that change of a page that stays open: what is so, and the report."""
        now = await self._now(watch, shown, tab, query)
        if tab not in REPORTED:
            return {"now": now}
        made = await watch.report()
        return {"now": now, "report": join(*(made.get(name) for name in ("note", *REPORTED[tab])))}

    async def _now(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Html:
        if tab == "hosts":
            by = _of(query.get("by"), HOSTS_BY)
            found, why_not = await self._asked(watch, shown, "hosts", "--by", by)
            hosts = answered(found, shown.link) if found is not None else note(why_not)
            return join(hosts, _levels(shown))
        if tab == "errors":
            found, _ = await self._asked(watch, shown, "errors")
            tracebacks = await _lines(watch, TRACEBACKS, "")
            log = _as_written(tracebacks) if tracebacks else note("None.")
            unexpected = section(None, "Unexpected errors: the end of logs/errors.log", log)
            return join(
                section(None, "Errors now", answered(found, shown.link)) if found else None,
                unexpected,
            )
        if tab == "seeds":
            read, bad = int(shown.sample.number("seeds")), int(shown.sample.number("bad_seeds"))
            unread = f", {numbers.count(bad, 'line')} could not be read" if bad else ""
            return tag(
                "p", f"{numbers.count(read, 'seed')} read from the lists{unread}.", class_="lead"
            )
        if tab == "log":
            name = _of(query.get("name"), LOGS)
            return _log(shown, name, await _lines(watch, name, query.get("find", "")))
        return figures_part(shown)

    async def _asked(
        self, watch: CrawlWatch, shown: ShownCrawl, name: str, *words: str
    ) -> tuple[Any, str]:
        """Return the answer of a crawl to a command that only asks, or why there is none."""
        if not shown.sample.answers:
            return None, "The crawl is not running, or does not answer."
        try:
            found = await watch.asked(
                (name, *words), lambda: self._ask(watch.known.jobdir, name, *words)
            )
            return _by_drone(found) if watch.known.drones else found, ""
        except CommandError as error:
            if "is not a command" in str(error):  # of an earlier version
                return None, f"This crawl does not know the command {name}."
            return None, f"{error}."
        except NotRunning:
            return None, SERVER_AWAY if watch.known.drones else "The crawl has just ended."

    async def _host_page(self, watch: CrawlWatch, shown: ShownCrawl, host: str) -> Html:
        found, why_not = await self._asked(watch, shown, "host", host)
        queue, _ = (
            await self._asked(watch, shown, "queue", host) if found is not None else (None, "")
        )
        return _host_content(shown, host, found, why_not, queue)

    async def _why_page(self, watch: CrawlWatch, shown: ShownCrawl, url: str) -> Html:
        found, failed = None, ""
        if len(url) > LONGEST:
            url, failed = "", f"The URL has more than {LONGEST} characters."
        elif url:
            try:
                found = await watch.asked(("why", url), lambda: self._why(watch.known.jobdir, url))
            except (ValueError, OSError, StoreError, NotRunning) as error:
                failed = f"No answer: {error}"
        return _why_content(shown, url, found, failed)


async def _search_page(watch: CrawlWatch, shown: ShownCrawl, words: str) -> Html:
    """Return the pages that have these words in them."""
    failed = ""
    found: FoundPages | None = None
    try:
        if words:
            found = await watch.asked(
                ("search", words), lambda: _searched(watch.known.jobdir, words)
            )
    except ImportError:
        failed = missing("tantivy")
    except (StoreError, OSError) as error:
        failed = str(error)
    form = tag(
        "form",
        field("Words or a URL", "find", words, kind="search", maxlength=str(LONGEST)),
        button("Search", class_="main"),
        method="get",
        action=shown.at("search"),
        class_="row",
    )
    answer = _found_content(found) if found is not None else None
    return section(None, "Search", form, tag("p", failed, class_="refused") if failed else answer)


class FoundPages(NamedTuple):
    """What a search has found: the number of all pages, the best, and remarks on them."""

    total: int
    pages: list[FoundPage]
    remarks: list[str]


def _searched(jobdir: Path, words: str) -> FoundPages:
    search = search_of(jobdir)
    total, pages = search.find(words, MOST_FOUND)
    unread = [f"{error}; its pages are not among these" for error in search.unread]
    return FoundPages(total, list(pages), [*filter(None, [search.remark]), *unread])


def _found_content(found: FoundPages) -> Html:
    """Return the pages in a list; addresses are text, as the pages may be hostile."""
    pages = [
        tag(
            "li",
            tag("b", one.title or "(no title)"),
            tag("p", one.url),
            tag("p", *_marked(one.snippet)),
            tag("p", f"Nearly the same: {', '.join(one.similar)}") if one.similar else None,
        )
        for one in found.pages
    ]
    shown = f"{len(pages)} of " if len(pages) < found.total else ""
    counted = tag("p", f"{shown}{numbers.count(found.total, 'page')}.", class_="lead")
    return join(*map(note, found.remarks), counted, tag("ol", *pages))


def _marked(snippet: Snippet) -> Iterator[Html]:
    text, ranges = snippet
    at = 0
    for start, end in ranges:
        yield tag("span", text[at:start])
        yield tag("b", text[start:end])
        at = end
    yield tag("span", text[at:])


def _by_drone(found: Any) -> Any:
    """Return the answer of a hive, if each drone has said something: by its name."""
    rows = found.get("drones") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        return found
    have_answers = all(isinstance(row, dict) and "answer" in row for row in rows)
    if not have_answers:
        return found
    return {f"drone {row.get('drone')}": row["answer"] for row in rows}


async def _lines(watch: CrawlWatch, name: str, find: str) -> list[str]:
    """Return the lines, the latest first, tracebacks as they are; of a hive, of all drones."""

    def read() -> list[str]:
        each = [tail(one.jobdir, name, find, MOST_LINES) for one in watch.known.crawls]
        if name == TRACEBACKS:
            return [line for of_one in each for line in reversed(of_one[: MOST_LINES // len(each)])]
        return sorted(chain.from_iterable(each), reverse=True) if len(each) > 1 else each[0]

    found: list[str] = await watch.asked(("log", name, find), read)
    return found[:MOST_LINES]


def tail(jobdir: Path, name: str, wanted: str, most: int) -> list[str]:
    """Return the last lines of a log that have this text in them, the latest first."""
    if name not in LOGS:
        return []
    try:
        with regular(jobdir / "logs" / name) as file:
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            found = file.read(TAIL).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    if size > TAIL:
        del found[0]  # a part of one
    return [line[:LONGEST_LINE] for line in reversed(found) if line and wanted in line][:most]


def _of(given: str | None, allowed: Iterable[str]) -> str:
    """Return the word that was asked for, if it is one of these; else the first."""
    first, *others = allowed
    return given if given is not None and given in others else first


def _host_content(shown: ShownCrawl, host: str, found: Any, why_not: str, queue: Any) -> Html:
    """Return one host: its record, its next URLs, and what it can be told."""
    back = tag("a", "All hosts", href=shown.at("hosts"))
    if found is None:
        return section(None, host, note(why_not), tag("p", back))
    verbs = {"pause": "Pause", "resume": "Resume", "retry": "Retry now", "drop": "Drop…"}
    forms = [
        shown.site.form(
            shown.at("commands"),
            hidden("words", shlex.join((host, verb))),
            button(
                words_, class_="danger" if verb == "drop" else None, name="command", value="host"
            ),
        )
        for verb, words_ in verbs.items()
    ]
    return join(
        section(None, host, answered(found, shown.link), more=tag("div", *forms, class_="buttons")),
        section(None, "Its next URLs", answered(queue, shown.link)) if queue is not None else None,
        tag("p", back),
    )


def _levels(shown: ShownCrawl) -> Html | None:
    levels = shown.sample.figures.get("levels")
    if not isinstance(levels, list) or not levels:
        return None
    are_numbers = all(isinstance(many, int) for many in levels)
    if not are_numbers:
        return None
    whole = max(sum(levels), 1)
    rows: list[list[Cell]] = [[f"Level {at}", many, many / whole] for at, many in enumerate(levels)]
    title = "Front-end: URLs by level, each picked twice as often as the next"
    head = [TableColumn("Level"), TableColumn("URLs", "number"), TableColumn("Share", "share")]
    return join(tag("h3", title), elements.table(None, head, rows, title))


def _seed_form(shown: ShownCrawl) -> Html:
    text = tag(
        "textarea",
        name="seeds",
        rows="4",
        required="",
        spellcheck="false",
        placeholder="https://example.com/",
    )
    label = tag("label", tag("span", "URLs or domains, one per line"), text)
    more = shown.site.form(
        shown.at("seeds"), label, button("Add seeds", class_="main"), class_="paste"
    )
    return section(None, "Add seeds", more)


def _with_finder(shown: ShownCrawl, name: str, wanted: str, now: Html) -> Html:
    """Return a log below the ways to others, and to lines with a word in them."""
    links = {one: shown.at("log", name=one, find=wanted) for one in LOGS}
    finder = tag(
        "form",
        hidden("name", name),
        field("Lines with", "find", wanted, kind="search", placeholder="a host, a status, a word"),
        button("Show"),
        method="get",
        action=shown.at("log"),
        class_="row",
    )
    return section(None, "Log", finder, now, more=choice("spans", name, links, "Which log"))


def _as_written(found: Sequence[str]) -> Html:
    return tag("pre", lines("\n".join(found)), tabindex="0", class_="log")


def _log(shown: ShownCrawl, name: str, found: Sequence[str]) -> Html:
    """Return a log, the latest line first; crawl.log as a table."""
    if not found:
        return note("No such line in the last part of this log, or no such log yet.")
    split = [line.split() for line in found]
    is_table = name == "crawl.log" and all(len(fields) == FIELDS for fields in split)
    if not is_table:
        return _as_written(found)
    rows = [_row(fields) for fields in split]
    return join(note("Latest first."), table(rows, shown.link, name))


def _row(fields: Sequence[str]) -> Mapping[str, Any]:
    when, status, size, url, path, _, kind, _, fetched, *_ = fields
    took = fetched.partition("+")[2]
    return {
        "time": when[11:19],
        "status": status,
        "URL": url,
        "size": int(size) if size.isdecimal() else None,
        "took": numbers.seconds(int(took) / 1000) if took.isdecimal() else "-",
        "type": kind,
        "path": path,
    }


def _why_content(shown: ShownCrawl, url: str, found: Any, failed: str) -> Html:
    """Return everything that is known of one URL."""
    form = tag(
        "form",
        field(
            "URL",
            "url",
            url,
            kind="text",
            inputmode="url",
            required="",
            placeholder="https://example.com/page",
        ),
        button("Why?", class_="main"),
        method="get",
        action=shown.at("why"),
        class_="row",
    )
    if failed:
        answer: Html | None = tag("p", failed, class_="refused")
    elif found is None:
        answer = note(
            "What became of it, or will, and why: filters, queue, robots.txt, its host, its log lines, its record."
        )
    elif isinstance(found, dict) and "state" in found:
        rest = {
            name: value for name, value in found.items() if name not in ("state", "reason", "url")
        }
        answer = join(
            tag(
                "p",
                tag("b", str(found["state"])),
                ": ",
                str(found.get("reason", "")),
                class_="verdict",
            ),
            answered(rest, shown.link),
        )
    else:
        answer = answered(found, shown.link)
    return section(None, "Why?", form, answer)
