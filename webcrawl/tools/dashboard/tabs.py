"""Makes the contents of a crawl's tabs: its answers to commands, its logs, and the report's sections."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from webcrawl.base import numbers
from webcrawl.base.errors import words_of
from webcrawl.base.loading import missing
from webcrawl.base.markup import Html, join, lines, tag
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.store.disk import regular
from webcrawl.store.errors import StoreError
from webcrawl.store.jobdir.crawl_line import FIELDS
from webcrawl.tools.crawl_search import search_of
from webcrawl.tools.dashboard.commands import answer_html, commands_content, table
from webcrawl.tools.dashboard.crawl_page import ShownCrawl, figures_part
from webcrawl.tools.dashboard.crawls import Ask, CrawlWatch
from webcrawl.tools.dashboard.frame import Parts, button, choice, field, hidden, part
from webcrawl.tools.report import elements
from webcrawl.tools.report.elements import Cell, TableColumn, note, section

if TYPE_CHECKING:
    from webcrawl.record.fulltext.text_search import FoundPage, Snippet

HOSTS_BY = {"queue": "by queue", "errors": "by errors", "bytes": "by bytes", "delay": "by delay"}
LOGS = ("crawl.log", "errors.log", "skipped.log", "requests.log")
MAX_LINES = 100
MAX_PAGES = 20  # found by a search
LIVE_TABS = ("", "hosts", "errors", "seeds", "log")  # they change while they are open
REPORT_SECTIONS = {  # by tab
    "": ("time", "bound", "revisits", "outcomes", "types", "sizes", "depth", "disk", "settings"),
    "hosts": ("hosts", "domains", "waiting"),
    "errors": ("wrong", "skipped"),
    "seeds": ("seeds", "extremes"),
}
LOG_TAIL_BYTES = 1 << 18  # read from the end of a log
MAX_LINE_CHARS = 4000
TRACEBACKS = "errors.log"
MAX_URL_CHARS = 4096
SERVER_AWAY = "The hive's server does not answer, or the drones have just ended."
Why = Callable[[Path, str], Any]  # returns what is known of a URL, by JOBDIR and URL


class TabContents:
    """Makes the contents of a crawl's tabs."""

    def __init__(self, ask: Ask, why: Why) -> None:
        """`ask` gives a crawl a command, `why` explains a URL. Both may block: they run in threads."""
        self._ask = ask
        self._why = why

    async def page(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Html:
        """Return the content of a tab, which stands below the page's header."""
        if tab == "why":
            return await self._why_page(watch, shown, query.get("url", "").strip())
        if tab == "search":
            return await _search_page(watch, shown, query.get("find", "").strip())
        if tab == "commands":
            return commands_content(shown, query.get("host", ""))
        host = query.get("host", "").strip()[:MAX_URL_CHARS]
        if host and tab == "hosts":
            return await self._host_page(watch, shown, host)
        parts = await self.parts(watch, shown, tab, query)
        now, *report = [part(name, html) for name, html in parts.items()]
        if tab == "hosts":
            by = _allowed(query.get("by"), HOSTS_BY)
            links = {label: shown.at("hosts", by=name) for name, label in HOSTS_BY.items()}
            now = section(
                None,
                "Hosts now",
                now,
                more=choice("spans", HOSTS_BY[by], links, "Order of the hosts"),
            )
        elif tab == "log":
            now = _with_finder(shown, _allowed(query.get("name"), LOGS), query.get("find", ""), now)
        elif tab == "seeds" and shown.sample.answers:
            now = join(now, _seed_form(shown))
        return join(now, *report)

    async def parts(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Parts:
        """Return the parts of a tab that change while it is open.

        They are its present figures and, for some tabs, sections of the report.
        """
        now = await self._present(watch, shown, tab, query)
        if tab not in REPORT_SECTIONS:
            return {"now": now}
        sections = await watch.report()
        names = ("note", *REPORT_SECTIONS[tab])
        return {"now": now, "report": join(*(sections.get(name) for name in names))}

    async def _present(
        self, watch: CrawlWatch, shown: ShownCrawl, tab: str, query: Mapping[str, str]
    ) -> Html:
        """Return the figures, answers or log lines of a tab as they are now."""
        match tab:
            case "hosts":
                by = _allowed(query.get("by"), HOSTS_BY)
                hosts, why_not = await self._answer(watch, shown, "hosts", "--by", by)
                content = answer_html(hosts, shown.link) if hosts is not None else note(why_not)
                return join(content, _levels(shown))
            case "errors":
                return await self._errors(watch, shown)
            case "seeds":
                return _seed_figures(shown)
            case "log":
                name = _allowed(query.get("name"), LOGS)
                return _log(shown, name, await _log_lines(watch, name, query.get("find", "")))
            case _:
                return figures_part(shown)

    async def _errors(self, watch: CrawlWatch, shown: ShownCrawl) -> Html:
        """Return the errors that a running crawl counts, and the end of errors.log."""
        errors, _ = await self._answer(watch, shown, "errors")
        counted = section(None, "Errors now", answer_html(errors, shown.link)) if errors else None
        tracebacks = await _log_lines(watch, TRACEBACKS, "")
        log = _plain_log(tracebacks) if tracebacks else note("None.")
        return join(counted, section(None, "Unexpected errors: the end of logs/errors.log", log))

    async def _answer(
        self, watch: CrawlWatch, shown: ShownCrawl, name: str, *words: str
    ) -> tuple[Any, str]:
        """Return a crawl's answer to a command that changes nothing, or None and why there is none."""
        is_hive = len(watch.crawl.drones) > 0
        if not shown.sample.answers:
            return None, "The crawl is not running, or does not answer."
        try:
            answer = await watch.shared_answer(
                (name, *words), lambda: self._ask(watch.crawl.jobdir, name, *words)
            )
        except CommandError as error:
            if "is not a command" in str(error):  # the crawl runs an earlier version
                return None, f"This crawl does not know the command {name}."
            return None, f"{error}."
        except NotRunning:
            return None, SERVER_AWAY if is_hive else "The crawl has just ended."
        return _by_drone(answer) if is_hive else answer, ""

    async def _host_page(self, watch: CrawlWatch, shown: ShownCrawl, host: str) -> Html:
        record, why_not = await self._answer(watch, shown, "host", host)
        queue = None
        if record is not None:
            queue, _ = await self._answer(watch, shown, "queue", host)
        return _host_content(shown, host, record, why_not, queue)

    async def _why_page(self, watch: CrawlWatch, shown: ShownCrawl, url: str) -> Html:
        """Return what is known of a URL, or a form to ask for one if it is empty."""
        explanation = None
        error_text = ""
        if len(url) > MAX_URL_CHARS:
            url = ""
            error_text = f"The URL has more than {MAX_URL_CHARS} characters."
        elif url:
            try:
                explanation = await watch.shared_answer(
                    ("why", url), lambda: self._why(watch.crawl.jobdir, url)
                )
            except (ValueError, OSError, StoreError, NotRunning) as error:
                error_text = f"No answer: {error}"
        return _why_content(shown, url, explanation, error_text)


async def _search_page(watch: CrawlWatch, shown: ShownCrawl, words: str) -> Html:
    """Return a form for a search, and the pages with these words if there are any."""
    error_text = ""
    found: FoundPages | None = None
    try:
        if words:
            found = await watch.shared_answer(
                ("search", words), lambda: _search(watch.crawl.jobdir, words)
            )
    except ImportError:
        error_text = missing("tantivy")
    except (StoreError, OSError) as error:
        error_text = str(error)
    form = tag(
        "form",
        field("Words or a URL", "find", words, kind="search", maxlength=str(MAX_URL_CHARS)),
        button("Search", class_="main"),
        method="get",
        action=shown.at("search"),
        class_="row",
    )
    if error_text:
        answer: Html | None = tag("p", error_text, class_="refused")
    elif found is not None:
        answer = _found_content(found)
    else:
        answer = None
    return section(None, "Search", form, answer)


class FoundPages(NamedTuple):
    """The result of a search."""

    total: int
    pages: list[FoundPage]  # the best
    remarks: list[str]  # on the query, and on indexes that cannot be read


def _search(jobdir: Path, words: str) -> FoundPages:
    """Return the best pages. Raise ImportError without tantivy, StoreError or OSError."""
    search = search_of(jobdir)
    total, pages = search.find(words, MAX_PAGES)
    unread = [f"{error}; its pages are not among these" for error in search.unread]
    return FoundPages(total, list(pages), [*filter(None, [search.remark]), *unread])


def _found_content(found: FoundPages) -> Html:
    """Return the pages in a list. URLs are no links, because the pages may be hostile."""
    items = [
        tag(
            "li",
            tag("b", page.title or "(no title)"),
            tag("p", page.url),
            tag("p", *_with_bold_words(page.snippet)),
            tag("p", f"Nearly the same: {', '.join(page.similar)}") if page.similar else None,
        )
        for page in found.pages
    ]
    part_of = f"{len(items)} of " if len(items) < found.total else ""
    lead = tag("p", f"{part_of}{numbers.count(found.total, 'page')}.", class_="lead")
    return join(*map(note, found.remarks), lead, tag("ol", *items))


def _with_bold_words(snippet: Snippet) -> Iterator[Html]:
    text, ranges = snippet
    last_end = 0
    for start, end in ranges:
        yield tag("span", text[last_end:start])
        yield tag("b", text[start:end])
        last_end = end
    yield tag("span", text[last_end:])


def _by_drone(answer: Any) -> Any:
    """Return the answers of a hive's drones by their names, or a hive's own answer as it is."""
    rows = answer.get("drones") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        return answer
    have_answers = all(isinstance(row, dict) and "answer" in row for row in rows)
    if not have_answers:
        return answer
    return {f"drone {row.get('drone')}": row["answer"] for row in rows}


async def _log_lines(watch: CrawlWatch, name: str, wanted: str) -> list[str]:
    """Return the last lines of a log with a text in them, the latest first; of all drones of a hive.

    Lines of a traceback stay in their order, and each drone has an equal share of the lines.
    """

    def read() -> list[str]:
        by_crawl = [last_lines(one.jobdir, name, wanted, MAX_LINES) for one in watch.crawl.crawls]
        if name == TRACEBACKS:
            share = MAX_LINES // len(by_crawl)
            return [line for lines_ in by_crawl for line in reversed(lines_[:share])]
        if len(by_crawl) == 1:
            return by_crawl[0]
        # Lines begin with their time.
        return sorted(chain.from_iterable(by_crawl), reverse=True)

    found: list[str] = await watch.shared_answer(("log", name, wanted), read)
    return found[:MAX_LINES]


def last_lines(jobdir: Path, name: str, wanted: str, max_lines: int) -> list[str]:
    """Return the last lines of a log that contain a text, the latest first.

    Return none for a name that is not in LOGS, and if the file is missing; if it cannot be read, a
    line that says why.
    """
    if name not in LOGS:
        return []
    try:
        with regular(jobdir / "logs" / name) as file:
            size = file.seek(0, 2)
            file.seek(max(size - LOG_TAIL_BYTES, 0))
            tail = file.read(LOG_TAIL_BYTES).decode("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"cannot be read: {words_of(error)}"]
    if size > LOG_TAIL_BYTES:
        del tail[0]  # a part of a line
    found = [line[:MAX_LINE_CHARS] for line in reversed(tail) if line and wanted in line]
    return found[:max_lines]


def _allowed(given: str | None, allowed: Iterable[str]) -> str:
    """Return a value of a query if it is an allowed one, else the first of those."""
    first, *others = allowed
    return given if given is not None and given in others else first


def _host_content(shown: ShownCrawl, host: str, record: Any, why_not: str, queue: Any) -> Html:
    """Return the page of a host: its record, its next URLs, and buttons to command it."""
    back = tag("a", "All hosts", href=shown.at("hosts"))
    if record is None:
        return section(None, host, note(why_not), tag("p", back))
    labels = {"pause": "Pause", "resume": "Resume", "retry": "Retry now", "drop": "Drop…"}
    forms = [
        shown.site.form(
            shown.at("commands"),
            hidden("words", shlex.join((host, verb))),
            button(
                label, class_="danger" if verb == "drop" else None, name="command", value="host"
            ),
        )
        for verb, label in labels.items()
    ]
    buttons = tag("div", *forms, class_="buttons")
    next_urls = None
    if queue is not None:
        next_urls = section(None, "Its next URLs", answer_html(queue, shown.link))
    return join(
        section(None, host, answer_html(record, shown.link), more=buttons),
        next_urls,
        tag("p", back),
    )


def _levels(shown: ShownCrawl) -> Html | None:
    """Return a table of the front-end's levels, or None if the crawl does not tell them."""
    levels = shown.sample.figures.get("levels")
    if not isinstance(levels, list) or not levels:
        return None
    are_numbers = all(isinstance(urls, int) for urls in levels)
    if not are_numbers:
        return None
    whole = max(sum(levels), 1)
    rows: list[list[Cell]] = [
        [f"Level {level}", urls, urls / whole] for level, urls in enumerate(levels)
    ]
    title = "Front-end: URLs by level, each picked twice as often as the next"
    columns = [TableColumn("Level"), TableColumn("URLs", "number"), TableColumn("Share", "share")]
    return join(tag("h3", title), elements.table(None, columns, rows, title))


def _seed_figures(shown: ShownCrawl) -> Html:
    seeds = int(shown.sample.number("seeds"))
    bad_lines = int(shown.sample.number("bad_seeds"))
    unread = f", {numbers.count(bad_lines, 'line')} could not be read" if bad_lines else ""
    return tag("p", f"{numbers.count(seeds, 'seed')} read from the lists{unread}.", class_="lead")


def _seed_form(shown: ShownCrawl) -> Html:
    """Return a form with a field for seeds, one per line."""
    text = tag(
        "textarea",
        name="seeds",
        rows="4",
        required="",
        spellcheck="false",
        placeholder="https://example.com/",
    )
    label = tag("label", tag("span", "URLs or domains, one per line"), text)
    form = shown.site.form(
        shown.at("seeds"), label, button("Add seeds", class_="main"), class_="paste"
    )
    return section(None, "Add seeds", form)


def _with_finder(shown: ShownCrawl, name: str, wanted: str, now: Html) -> Html:
    """Return a log, below links to the other logs and a form to find lines with a text in them."""
    links = {log: shown.at("log", name=log, find=wanted) for log in LOGS}
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


def _plain_log(log_lines: Sequence[str]) -> Html:
    return tag("pre", lines("\n".join(log_lines)), tabindex="0", class_="log")


def _log(shown: ShownCrawl, name: str, log_lines: Sequence[str]) -> Html:
    """Return the lines of a log; those of crawl.log as a table, unless one is damaged."""
    if not log_lines:
        return note("No such line in the last part of this log, or no such log yet.")
    fields_of_lines = [line.split() for line in log_lines]
    is_table = name == "crawl.log" and all(len(fields) == FIELDS for fields in fields_of_lines)
    if not is_table:
        return _plain_log(log_lines)
    rows = [_log_row(fields) for fields in fields_of_lines]
    return join(note("Latest first."), table(rows, shown.link, name))


def _log_row(fields: Sequence[str]) -> Mapping[str, Any]:
    """Return the cells of a line of crawl.log, by column."""
    when, status, size, url, path, _, kind, _, fetched, *_ = fields
    milliseconds = fetched.partition("+")[2]
    return {
        "time": when[11:19],
        "status": status,
        "URL": url,
        "size": int(size) if size.isdecimal() else None,
        "took": numbers.seconds(int(milliseconds) / 1000) if milliseconds.isdecimal() else "-",
        "type": kind,
        "path": path,
    }


def _why_content(shown: ShownCrawl, url: str, explanation: Any, error_text: str) -> Html:
    """Return a form for a URL, and what is known of the URL or why there is no answer."""
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
    if error_text:
        answer = tag("p", error_text, class_="refused")
    elif explanation is None:
        answer = note(
            "What became of it, or will, and why: filters, queue, robots.txt, its host, its log lines, its record."
        )
    elif isinstance(explanation, dict) and "state" in explanation:
        verdict = tag(
            "p",
            tag("b", str(explanation["state"])),
            ": ",
            str(explanation.get("reason", "")),
            class_="verdict",
        )
        above = ("state", "reason", "url")
        details = {name: value for name, value in explanation.items() if name not in above}
        answer = join(verdict, answer_html(details, shown.link))
    else:
        answer = answer_html(explanation, shown.link)
    return section(None, "Why?", form, answer)
