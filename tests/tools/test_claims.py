"""Every sentence that states a fact on a crawl is true where it is said: each is made true once, and false once.

A row of CLAIMS is a sentence as the code has it, a state of which it is said, and one of which it is not.
"""

import asyncio
import html
import re
from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from functools import partialmethod
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import DEFAULT, AsyncMock, MagicMock, patch
from zlib import crc32

import pytest
import zstandard
from scrapy import Request
from scrapy.exceptions import CloseSpider, DownloadCancelledError, IgnoreRequest
from scrapy.settings import Settings

from tests.crawl.hive.test_drone_report import report as drone_report
from tests.crawl.hive.test_supervising import Scene
from tests.crawl.hive.test_wire import HIVE, LETTER, sealed
from tests.support.archive_files import gzipped, response
from tests.support.claims import pattern
from tests.support.objectstore import FakePlace
from tests.support.outputs import Crawl as Outputs
from tests.support.waiting import eventually
from tests.support.warc_crawl import exchange
from webcrawl import settings
from webcrawl.adapter import (
    checkpointing,
    downloader,
    earlier_pages,
    feeds,
    finished_crawl,
    handlers,
    hive_membership,
    last_pages,
    periodic,
    preflight,
    request_meta,
    request_passage,
    robots_request,
    scheduler,
    scoring_ahead,
    seed_fates,
    standstill,
)
from webcrawl.adapter.extensions import (
    byte_limit,
    checkpoints,
    control,
    disk_space,
    identity,
    process_progress,
    progress,
    redis_seeds,
    statistics,
    summary,
    trim,
    websub,
)
from webcrawl.adapter.last_lines import last_lines as of_figures
from webcrawl.adapter.request_links import CannotBeKept, CannotBeMade
from webcrawl.adapter.spiders import web
from webcrawl.adapter.trip import Trip, give_trip
from webcrawl.base.errors import CannotStart
from webcrawl.base.model import Link, Outcome, Status
from webcrawl.base.page_values import Scored
from webcrawl.base.program import program
from webcrawl.content.formats import reader_process
from webcrawl.crawl import bound, clock, host_orders, last_run, open_revisits, own_features
from webcrawl.crawl.bound import Cause, Look, Tally
from webcrawl.crawl.checks import SettingError
from webcrawl.crawl.control.answer_text import status
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.commands import obey
from webcrawl.crawl.control.in_force import PausedHosts
from webcrawl.crawl.hive import carrying, coordinator, letter, supervising
from webcrawl.crawl.hive.drone_identity import Identity
from webcrawl.crawl.hive.drone_report import State as Drone
from webcrawl.crawl.hive.errors import Away, ForeignMessage, Full, HiveError
from webcrawl.crawl.hive.hive_folder import Founding
from webcrawl.crawl.hive.operator import Look as HiveLook
from webcrawl.crawl.hive.partition import SlotMap
from webcrawl.crawl.hive.queen import GRACE, Decisions, Queen, Wanted
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.lost_requests import Refusal
from webcrawl.crawl.metrics import collector
from webcrawl.crawl.outlook import Outlook
from webcrawl.frontier.wait_words import ASIDE, CRAWL_DELAY, FAILURE, NO_WAY, RETRY_AFTER, ROBOTS, WALL, Waits
from webcrawl.net import address_families, dns, dns_silence, http2_offers, shortage
from webcrawl.net.dns_answer import Answer, Failure
from webcrawl.net.errors import BadOption, Http2Only, PortRefused, Untried
from webcrawl.net.http_answerer import CannotListen
from webcrawl.net.http_request import parse_target
from webcrawl.record.archives import archives
from webcrawl.record.objectstore import stored, upload
from webcrawl.record.since.cdx_server import NoAnswer as Unanswered
from webcrawl.record.statistics.statistics import DEEPEST, Statistics
from webcrawl.store import disk as disk_store
from webcrawl.store import outputs
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.errors import StoreError, TakenAway
from webcrawl.store.jobdir import revisit_figures
from webcrawl.store.jobdir.crawl_line import CrawlLine
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.store.jobdir.revisit_figures import RevisitFigures
from webcrawl.store.jobdir.series import Series
from webcrawl.store.user_files import UserFiles
from webcrawl.tools.account import account_page
from webcrawl.tools.account.site_account import Account, AccountRow, Gap, Site
from webcrawl.tools.commands import segments as segments_command
from webcrawl.tools.commands import verify
from webcrawl.tools.dashboard import contents, crawl_states, dashboard_server, live_report
from webcrawl.tools.dashboard.crawl_states import Known, Sample
from webcrawl.tools.dashboard.pages import command_pages, crawl_list, crawl_page, tabs
from webcrawl.tools.dashboard.pages.crawl_page import Shown
from webcrawl.tools.dashboard.signs import signs, waits_for
from webcrawl.tools.report import report_page, revisit_source
from webcrawl.tools.report.log_summary import Log, SeedRow
from webcrawl.tools.report.report_source import Source, State, Waiting, Walled
from webcrawl.tools.report.revisit_source import Announced, Revisits
from webcrawl.tools.report.sections import document_sections, overview, revisit_section, seeds, server_sections, waiting
from webcrawl.tools.segments.segment import Cut
from webcrawl.tools.supervisor import adopt, asked, display, hive_orders, hive_run, hive_status, servers
from webcrawl.tools.wacz import packable_archives
from webcrawl.tools.wacz.packable_archives import CannotPack, archives_of_all
from webcrawl.urls.filters.scope import ScopeFilter
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.optout import OptOut
from webcrawl.urls.seeds import seed_list
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.seeds.seed_rows import SeedError

JOB = Path("job")
PLACE = crawl_page.Site("", "token")
LED, DENIED = Answer(("192.0.2.1",)), Answer(failure=Failure.NO_NAME)
PROVEN = OptOut("example.org", 1.8e9 - 60, "proof of control (file)", "here")


# -- what says them, of a state


def last_lines(figures):
    state = Figures({"statistics": {"outcomes": figures.get("outcomes", {})}, **figures})
    return "\n".join(of_figures(JOB, state, 9.0, state["before"]))


def first_and_last(state):
    """What the extension says around a crawl."""
    state = Figures({"pages": 0, "queued": 0, "failures": 0, "in_flight": 0, "hosts_aside": 0, **state})
    statistics = SimpleNamespace(outcomes={}, series=SimpleNamespace(start=1))
    seeding = SimpleNamespace(former=state.get("former", ""))
    parts = SimpleNamespace(counters=Counter(), statistics=statistics, seeding=seeding)
    outlook = SimpleNamespace(bound=str, waits=Waits, servers="")
    crawl = SimpleNamespace(stats=lambda: state, cut_short=state["cut_short"], outlook=outlook, parts=parts)
    fates = SimpleNamespace(lines=lambda: state.get("fates", []))
    keeping = SimpleNamespace(kept=state)
    scheduler = SimpleNamespace(crawl=crawl, failed=state.get("failed"), fates=fates, keeping=keeping)
    scheduler.was_complete = state["was_complete"]
    crawler = SimpleNamespace(spider=SimpleNamespace(seed_lists=state.get("seeds", "")), stats=None)
    values = {"URL_SCOPE": state.get("scope", "any"), "HIVE_DRONES": 0, "OUTPUTS": ()}
    with (
        patch.multiple(summary, scheduler_of=lambda _: scheduler, values_of=lambda _: values),
        patch.object(summary.logger, "info") as log,
        patch.object(summary.logger, "warning", log),
    ):
        extension = summary.Summary(crawler, Path("/"), aloud=False)
        extension._crawl, extension._begun, extension._before = crawl, 0.0, state["before"]
        extension.closed(state.get("reason", "finished"))
        return "\n".join((extension.beginning(), *(call.args[0] % call.args[1:] for call in log.call_args_list)))


class Figures(dict):
    """Counters, and whatever else a crawl says of itself."""

    def __missing__(self, _):
        return 0


def progress_line(figures):
    figures = Figures(figures)
    outlook = SimpleNamespace(
        ready_hosts=lambda: figures["ready"],
        trouble=figures.get("trouble", ""),
        all_waits=lambda _: str(figures.get("waits", Waits())),
    )
    crawl = SimpleNamespace(parts=SimpleNamespace(counters=figures), stats=lambda: figures, outlook=outlook)
    lines = progress.Lines(crawl, SimpleNamespace(progress=lambda: figures.get("fate", "")))
    return f"{lines.line()}\n{lines.short()}"


def process_lines(figures):
    return "\n".join(process_progress.summary(JOB, Figures(figures), 9.0, figures.get("before", 0)))


def processing(state):
    """Beginning, progress and end of a run over archives."""
    state = Figures({"pages": 0, "queued": 0, "hosts_aside": 0, **state})
    outlook = SimpleNamespace(ready_hosts=lambda: 0, trouble="", servers="", all_waits=lambda _: "")
    crawl = SimpleNamespace(stats=lambda: state, parts=SimpleNamespace(counters=state), outlook=outlook)
    archives = MagicMock(done=state["done"], size=9, number=1)
    reader = SimpleNamespace(archives=archives, unfinished=state["unfinished"])
    scheduler = SimpleNamespace(failed=None)
    with (
        patch.object(process_progress, "reader_of", lambda _: reader),
        patch.object(summary, "scheduler_of", lambda _: scheduler),
    ):
        extension = process_progress.RereadingSummary(SimpleNamespace(stats=None), JOB, aloud=False)
        extension._crawl, extension._before = crawl, state["before"]
        lines = process_progress.ArchiveLines(crawl, archives)
        return "\n".join((extension.beginning(), lines.line(), lines.short(), *extension.end(9.0)))


def bound_by(state):
    """Causes and looks; `now`: what the crawl says of itself in the end."""
    tally, now, looks = Tally(), state.get("now"), {cause: look for cause, look in state.items() if cause != "now"}
    for cause, look in looks.items():
        tally.add(Look(**{"seconds": 5.0, **look}), Cause(cause))
    counted = {f"bound/{cause}": 5 for cause in looks}
    return f"{bound.sentence(tally, now)}\n{bound.in_words(counted)}"


def ctl_status(figures):
    return "\n".join(status(figures))


def waits(state):
    return str(Waits(host="a.test", seconds=9.0, **state))


def hive_table(common):
    rows = [dict.fromkeys(hive_status.COLUMNS, 0)] if common.get("rows") else []
    usual = {"name": "h", "state": "running", "running": 2, "meant": 2, "changing": False, "queen": None}
    return "\n".join(hive_status.table(rows, {**usual, "server_bytes": 0, **common}))


def hive_line(figures):
    drones = 2, figures.get("down", ()), figures.get("silent", ())
    return f"{display.line(figures, 1.0, *drones)}\n{display.short_line(figures, 1.0, *drones)}"


def verified(found):
    return "\n".join(verify._summary("job", Counter(found)))


def source(state):
    """What a report is made of; names of the state are fields, with dots between."""
    made = Source(JOB, b"k" * 16, Statistics(b"k" * 16), True, *(Counter() for _ in range(3)), {}, {}, {}, State())
    for name, value in state.items():
        *path, last = name.split(".")
        place = made
        for one in path:
            place = getattr(place, one)
        setattr(place, last, value)
    return made


def text(page):
    """What a page says, what charts say of themselves included."""
    said = re.sub(r'<[^>]* aria-label="([^"]*)"[^>]*>', r"\1", str(page))
    return html.unescape(re.sub(r"<[^>]+>", "", said))


def report_overview(state):
    made, log = source(state), Log()
    parts = overview.overview(made, log), overview.over_time(made), overview.outcomes(made), overview.wrong(made)
    return "\n".join(map(text, (*parts, overview.bound(made))))


def report_waiting(state):
    state = dict(state)
    log = Log(slowest=state.pop("slowest", []))
    made = source(state)
    parts = (
        waiting.skipped(made),
        waiting.waiting(made),
        waiting.disk(made),
        waiting.terms(made, {}),
        waiting.extremes(log),
    )
    return "\n".join(map(text, parts))


def report_servers(state):
    state = dict(state)
    made = source({"drones": [source({"clean": state.pop("clean")})] if "clean" in state else []})
    made.statistics.hosts.level = state.pop("level", 0)
    made.statistics.documents = sum(figures[0] for figures in state.values())
    for host, figures in state.items():
        made.statistics.hosts.row(host)[:5] = figures
    return "\n".join(
        map(text, (server_sections.servers(made), server_sections.domains(made), server_sections.drones(made) or ""))
    )


def report_seeds(state):
    state = dict(state)
    log, rows = Log(), state.pop("rows", [])
    log.seeds = MagicMock(more=state.pop("more", 0))
    log.seeds.__len__.return_value, log.seeds.ended = len(rows), sum(row.status != 0 for row in rows)
    log.seeds.rows.return_value = rows
    log.seeds.missing.return_value = state.pop("missing", [])
    log.seeds.outcomes.return_value = Counter(row.status for row in rows)
    return text(seeds.seeds(source(state), log))


def seed(status, *, redirected=False):
    return SeedRow("http://a.test/", status, redirected, 1, 0, 0, 0)


def report_head(state):
    log, made = SimpleNamespace(damaged=0, missing=0), source({})
    for name, value in state.items():
        setattr(log if hasattr(log, name) else made, name, value)
    return f"{text(report_page._state(made))}\n{text(report_page.odd(made, log) or '')}"


def report_revisits(state):
    """Names of the state are of figures, but for `hosts` and `past`."""
    state = dict(state)
    more = {name: state.pop(name) for name in ("hosts", "past") if name in state}
    return text(revisit_section.revisits(source({"revisits": Revisits(RevisitFigures(**state), **more)})))


def report_documents(state):
    """`near`: pages of which fingerprints are noted; all else is of the statistics."""
    state = dict(state)
    with TemporaryDirectory() as folder:
        made = source({"jobdir": Path(folder)})
        if "near" in state:
            (Path(folder) / "logs").mkdir()
            log = "".join(
                f"{one:016x} {at} 9\n" if one >= 0 else "damaged\n" for at, one in enumerate(state.pop("near"))
            )
            (Path(folder) / document_sections.NEAR).write_text(log)
            made.outputs[document_sections.NEAR] = len(log)
        for depth in state.pop("depths", ()):
            made.statistics.depths[depth] += 1
            made.statistics.documents += 1
        for name, value in state.items():
            setattr(made.statistics, name, value)
        parts = (document_sections.types, document_sections.copies, document_sections.depth)
        made.statistics.times[3] += 1
        return "\n".join(text(part(made)) for part in parts)


def stood(state):
    """What is said of a loop at which somebody has looked so many times, and that `turns` or not."""
    loop = MagicMock(call_soon_threadsafe=(lambda turn: turn()) if state.get("turns") else str)
    with (
        patch.multiple(standstill, Worker=MagicMock(), _speak=lambda say, *words: say(*words)),
        patch.object(standstill.os, "_exit"),
        patch.multiple(standstill.logger, warning=DEFAULT, critical=DEFAULT) as log,
    ):
        watch = standstill.Standstill(loop, lambda: "of this run")
        watch._over = MagicMock(wait=MagicMock(side_effect=[*[False] * state["looks"], True]))
        if state.get("told"):
            watch.told()
        watch._watch()
        return "\n".join(call.args[0] % call.args[1:] for one in log.values() for call in one.call_args_list)


def at_the_end(state):
    """What is said while a crawl closes: of its last pages, and of pipelines that close or do not."""

    async def close():
        await asyncio.sleep(state.get("seconds", 0.0))

    path = MagicMock(unreturned=lambda: dict.fromkeys(map(Request, state.get("pages", ()))))
    with (
        patch.multiple(last_pages, call_later=MagicMock(), SAID=0.02, CLOSED=0.03),
        patch.multiple(last_pages.logger, warning=DEFAULT, error=DEFAULT) as log,
    ):
        pages = last_pages.LastPages(path, "left to the next run")
        pages._say()
        pages._cancel()
        asyncio.run(last_pages.closed(close, lambda: True))
        return "\n".join(call.args[0] % call.args[1:] for one in log.values() for call in one.call_args_list)


def packable(state):
    """What is said of these `crawls`, by name, whose folders of archives have these files; `noted`: finished ones."""
    noted, stored = set(state.get("noted", ())), {f"warc/{one}": "s3://b" for one in state.get("stored", ())}
    more = {"_noted": lambda _: noted, "elsewhere": lambda _: {**stored, "tables/a": "s3://b"}}
    with (
        TemporaryDirectory() as folder,
        patch.multiple(packable_archives, is_held=lambda _: state.get("runs", True), **more),
    ):
        for crawl, names in state["crawls"].items():
            (Path(folder) / crawl / "warc").mkdir(parents=True)
            for name in names:
                (Path(folder) / crawl / "warc" / name).touch()
        try:
            return "\n".join(archives_of_all([Path(folder) / crawl for crawl in state["crawls"]]).left_out)
        except CannotPack as error:
            return str(error)


def drones_revisits(each):
    """What is said of the revisits of drones that have these figures."""
    return revisit_figures.in_words(revisit_figures.together(RevisitFigures(**one) for one in each))


def left_bytes(runs):
    """What is said of bytes that no checkpoint of a crawl has, which runs or not."""
    log = []
    with patch.multiple(archives, is_locked=lambda _: runs, logger=tellers(log)):
        archives.tell_left(JOB / "warc/a.warc.gz.open", 9)
    return "\n".join(log)


def archived(state):
    """What is said while an archive is read, that was `read` so far before; `revisits`: of pages that are nowhere."""
    log, place = [], archives.Place(state.get("read", 0), 0)
    revisit = response("http://a.test/x", b"", WARC_Refers_To="<urn:x>").replace(b"response", b"revisit", 1)
    originals = MagicMock(find=lambda _: ())
    with TemporaryDirectory() as folder, patch.object(archives, "logger", tellers(log)):
        path = Path(folder) / f"a.warc.gz{'.open' if state.get('open') else ''}"
        path.write_bytes(gzipped([response("http://a.test/"), *[revisit] * state.get("revisits", 0)]))
        path.write_bytes(path.read_bytes() + state.get("tail", b""))
        try:
            list(archives.Archives([path], lambda _: place, originals, 1 << 20))
        except StoreError as error:
            log.append(str(error))
    return "\n".join(log)


def looked_at(state):
    """What is said of a finished file that is in a store, and may be `here`, too."""
    noted = {"warc/a.warc.gz": STORED_FILE}
    with TemporaryDirectory() as folder, patch.object(stored, "stored_of", lambda _: (noted, "")):
        (Path(folder) / "warc").mkdir()
        if state.get("here"):
            (Path(folder) / "warc/a.warc.gz").touch()
        return "\n".join(stored.not_looked_at(Path(folder), "warc", (".warc.gz",)))


def sent(state):
    """What is said of a file that is stored, and of tries that end as `fails` says; `has`: what lies there before."""
    place, log = FakePlace(), []
    place.files, place.cuts = {"a": state["has"]} if "has" in state else {}, state.get("cuts")
    with TemporaryDirectory() as folder, patch.object(upload, "logger", tellers(log)):
        path = Path(folder) / "a"
        if state.get("here", True):
            path.write_bytes(b"record")
        going = (lambda: path.write_bytes(b"recorx")) if state.get("changes") else str
        if "back" in state:
            place.read = lambda _: (piece for piece in [state["back"]])
        try:
            upload.upload(place, path, "a", crc32(state.get("noted", b"record")), set(), going)
        except (upload.Refused, upload.Differs) as error:
            log.append(str(error))
        sender = upload.Sender("s3://b", FakePlace, count(step=1e3).__next__)
        for error in state.get("fails", ()):
            with patch.object(upload, "upload", side_effect=[error or (SimpleNamespace(), "")]):
                sender._send("a", path, 0)
        sender.close()
    return "\n".join(log)


def tellers(log):
    """A logger whose lines go to this list."""
    return MagicMock(
        **{f"{name}.side_effect": lambda *said: log.append(said[0] % said[1:]) for name in ("info", "warning")}
    )


def disk(free):
    """What is said of a disk that has so many MiB free, look by look, where 100 are the least."""
    with (
        patch.multiple(disk_space, Loop=MagicMock(), hold=lambda *_, held, **__: "" if held else "fetching resumes"),
        patch.object(disk_space.shutil, "disk_usage", side_effect=[SimpleNamespace(free=one << 20) for one in free]),
        patch.multiple(disk_space.logger, warning=DEFAULT, info=DEFAULT) as log,
    ):
        extension = disk_space.DiskSpace(None, JOB, 100)
        for _ in free:
            extension.look()
    return logged(log)


def silence(answers):
    """What is said of name servers that answer so to questions for names of many domains, one every ten minutes."""

    async def asked():
        now = [1.0]
        silent = dns_silence.Silence(AsyncMock(return_value=Answer(failure=Failure.TIMEOUT)), lambda: now[0])
        for at, failure in enumerate(answers):
            silent.heard(f"a.x{at}.test", Answer(failure=failure), now[0])
            now[0] += 600.0
            for _ in range(9):
                await asyncio.sleep(0.001)
        await silent.close()

    with (
        patch.object(dns_silence, "GAP", 0.0),
        patch.multiple(dns_silence.logger, warning=DEFAULT, info=DEFAULT) as log,
    ):
        asyncio.run(asked())
    return logged(log)


def watched(state):
    """What is said while a hive of two drones is watched; `looks`: whether the server lets itself be asked."""

    async def watch():
        founding = SimpleNamespace(drones=(0, 1), wanted=state.get("wanted", ()), lost=())
        folder = MagicMock(known=lambda: founding, change=lambda changed: (founding, changed(founding)))
        server = SimpleNamespace(check=MagicMock(side_effect=state.get("server", lambda: False)))
        operator = MagicMock(
            close=AsyncMock(), resize=AsyncMock(), look=AsyncMock(side_effect=state.get("look", HiveLook))
        )
        watching = hive_run.Watching(folder, lambda: operator, server, tuple)
        after = SimpleNamespace(drones=(0, 1), wanted=())
        watching._change = MagicMock(followed=lambda before, _: after if "wanted" in state else before)
        watching._check_server()
        for _ in range(state.get("times", 1)):
            await watching._look(operator)

    with (
        patch.multiple(hive_run, saved=lambda _: {}, total=dict),
        patch.multiple(hive_run.logger, warning=DEFAULT, info=DEFAULT) as log,
    ):
        asyncio.run(watch())
    return logged(log)


def supervised(steps):
    """What is said of two drones.

    A step is seconds that pass, an end of a drone (number, status, reason), a signal to all, a line of drone 0, the
    drones that are wanted, or why none can be started.
    """
    scene = Scene()
    scene.begin(2)
    with patch.multiple(supervising.logger, warning=DEFAULT, info=DEFAULT, error=DEFAULT) as log:
        for step in steps:
            if step == "signal":
                scene.now += supervising.SAME
                scene.supervisor.signalled()
            elif isinstance(step, tuple):
                latest = {process.number: process for process in scene.started}
                scene.end(latest[step[0]], *step[1:])
            elif isinstance(step, str):
                scene.started[0].said.append(step)
            elif isinstance(step, list):
                scene.supervisor.add(step)
            elif isinstance(step, OSError):
                scene.lack = step
            else:
                scene.after(step)
    return logged(log)


def carried(sends):
    """What a drone says whose letters are sent with these ends, a minute apart or more; None: all have gone."""
    ends = iter(sends)

    async def send():
        if (end := next(ends, asyncio.CancelledError)) is not None:
            raise end
        contact.found()

    contact = carrying.Contact(MagicMock(), MagicMock())
    contact.there = MagicMock(wait=AsyncMock(), is_set=lambda: False)
    with (
        patch.object(carrying, "time", MagicMock(monotonic=count(1.0, carrying.REMIND).__next__)),
        patch.object(carrying.asyncio, "sleep", AsyncMock()),
        patch.multiple(carrying.logger, warning=DEFAULT, info=DEFAULT) as log,
        suppress(asyncio.CancelledError),
    ):
        letters = carrying.Carrying(MagicMock(), MagicMock(), contact, MagicMock(), MagicMock())
        letters.send_all = send
        asyncio.run(letters.out())
    return logged(log)


def read_letters(received):
    """What a drone says of a letter in its stream that its inbox receives so."""
    post, server = MagicMock(), MagicMock(read=AsyncMock(return_value=[("1-0", b"x")]))
    post.inbox.received.side_effect = received
    with patch.object(carrying.logger, "warning") as log:
        asyncio.run(carrying.Carrying(post, server, MagicMock(), MagicMock(), MagicMock())._read())
    return logged({"warning": log})


def reigned(decided):
    """What the queen says of her decisions in a hive of the drones 0 and 1, of which 0 is alive."""
    with patch.multiple(coordinator.logger, warning=DEFAULT, info=DEFAULT) as log:
        reign = coordinator.Reign(0, AsyncMock(), MagicMock(), ((),), MagicMock())
        asyncio.run(reign._act(Decisions(**decided), SimpleNamespace(members=(0, 1), alive=(0,))))
    return logged(log)


def connected(tries):
    """What is said of addresses that accept a connection, or fail with a route to them or without one."""
    with patch.multiple(address_families.logger, warning=DEFAULT, info=DEFAULT) as log:
        families = address_families.Families(lambda: 0.0)
        for address, end in tries:
            if end == "open":
                families.connected(address)
            else:
                families.failed(address, no_route=end == "no route")
    return logged(log)


def witnessed(steps):
    """What is said of answers to names, minutes apart, each with that to the names which led somewhere before."""

    async def asked():
        for at, (answer, again) in enumerate(steps):
            now[0], check.return_value = 60.0 * at, again
            await witnesses.confirm(f"x{at}.test", answer)

    now, check = [0.0], AsyncMock()
    witnesses = dns.Witnesses(check, lambda _: True, lambda: now[0])
    with patch.multiple(dns.logger, warning=DEFAULT, info=DEFAULT) as log:
        asyncio.run(asked())
    return logged(log)


def without_sockets(opened):
    """What is said of a pause for want of a socket, and of the quiet after it; none of it if `opened` is None."""
    calls, short = [], shortage.Shortage()
    short._after = lambda _, call: calls.append(call)
    with patch.multiple(shortage.logger, warning=DEFAULT, info=DEFAULT) as log:
        if opened is not None:
            short.begins("too many open files")
            calls.pop()()
            short.opened = opened
            calls.pop()()
    return logged(log)


def timed_out(late):
    """The cause of a time-out that is found so many seconds after its time."""
    with patch.object(shortage.asyncio, "get_running_loop", lambda: SimpleNamespace(time=lambda: late)):
        try:
            shortage.until(0.0)._judge(TimeoutError())
        except Untried as error:
            return str(error)
    return ""


def limited(error):
    """What is said of a limit of open files that is raised, or cannot be."""
    with (
        patch.multiple(shortage.resource, getrlimit=lambda _: (1, 2), setrlimit=MagicMock(side_effect=error)),
        patch.object(shortage.logger, "info") as log,
    ):
        shortage.raise_limit()
    return logged({"info": log})


def identified(state):
    """What is said at the start by a crawl with this USER_AGENT."""
    with patch.object(identity.logger, "warning") as log:
        identity.Identity({"USER_AGENT": state["agent"], "BOT_KEY": None}).opened()
    return logged({"warning": log})


def resumed(state):
    """What is said of settings that were so before, and are so now."""
    before, now = ({"spider": "web", **terms} for terms in state)
    try:
        last_run.refuse(JOB, before, now)
    except last_run.OtherTerms as error:
        return str(error)
    lines = last_run.late_outputs(before, now, JOB), last_run.more_pages(before, now, JOB)
    return "\n".join((*lines, *last_run.changes(before, now)))


def revisits_begun(state):
    """What is said at a start of pages that were fetched before."""
    with patch.multiple(open_revisits.logger, warning=DEFAULT, info=DEFAULT) as log:
        open_revisits._tell(**{"records": 0, "on": True, "late": False, **state})
    return logged(log)


def received(most):
    """What is said of 100 bytes that were received, with this limit."""
    with (
        patch.object(byte_limit, "close_spider"),
        patch.object(byte_limit.logger, "info") as log,
    ):
        extension = byte_limit.ByteLimit(MagicMock())
        extension._crawl = MagicMock(parts=MagicMock(counters={"bytes": 100}))
        extension._change({"CLOSESPIDER_BYTES": most})
    return logged({"info": log})


def at_checkpoints(state):
    """What is said of a checkpoint with these figures, or of a pipeline that has these hooks."""
    with patch.multiple(checkpoints.logger, warning=DEFAULT, info=DEFAULT) as log:
        if "hooks" in state:
            checkpoints._takes_part(SimpleNamespace(**dict.fromkeys(state["hooks"], str)))
        else:
            checkpoints._tell(0.5, state)
    return logged(log)


def pushed(state):
    """What is said of seeds of a server whose `turns` bring so many, or fail, and of so many `bad` entries."""
    crawl = MagicMock(outlook=MagicMock(ready_hosts=lambda: 1))
    scheduler = MagicMock(crawl=crawl)
    with patch.multiple(redis_seeds.logger, warning=DEFAULT, info=DEFAULT, error=DEFAULT) as log:
        values = {"MAX_IDLE_TIME_BEFORE_CLOSE": None}
        extension = redis_seeds.RedisSeeds(None, values, MagicMock(), "utf-8")
        extension._scheduler, extension._source = scheduler, "web:start_urls"
        extension._entries = redis_seeds.SeedEntries(SimpleNamespace(), "utf-8", 99)
        extension._taking = MagicMock(turn=AsyncMock(side_effect=state.get("turns", [])))
        for _ in state.get("turns", []):
            asyncio.run(extension._turn(scheduler))
        for _ in range(state.get("bad", 0)):
            extension._hand_on(state.get("entry", b"no url"))
    return logged(log)


def unanswered(answers):
    """What is said of CDX servers that answer so to the question for one page."""
    page = SimpleNamespace(url="http://a.test/", digest="x")
    with (
        patch.multiple(earlier_pages, CdxServer=MagicMock(), _find=MagicMock(side_effect=answers)),
        patch.multiple(earlier_pages.logger, warning=DEFAULT, info=DEFAULT) as log,
    ):
        servers = earlier_pages.CdxServers(["s"] * len(answers), "2099", list)
        asyncio.run(servers.holder(page))
        servers.close()
    return logged(log)


def metrics(figures):
    """What Prometheus is told that is not 0; `trouble`, `paused` and `times` are no figures."""
    trouble, paused, times = figures.get("trouble", ""), bool(figures.get("paused")), figures.get("times", ())
    figures = {**dict.fromkeys(("in_flight", "ready", "hosts", "hosts_aside"), 0), **figures}
    told = MagicMock(raise_to=str)
    look = collector.Look(figures, times, trouble, paused)
    families = collector.CrawlCollector(lambda: look, {}, {}, told).collect()
    return "\n".join(
        f"{family.documentation} {' '.join(one.labels.values())}"
        for family in families
        for one in family.samples
        if one.value
    )


def hive_begun(state):
    """What is said as a hive of two drones begins, and as it ends; `left`: drones of an earlier run, look by look."""
    folder = MagicMock(path="hive", running=MagicMock(side_effect=state.get("left", cycle([False]))))
    run, said = hive_run.HiveRun({}, MagicMock(folder=folder)), []
    run._own = run._url = run._operators = run._say_who_shares = run._watch = MagicMock()
    founding = SimpleNamespace(drones=(0, 1), wanted=state.get("wanted", ()))
    found = {"pages": 7, "answers": 9, "drones": [{"reason": reason} for reason in state.get("reasons", ("finished",))]}
    found |= {"reason": "finished", **state.get("figures", {})}
    with (
        patch.multiple(
            hive_run, Supervisor=MagicMock(), Watching=MagicMock(), Leftovers=MagicMock(), asyncio=MagicMock()
        ),
        patch.multiple(hive_run, saved=lambda _: found, last_lines=lambda *_: ["all of it"], signal=MagicMock()),
        patch.object(hive_run, "time", MagicMock(monotonic=MagicMock(side_effect=range(0, 999, 25)))),
        patch.multiple(hive_run.stats_file, write=MagicMock(side_effect=state.get("write")), plain=MagicMock()),
        patch.object(hive_run.sys, "stderr", MagicMock(write=said.append)),
        patch.multiple(hive_run.logger, critical=DEFAULT, warning=DEFAULT, info=DEFAULT) as log,
    ):
        try:
            run._wait_for_the_last_run(founding)
        except CannotStart as error:
            return "\n".join((*said, str(error)))
        run._crawl(founding, new=state.get("new", False))
    return "\n".join((*said, logged(log)))


def asked_of(state):
    """What is said to these `words` of a hive of the drones 0 and 1, of which those `alive` have a lease."""
    folder = MagicMock() if state.get("named", True) else None
    target = MagicMock(text="web", folder=folder, founding=folder and MagicMock(partition="host"))
    target.has_own_server = state.get("own", True)
    leases, places = dict.fromkeys(state.get("alive", (0, 1)), 1.0), dict.fromkeys((0, 1), (state.get("at", "here"), 7))
    owners = MagicMock(drones=(0, 1), owners=dict.fromkeys(range(1 << 16), 0))
    client = MagicMock()
    looked = AsyncMock(return_value=HiveLook(owners, places, {}, leases), side_effect=state.get("look"))
    with (
        patch.multiple(asked, Target=lambda *_: target, Client=lambda *_: client, given=lambda *_: "done"),
        patch.object(asked.socket, "gethostname", return_value="here"),
        patch.object(asked, "looked", looked),
    ):
        try:
            return str(asked.AskedHive({}, "web", 1.0, MagicMock()).ask(*state["words"].split()))
        except (CommandError, NotRunning) as error:
            return str(error)


def logged(log):
    return "\n".join(call.args[0] % call.args[1:] for one in log.values() for call in one.call_args_list)


def commanded(state):
    """The answer to an order; `new`: whether it changes anything; `excluded`: rules of records that are there then."""
    order = {"return_value": state.get("new", True)}
    in_force = SimpleNamespace(paused=False, held=state.get("held", ""))
    uplink = SimpleNamespace(out=state.get("trouble") == "no network", trouble=state.get("trouble", ""))
    stopped_by = Outlook(SimpleNamespace(in_force=in_force, uplink=uplink), dict).stopped_by
    crawl = MagicMock(stopped_by=stopped_by, pause=MagicMock(**order), resume=MagicMock(**order))
    crawl.exclude, crawl.excluded = MagicMock(**order), lambda: [OptOut(rule) for rule in state.get("excluded", ())]
    return obey(crawl, *state["order"].split())


def of_host(state):
    """What is logged of the `paused` hosts of former runs, and said of the last of these orders about a.test."""
    frontier, sheets = MagicMock(), MagicMock(told=list, sheets={"a.test": {"HOST_MAX_PAGES": 1}})
    frontier.core.is_foreign.return_value = state.get("foreign", False)
    frontier.look.host.return_value = {"queued": 1, "state": "healthy", **state.get("record", {})}
    frontier.steering.drop.return_value = 5, state.get("waits", False)
    frontier.steering.retry.return_value = state.get("due", 0.0)
    paused = PausedHosts(MagicMock(get=lambda _: None))
    for host in state.get("paused", ()):
        paused.add(host)
    in_force = MagicMock(paused=state.get("crawl", False), held=state.get("held", ""))
    uplink = MagicMock(out=False)
    more = {"sheets": sheets, "paused": paused, "in_force": in_force, "uplink": uplink, "rendered": None}
    with patch.object(host_orders.logger, "info") as log:
        orders = HostOrders(frontier, MagicMock(), MagicMock(), lambda: 0.0, str, **more)
    lines = [call.args[0] % call.args[1:] for call in log.call_args_list]
    for order, *words in state.get("orders", ()):
        try:
            said = getattr(orders, order)("a.test", *words)
        except CommandError as error:
            said = str(error)
    return "\n".join((*lines, said if state.get("orders") else ""))


def account(state):
    """The page for an owner of a.test, with requests at these times; `ends`: pages that ended without one."""
    state = dict(state)
    rows = [AccountRow(at, "GET", "http://a.test/", "-", 0) for at in state.pop("requests", ())]
    ends = [crawl_line(**one) for one in state.pop("ends", ())]
    with patch.object(account_page, "MOST", 2):
        return text(account_page.page(Account(JOB, Site("a.test"), rows, ends, **state), 99.0))


def crawl_line(status=200, via="", seed=""):
    return CrawlLine("", "", 1.0, status, 9, "http://a.test/x", "L", via, "", 0.5, 0.5, "", seed, "")


def asking(state):
    """What is said of a crawl that does not answer in time: it is `still`, or only what was asked takes long."""

    def exchange(_line, _patience, silent=None):
        if silent is not None:
            silent(7)
            raise TimeoutError
        if state["still"]:
            raise TimeoutError
        return b""

    client = Client(JOB, 90.0)
    with patch.object(client, "_exchange", exchange):
        try:
            return client.ask("checkpoint")
        except NoAnswer as error:
            return str(error)


def changing(state):
    """What is said of a change to the drones 0 and 1, when it is asked for or while it is waited for."""
    reports = {0: SimpleNamespace(stays=state.get("stays", ""), moving=())}
    alive, wanted = state.get("alive", [0]), frozenset(state.get("wanted", ()))
    look = HiveLook(reports=reports, leases=dict.fromkeys(alive, 9.0), wanted=wanted)
    operator = MagicMock(close=AsyncMock(), resize=AsyncMock())
    operator.look = AsyncMock(side_effect=[*[look] * state.get("looks", 1), *[Away("closed")] * 9])
    known, folder = SimpleNamespace(wanted=(0, 1), drones=(0,)), None
    if "supervised" in state:
        about = {"supervised": state["supervised"], "finished": state.get("finished", False)}
        folder = SimpleNamespace(path="job", known=lambda: known, **about)
    clock = MagicMock(side_effect=[0.0, *[state.get("seconds", 1.0)] * 9])
    try:
        with patch.object(hive_orders, "unsettled", lambda *_: ""):
            if state.get("changed"):
                made = hive_orders._changed(lambda: operator, None, lambda _: (0, 1), (), str)
            else:
                made = hive_orders.Waiting(operator, folder, (0, 1), (), clock).look()
            return str(asyncio.run(made))
    except CannotStart as error:
        return str(error)


def orders(state):
    """What is said of a hive of two drones that is to be paused; `state`: who is alive, and who of these has obeyed."""
    reports = {
        one: SimpleNamespace(applied=7 * (one in state["done"]), refusal=state.get("why", lambda _: ""))
        for one in (0, 1)
    }
    looks = (state.get("first", (0, 1)), state["alive"])
    seen = [HiveLook(reports=reports, leases=dict.fromkeys(alive, 9.0)) for alive in looks]
    operator = MagicMock(
        look=AsyncMock(side_effect=[*seen[: state.get("looks", 2)], Away("closed")]), command=AsyncMock(return_value=7)
    )
    operator.close = AsyncMock()
    target = SimpleNamespace(running=lambda: lambda: operator, folder=None)
    with patch.multiple(hive_orders, PATIENCE=-1.0, LOOKS=0.0):
        try:
            return hive_orders.given(target, "pause", ())
        except CannotStart as error:
            return str(error)


def shown(state, **known):
    """A crawl or hive as the dashboard has it, with these figures; `runs`: whether it is running."""
    known = SimpleNamespace(jobdir=JOB, id="1", name="a", drones=(), **known)
    sample = Sample(0.0, "running" if state.get("runs", True) else "stopped", state.get("figures", {}))
    return Shown(PLACE, known, sample, state.get("moments", ()))


def dashboard_head(state):
    """What a page of the dashboard says of any crawl, and what stands in its figures."""
    seen = shown(state)
    return text(crawl_page.join(crawl_page.state(seen), crawl_page.warnings(seen), crawl_page.figures_part(seen)))


def dashboard_list(state):
    """The list of crawls: those that run, and `stopped` ones; `drones` of each."""
    known, rows = Known("1", "a", JOB, (Known("2", "b", JOB),) * state.get("drones", 0)), []
    for number, name in ((state.get("running", 0), "running"), (state.get("stopped", 0), "stopped")):
        rows += [(known, Sample(0.0, name), state.get("moments", ()))] * number
    return text(crawl_list.crawls_parts(PLACE, rows, "crawls")["crawls"])


def dashboard_answers(state):
    """What is said of a question to a crawl, of an order to it, and of a URL; `fails`: how all of that does."""
    fails = state.get("fails")
    watch = SimpleNamespace(
        known=SimpleNamespace(jobdir=JOB, drones=state.get("drones", ())),
        answer=AsyncMock(return_value=[], side_effect=fails),
        order=AsyncMock(return_value="done", side_effect=fails),
    )
    seen, found, orders = shown(state), contents.Contents(None, None), contents.Ordering()
    _, said = asyncio.run(found._asked(watch, seen, "hosts"))
    name = asyncio.run(orders.give(watch, state.get("form", {"command": "pause"})))
    pages = [orders.said(seen, name)] if isinstance(name, str) else [command_pages.sure_content(seen, name, "")]
    pages.append(command_pages.commands_content(seen, ""))
    if "url" in state:
        watch.answer.side_effect = ValueError("no URL") if state["url"] == "" else None
        pages.append(asyncio.run(found._why_page(watch, seen, state["url"] or "x")))
    return "\n".join((said, *map(text, pages)))


def dashboard_tabs(state):
    """Tabs on logs and seeds."""
    shown = MagicMock(sample=Sample(0.0, "running", state.get("figures", {})))
    parts = (tabs.lines_part(shown, "crawl.log", state.get("log", ())), tabs.seeds_part(shown))
    return "\n".join(map(text, parts))


def dashboard_report(state):
    """What stands above the report's sections; `left`: bytes of the log that are not read, `whole`: statistics."""
    found = live_report.LiveReport(JOB, [], {})
    found._progress.left = state.get("left", 0)
    return text(found._note(source({"complete": state.get("whole", True)})))


def dashboard_signs(state):
    sample, moments = Sample(0.0, state.get("state", "running"), state, state.get("note", "")), state.get("moments", ())
    with patch("webcrawl.tools.dashboard.signs._free", return_value=state.get("free", 1 << 40)):
        return "\n".join((waits_for(sample, moments), *signs(sample, moments, JOB)))


def moments(pages, no_answer=0):
    """A minute of a crawl that has five URLs queued."""
    first = Moment(*[0.0] * 10, mix=(0,) * 6, milliseconds=())._replace(queued=5)
    return [first, first._replace(at=60.0, pages=pages, mix=(0, 0, 0, 0, no_answer, 0))]


def no_seed(state):
    """Of a crawl whose seeds gave nothing; `forbidden`: hosts whose robots.txt is against theirs."""
    parts = SimpleNamespace(
        log=SimpleNamespace(hearers=[]),
        statistics=SimpleNamespace(outcomes=state.get("outcomes", {})),
        pipeline=SimpleNamespace(
            filtered=state.get("filtered", {}),
            chain=SimpleNamespace(filters=[ScopeFilter("host", RegisteredDomains(), bytes(16))]),
        ),
        discovery=SimpleNamespace(heard_of=state.get("seeds", ()).__contains__),
    )
    fates = seed_fates.SeedFates(SimpleNamespace(parts=parts), state.get("hops", 5))
    for name in state.get("forbidden", ()):
        parts.log.hearers[0](Link(f"http://{name}/"), Outcome(Status.ROBOTS_FORBIDDEN), None)
    if (target := state.get("leads")) is not None:
        moved = exchange(status=301, headers=[(b"Location", target.encode())])
        parts.log.hearers[0](Link(moved.url, state.get("path", "")), Outcome(301), moved)
    if via := state.get("refused"):
        fates.failed(Link("http://a.test/robots.txt", "P", via), PortRefused("refused"))
    return "\n".join((fates.progress(), *fates.lines()))


def started_again(state):
    """The refusal of a crawl that is complete, and what is said of one that begins anew."""
    figures = Figures(state)
    crawl = SimpleNamespace(stats=lambda: figures, pending=False, parts=SimpleNamespace(counters=figures))
    crawl.parts.seeding = SimpleNamespace(away=0)
    crawl.parts.outputs, crawl.parts.db = SimpleNamespace(unfinished=False), None
    said, terms = (
        "",
        ({"spider": "web", "OUTPUTS": "warc"}, {"spider": "web", "OUTPUTS": "warc", **state.get("now", {})}),
    )
    with (
        patch.object(finished_crawl.stats_file, "read", return_value={"reason": state.get("reason", "finished")}),
        patch.object(finished_crawl, "_terms", lambda *_: terms),
    ):
        try:
            finished_crawl.refuse_complete(JOB, crawl)
        except finished_crawl.NothingLeft as refusal:
            said = str(refusal)
    with TemporaryDirectory() as folder, patch.object(finished_crawl.logger, "warning") as log:
        (Path(folder) / "job/state").mkdir(parents=True)
        finished_crawl.make_room(Path(folder) / "job", again=state.get("again", False))
        return "\n".join((said, *(call.args[0] % call.args[1:] for call in log.call_args_list)))


def left_behind(state):
    """What the dashboard says of a crawl that does not answer, or of some drones that do."""
    if drones := state.get("drones"):
        return crawl_states.together({str(at): Sample(0.0, one) for at, one in enumerate(drones)}).note
    known = MagicMock(jobdir=Path(state.get("folder", "/")), drones=())
    ask, stats = MagicMock(side_effect=NotRunning("none")), MagicMock(read=lambda _: state["stats"])
    with patch.multiple(crawl_states, is_locked=lambda _: state.get("locked", False), stats_file=stats):
        return crawl_states.look(known, ask).note


def reigning(state):
    """What the queen of the drones 0 and 1 says; `looks`: the seconds of each, and who is alive then; `wanted`."""
    queen, said = Queen(), []
    reports = {one: drone_report(drone=one, **state.get("reports", {})) for one in (0, 1)}
    for now, alive in state["looks"]:
        decided = queen.look(now, reports, alive, SlotMap.fair((0, 1)), state.get("wanted"))
        said += [*decided.notices, decided.waits]
    return "\n".join(said)


def adopted(state):
    """What is said of the drone 1 of two, whose state is gone; `runs`: whether anybody runs the hive."""
    said, report = [], drone_report(drone=1, jobdir="/job", host="here", **state.get("report", {}))
    founding = Founding("h", "web", "host", 2, state.get("drones", (0, 1)), wanted=state.get("wanted", ()))
    folder = MagicMock(supervised=state.get("runs", False), known=lambda: founding)
    folder.change = lambda change: (founding, change(founding))
    folder.figures = lambda _: state.get("figures", {})
    look = HiveLook(
        SlotMap.fair(founding.drones), reports={} if "unknown" in state else {1: report}, leases=state.get("alive", {})
    )
    with patch.multiple(adopt, one_look=lambda _: look, give_up=lambda *_, **__: 0):
        try:
            adopt.adopt_lost(MagicMock(folder=folder), 1, said.append, sure=state.get("sure", True))
        except CannotStart as error:
            said.append(str(error))
    return "\n".join(said)


def given_away(state):
    """What is said of a drone that is run once more here; its process ends with these `ends`, look by look."""
    said, found = [], adopt.Found(JOB, Identity("id", "h", 1, 1), b"key")
    found = replace(found, **state.get("found", {}))
    report = {1: drone_report(drone=1, identity=state.get("id", "id"), jobdir="/job", host="here")}
    look = HiveLook(SlotMap.fair((0, 1)), reports=report, leases=state.get("alive", {}), key=b"key")
    process = MagicMock(poll=MagicMock(side_effect=cycle(state.get("ends", (0,)))), returncode=1)
    process.__enter__.return_value = process
    with (
        patch.multiple(adopt, one_look=lambda _: look, give_up=lambda *_, still, **__: still()),
        patch.multiple(adopt, subprocess=MagicMock(Popen=lambda *_, **__: process), time=MagicMock()),
        patch.object(adopt, "is_held", lambda _: state.get("held", False)),
    ):
        try:
            adopt.adopt(SimpleNamespace(name="h", folder=None), 1, found, [], said.append)
        except CannotStart as error:
            said.append(str(error))
    return "\n".join(said)


def clocked(jump):
    """What is said when the machine's clock jumps by so many seconds."""
    walls = iter((1e9, 1e9, 1e9 + jump))
    with patch.object(clock.logger, "warning") as log:
        now = clock.CrawlClock(MagicMock(get=lambda _: None), wall=walls.__next__, steady=float)
        now()
    return logged({"warning": log})


def asked_for_http2(state):
    """What is said of a server that wants HTTP/2, of a crawl that speaks it `way`."""
    target = parse_target(f"{state.get('scheme', 'https')}://a.test/")
    with (
        patch.object(http2_offers, "find_spec", lambda _: state.get("library", True) or None),
        patch.object(http2_offers.logger, "warning") as log,
    ):
        http2_offers.Http2Offers(state["way"]).tell(target, Http2Only(""))
    return logged({"warning": log})


def waited_for(tries):
    """What is said of a process that cannot be started in so many tries, a second apart."""
    reader = reader_process.ReaderProcess("PDFs", (), 1.0)
    reader.tries = tries
    with (
        patch.object(reader, "_open", MagicMock(side_effect=OSError("none"))),
        patch.object(reader_process.time, "sleep"),
        patch.object(reader_process.logger, "warning") as log,
        suppress(OSError),
    ):
        reader.ask(b"", str)
    return logged({"warning": log})


def controlled(state):
    """What is logged and answered of an order to a crawl; `keep`: what becomes of the checkpoint that has it."""
    said, listening = [], MagicMock(side_effect=state.get("listen"))
    with (
        patch.multiple(control, Commanding=MagicMock(), scheduler_of=MagicMock(), ControlServer=listening),
        patch.object(control, "PATIENCE", 0.01),
        patch.object(control, "logger", tellers(said)),
    ):
        extension = control.Control(MagicMock(), JOB)
        extension._commanding.checkpoint = AsyncMock(side_effect=state.get("keep"))
        extension._commanding.status.return_value = {"state": state.get("state", "running")}
        extension.opened()
        try:
            asyncio.run(extension._obey(*state.get("order", ("pause", []))))
        except CommandError as error:
            said.append(str(error))
    return "\n".join(said)


def obeyed(state):
    """What a drone says of an order, and of the `checkpoint` that it has taken."""
    said, scheduler = [], MagicMock(over=False, failed=None)
    scheduler.keeping.waiters.next = AsyncMock(side_effect=state.get("checkpoint"))

    async def obey():
        life = hive_membership.Life(scheduler)
        life.obey(*state["order"], late=state.get("late", False))
        await asyncio.gather(*life._tasks)

    with patch.object(hive_membership, "logger", tellers(said)):
        asyncio.run(obey())
    return "\n".join(said)


def entering(state):
    """Why a drone with this `key` of its hive cannot begin, whose server is away as the error says."""
    entry = hive_membership.Entry.__new__(hive_membership.Entry)
    entry._identity = entry._partition = entry._name = MagicMock()
    entry.db, entry.join = MagicMock(get=lambda _: state.get("key")), AsyncMock(side_effect=state["away"])
    try:
        with patch.object(hive_membership, "saved_map", lambda _: state.get("key")):
            asyncio.run(entry._entered())
    except HiveError as error:
        return str(error)
    return ""


def unheard(state):
    """What is said of a request with this `meta`, of a crawl without middlewares or with those that are `enabled`."""
    none = {f"{kind}_MIDDLEWARES_BASE": {} for kind in ("DOWNLOADER", "SPIDER")}
    check = request_meta.UnheardMeta(Settings({} if state.get("enabled") else none))
    options = request_meta.RequestOptions(MagicMock(settings=Settings()))
    request = Request(state.get("url", "http://a.test/"), meta=state["meta"])
    with patch.object(request_meta.logger, "warning") as log:
        check.check(request)
    try:
        options.of(request)
    except BadOption as error:
        return str(error)
    return logged({"warning": log})


def overdue(pages):
    """What is said of pages, and of requests that the frontier refused, that do not come back for a checkpoint."""
    coroutines = {give_trip(Request("http://a.test/"), one): one for one in (*pages, Trip(Link("http://b.test/")))}
    engine = SimpleNamespace(path=SimpleNamespace(unreturned=lambda: coroutines))
    with (
        patch.object(scheduler, "of", lambda waiting: f" [in {len([*waiting])} places]"),
        patch.object(scheduler.logger, "warning") as log,
    ):
        made = scheduler.FrontierScheduler(MagicMock(), MagicMock())
        made.waking = SimpleNamespace(engine=engine)
        made._overdue(set(pages))
    return logged({"warning": log})


def without_rules(outcome):
    """What is said of requests for robots.txt to which no answer came; None: they did not reach the downloader."""
    requests = robots_request.RobotsRequests(MagicMock(), str, pages=False)
    with patch.object(robots_request.logger, "warning") as log:
        for host in ("a.test", "b.test"):
            link = Link(f"http://{host}/robots.txt", "P", f"http://{host}")
            requests.heard(Trip(link, outcome=outcome), None)
    return f"{logged({'warning': log})}\n{log.call_count} lines"


def kept(state):
    """What is said of a crawl that fails; `taken`: a folder that is not where it was; after a `checkpoint`, or not."""
    crawl = MagicMock()
    crawl.parts.db.prepare.return_value = crawl.parts.db.go_on.return_value = ()
    crawl.parts.db.presence.taken_away.return_value = state.get("taken")
    keeping = checkpointing.Checkpointing(MagicMock())
    keeping.open(crawl, MagicMock(shut=AsyncMock(), out=()), bool)
    if state.get("checkpoint"):
        asyncio.run(keeping.checkpoint())
    with patch.object(checkpointing.logger, "critical") as log, patch.object(checkpointing, "close_spider"):
        keeping.fail(StoreError("full"))
    return logged({"critical": log})


def refused_start(state):
    """Why a crawl of the spider `web` with these `arguments`, and this `http2`, is not begun."""
    why = "" if state.get("library") else "there is no h2"
    with patch.multiple(preflight, check_handlers=MagicMock(), without_library=lambda: why):
        try:
            preflight._arguments(web.WebSpider, {"seeds": "x", **state.get("arguments", {})}, elsewhere=False)
            preflight._handlers(None, {"HTTP2": state.get("http2"), "FOREIGN_HANDLERS_ALLOWED": (), "RENDER": "off"})
        except (CannotStart, SettingError) as error:
            return str(error)
    return ""


def begun_by(start):
    """What a spider without seeds says whose `start` is the base's, or one of its own that asks the base's too."""
    more = {} if start is None else {"start": partialmethod(web.WebSpider.start)}
    spider = type("Own", (web.WebSpider,), more)(name="own")
    spider.crawler = None
    scheduler = SimpleNamespace(has_pending_requests=lambda: False)

    async def begin():
        return [one async for one in spider.start()]

    with (
        patch.object(web, "scheduler_of", lambda _: scheduler),
        patch.object(web.logger, "critical") as log,
        suppress(CloseSpider),
    ):
        asyncio.run(begin())
    return logged({"critical": log})


def fitting(limit):
    """What is said of 50 requests at once, with this limit of open files."""
    values = {"CONCURRENT_REQUESTS": 50, "FRONTIER_QUEUES": 1, "POLITENESS_FACTOR": 0}
    with (
        patch.multiple(downloader, raise_limit=lambda: limit, in_use=lambda: 10),
        patch.object(downloader.logger, "warning") as log,
    ):
        downloader.Capacity().fit(values)
    return logged({"warning": log})


def cut_short(trip):
    """The reason of a download that is cancelled."""
    self = MagicMock()
    self.handlers.download_request_async = AsyncMock(side_effect=asyncio.CancelledError)
    try:
        asyncio.run(downloader.FrontierDownloader._handled(self, None, trip))
    except DownloadCancelledError as error:
        return str(error)
    return ""


def taken_in(error):
    """What is said of two requests of a spider that end so on their way in."""
    parts, seen = MagicMock(), SimpleNamespace(request_seen=MagicMock(side_effect=error))
    intake = request_passage.Intake(parts, MagicMock(), seen, MagicMock(), str, classes=True)
    with patch.multiple(request_passage.logger, warning=DEFAULT, exception=DEFAULT) as log:
        for at in range(2):
            intake.take(Request(f"http://a.test/{at}"))
    return "\n".join((logged(log), *(str(call.args[1]) for call in parts.unkept.add.call_args_list)))


def asked_for_again(callback):
    """What is said of a request with this callback that comes in."""
    intake = request_passage.Intake(MagicMock(), web.WebSpider(), MagicMock(), MagicMock(), str, classes=True)
    with patch.object(request_passage.logger, "warning") as log:
        intake.take(Request("http://a.test/robots.txt", callback=callback, dont_filter=True))
    return logged({"warning": log})


def given_out(state):
    """What is said of links, and of a request that was `refused`, whose spider lacks their methods."""
    error, refusals = CannotBeMade(Link("http://a.test/"), "callback", "no method"), MagicMock(waiting=False)
    crawl = MagicMock()
    crawl.parts.refusals = refusals
    if state["refused"]:
        refusals.waiting, refusals.take = True, MagicMock(side_effect=[FORBIDDEN, None])
    crawl.take.return_value = None if state["refused"] else error.link
    crawl.parts.frontier.look.next_turn.return_value, fails = 0.0, MagicMock(side_effect=error)
    with (
        patch.multiple(request_passage, to_request=fails, to_refused=fails),
        patch.object(request_passage.logger, "error") as log,
    ):
        request_passage.Giving(
            crawl, MagicMock(), MagicMock(), MagicMock(), MagicMock(), classes=True, held=None
        ).next()
    return logged({"error": log})


def reached(error):
    """Why a hive's server cannot be used, which is asked so."""
    operator = MagicMock(open=AsyncMock(side_effect=error), close=AsyncMock())
    try:
        asyncio.run(servers._reached(operator, {"REDIS_URL": "redis://s"}))
    except HiveError as refused:
        return str(refused)
    return ""


def unwritten(error):
    """What is said of stats.json that is written so."""
    extension = statistics.Statistics(MagicMock(stats=None), JOB)
    extension._crawl, extension._figures = MagicMock(), lambda _: {}
    extension._crawl.parts.db.presence.taken_away.return_value = None
    with (
        patch.multiple(statistics, scheduler_of=MagicMock(), kept_tables=MagicMock(), statistics_of=MagicMock()),
        patch.multiple(statistics, _text=str, stats_file=MagicMock(write=MagicMock(side_effect=error))),
        patch.object(statistics.logger, "warning") as log,
    ):
        extension.save()
    return logged({"warning": log})


def unremoved(error):
    """What is said of a file that no checkpoint names, and which is removed so."""
    with patch.object(disk_store.logger, "warning") as log:
        disk_store.remove_unnamed(MagicMock(unlink=MagicMock(side_effect=error)), JOB)
    return logged({"warning": log})


def shut(error):
    """What is said of a browser's page that closes so."""
    browser = pytest.importorskip("webcrawl.adapter.browser", reason="no scrapy-playwright", exc_type=ImportError)
    page = SimpleNamespace(context=SimpleNamespace(close=AsyncMock(side_effect=error)))
    with patch.object(browser.logger, "warning") as log:
        asyncio.run(browser.BrowserHandler._shut(MagicMock(context_wrappers={"x": page}, _give_up=AsyncMock()), "x"))
    return logged({"warning": log})


def trimmed(sizes):
    """What is said of memory that is trimmed from one size to the other."""
    with patch.object(trim.logger, "debug") as log:
        trim.Trim(60.0, MagicMock(), iter(sizes).__next__).look()
    return logged({"debug": log})


def hubs(state):
    """What is said of WEBSUB_PORT at the start; `on`: whether pages are fetched again; `port`: whether it is free."""
    scheduler = MagicMock()
    if not state["on"]:
        scheduler.crawl.parts.signalling = None
    taken = None if state.get("port", True) else CannotListen("taken")
    values = {"WEBSUB_PORT": 1, "WEBSUB_HOST": None, "WEBSUB_ADDRESS": "https://me.test/", "HIVE_DRONES": 0}
    with (
        patch.multiple(websub, scheduler_of=lambda _: scheduler, Subscriptions=MagicMock(), Loop=MagicMock()),
        patch.multiple(websub, place=lambda _: ("127.0.0.1", 1), address_of=lambda _: "https://me.test/"),
        patch.multiple(websub, bound=MagicMock(side_effect=taken), Callback=MagicMock(), asyncio=MagicMock()),
        patch.multiple(websub.logger, warning=DEFAULT, info=DEFAULT) as log,
    ):
        websub.WebSub(MagicMock(), values).opened()
    return logged(log)


def called(fails):
    """What is said of a call at intervals that fails or not, and how often it is called in some of them."""
    call = MagicMock(side_effect=ValueError if fails else None)

    async def calls():
        loop = periodic.Loop(call)
        loop.start(0.001)
        await eventually(lambda: log.called or call.call_count > 1)
        await asyncio.sleep(0.01)
        loop.stop()

    with patch.object(periodic.logger, "exception") as log:
        asyncio.run(calls())
    return f"{logged({'exception': log})}\n{call.call_count} calls"


def built(state):
    """What `segments build` says; `made`: the figures of a segment, none of one that was made before."""
    builder = MagicMock(
        lost=0, waiting=None if "made" in state else "segment", number=3, untouched=state.get("untouched")
    )
    builder.__enter__.return_value = builder
    builder.sizes.return_value = {"seen/keys": 7}

    def given():
        builder.lost = state.get("lost", 0)

    builder.given = given
    cut = Cut(**{"urls": 5, "hosts": 2, "domains": 1, "per_host": 3, "left": 4, **state.get("made", {})})
    builder.make.return_value = cut
    opts, said = SimpleNamespace(spargs={}, o="/segment.csv", seen=None, tables=False, urls=9, json=False), []
    left = SimpleNamespace(values={})
    with (
        patch("webcrawl.tools.segments.builder.Builder", lambda *_, **__: builder),
        patch("webcrawl.tools.segments.left.left_by", lambda *_: [left]),
        patch("webcrawl.tools.segments.segment.copied"),
        patch("webcrawl.adapter.plain_scrapy.trusted_code"),
        patch.multiple(segments_command, say=said.append, _values=lambda *_: {}, _needed=lambda _: ()),
        patch.object(segments_command.sys, "stderr", MagicMock(write=said.append)),
    ):
        said.append(f"status {segments_command._build(MagicMock(), [JOB], opts)}")
    return "\n".join(said)


def refused(options):
    """What is said of requests that have these options, which there are not."""
    handler = SimpleNamespace(_count=str, _refused=set())
    with patch.object(handlers.logger, "warning") as log:
        for error in options:
            handlers.HttpHandler._failed(handler, error, "http://a.test/")
    return logged({"warning": log})


def listed(state):
    """What is said of a list of seeds with this `text`; `before`: what it was when it was read up to its last seed."""
    said = []
    with TemporaryDirectory() as folder, patch.object(seed_list, "logger", tellers(said)) as log:
        log.log.side_effect = lambda _, line, *words: said.append(line % words)
        path, position = Path(folder) / "seeds.txt", None
        if "before" in state:
            path.write_bytes(state["before"])
            with closing(Seeds(str(path))) as seeds:
                list(seeds)
                position = seeds.position
        path.write_bytes(state["text"])
        with closing(Seeds(str(path))) as seeds:
            if position is not None:
                said.clear()
                seeds.resume(position)
            try:
                list(seeds)
            except SeedError as error:
                said.append(str(error))
    return "\n".join(said)


def taken_away(endings):
    """What is said at the next start of an archive's files with these endings, which somebody has taken away."""
    said = []
    with TemporaryDirectory() as folder, patch.object(outputs, "logger", tellers(said)):
        with closing(Outputs(Path(folder))) as crawl:
            for ending in (".warc.gz", ".cdxj"):
                output = crawl.outputs.open(f"warc/a{ending}.open")
                output.write(b"record")
                output.finish()
            crawl.checkpoint()
        for ending in endings:
            (Path(folder) / f"warc/a{ending}").unlink()
        Outputs(Path(folder)).close()
    return "\n".join(said)


def opened(data):
    """Why a message between drones is refused."""
    try:
        letter.unpack(data, HIVE)
    except ForeignMessage as error:
        return str(error)
    return ""


def fed(state):
    """What is said of a feed's file that is there, `known` to a crawl that was `complete` before this run."""
    scheduler = MagicMock(spec=feeds.FrontierScheduler, was_complete=state.get("complete", True))
    with (
        TemporaryDirectory() as folder,
        closing(CrawlDB(Path(folder) / "state")) as db,
        patch.object(feeds.logger, "warning") as log,
    ):
        path = Path(folder) / "a.json"
        path.touch()
        scheduler.crawl = SimpleNamespace(parts=SimpleNamespace(user_files=UserFiles(db)))
        if state.get("known"):
            scheduler.crawl.parts.user_files.open(path, overwrite=True).close()
        crawler = SimpleNamespace(engine=SimpleNamespace(scheduler=scheduler))
        feeds.FeedFile(str(path), feed_options={"overwrite": True}, crawler=crawler).open(None).close()
    return logged({"warning": log})


def scored(flaws):
    """What is said of pages with so many `flaws` in their scores, and of one without."""
    pages = [Scored(None, flaw="no")] * flaws + [Scored(0.5)]
    with patch.object(scoring_ahead.logger, "warning") as log:
        ahead = SimpleNamespace(_told=0, _rest=0, _rests=0)
        batch = [(SimpleNamespace(url=f"http://a.test/{at}"), None) for at in range(len(pages))]
        scoring_ahead.ScoringAhead._judge(ahead, batch, pages)
    return logged({"warning": log})


def featured(name):
    """What is said of a feature with a method of this name."""
    with patch.object(own_features.logger, "warning") as log:
        own_features._tell_misspelt("x.Mine", type("Mine", (), {name: str}))
    return logged({"warning": log})


def listened(host):
    """What is said of a dashboard that listens there."""
    said = []
    dashboard_server._tell(SimpleNamespace(address=lambda: "http://here/"), host, said.append)
    return "\n".join(said)


# -- the claims: a sentence, a state that makes it true, one that makes it false

EXACT = "A point (x, y) means that x servers had at least y documents, or bytes. All hosts are counted exactly."
ABOUT = (
    "A point (x, y) means that x servers had at least y documents, or bytes. There are more hosts than are kept by "
    "name: what the table says of one may be too little by {} and {} at most, and no host with more is missing. The "
    "small ones are known from a sample of one in {}."
)
SERIES = Series()
SERIES.add(1, 1, 2)
LEFT = {"aside": 3, "hosts_aside": 1, "aside_due": 9.0}
DUE = {"aside": 3, "hosts_aside": 1, "aside_due": 0}
STORED_FILE = stored.Stored("s3://b", 9, "x", "2026-01-02T03:04:05Z", "read back")
STORED = {"store/files": 2, "store/bytes": 10**6, "store/waiting": 1}

PAUSE = ["pause"]
SEVERAL = {"terms": {"HOST_CONNECTIONS a.test": "2"}}
MANY = [f"{at}.test" for at in range(host_orders.TOLD + 1)]
SAMPLED = {"records": 9, "sampled": 9}
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(b"\x90")
HERE = {"jobdir": "/job", "host": "here"}
LOST = {"figures": {"queued": 5, "hosts": 2, "pages": 7}, "unacknowledged": 3}
LOOKS = [revisit_source.Moment(60.0 * at, 9.0, *[0.0] * 4, 0.5 if at < 2 else 0.25, 9.0) for at in range(3)]
TWICE = {"depths": [0, 0], "duplicates": 1, "duplicate_size": 9}
KILLED = {"pages": 1, "reason": None}
GONE = {"taken": TakenAway(Path("/job"), "moved or removed")}
FORBIDDEN = Refusal(Link("http://a.test/2").pack(), Status.ROBOTS_FORBIDDEN)
CHECKPOINT = {"order": ("checkpoint", ())}

OF_METRICS = [  # other figures that there are, and figures with what is said of them
    (
        {},
        {
            "pages": "Answers of status 2xx that ended their URLs: not robots.txt, sitemaps, walls.",
            "bytes": "Bytes of the heads and bodies of answers, as they came.",
            "links": "Links found in pages.",
            "seeds": "Seeds read.",
            "bad_seeds": "Lines of seed lists that are no seeds.",
            "lookups": "URLs looked up among those seen.",
            "cache_hits": "Look-ups that the cache of popular URLs answered.",
            "seen/new": "Look-ups of URLs that turned out to be new.",
            "seen/merges": "Merges of waiting URLs with the sorted files.",
            "seen/merge_seconds": "Time that these merges took.",
            "frontier/added": "URLs put into the frontier.",
            "frontier/taken": "URLs handed out for download.",
            "frontier/hosts answered": "Hosts that have given a first page, be it a redirect or a 404.",
            "frontier/hosts set aside": "Times that a host was set aside because it failed.",
            "frontier/hosts given up": (
                "Hosts given up: away for HOST_PATIENCE, or without an address or protocol that the crawl can use."
            ),
            "outage/count": "Outages of our own network.",
            "outage/seconds": "How long these have lasted.",
            "outage/put_back": "Requests to be made again because of them.",
            "errors": "Unexpected errors, as in logs/errors.log.",
            "queued": "URLs in the frontier.",
            "aside": "URLs among these whose hosts are set aside.",
            "over_budget": "URLs among these beyond the budgets of their domains, or folded.",
            "over_budget/domains": "Domains beyond their budgets.",
            "in_flight": "Downloads under way.",
            "slots": "Downloads that can be under way at once; 0 is no limit.",
            "seen/keys": "Different URLs known.",
            "seen/waiting": "URLs that wait for the next merge.",
            "seen/runs": "Sorted files of URLs known.",
            "links/waiting": "Links of large pages that enter the crawl little by little.",
            "checkpoint_at": "When the last checkpoint was taken, in seconds since 1970.",
            "checkpoint_seconds": "How long the last checkpoint took, with preparations.",
            "bandwidth_max": "Bytes per second to receive at most (BANDWIDTH_MAX); 0 is no limit.",
            "disk_free": "Free space on the disk of JOBDIR.",
            "disk_least": "Free space below which fetching pauses (MIN_FREE_DISK).",
            "store/files": "Finished files that have a verified copy in the store.",
            "store/bytes": "Bytes of these.",
            "store/waiting": "Finished files that have none yet, or one that is to be verified again.",
        },
    ),
    (
        {"hive/slots": 0},
        {
            "hive/sent": "Links sent to other drones.",
            "hive/received": "Links that came from other drones.",
            "hive/letters/bytes": "Bytes of the letters closed.",
            "hive/letters/again": "Letters sent once more.",
            "hive/server_up": "1 if the server of the hive answers, else 0.",
            "hive/slots": "Slots of the web that belong to this drone.",
            "hive/slots/leaving": "Slots on their way to other drones.",
            "hive/slots/coming": "Slots on their way to this drone.",
            "hive/letters/unacknowledged": "Letters that nobody has acknowledged yet.",
            "hive/letters/memory": "Memory that letters take.",
        },
    ),
    (
        {"revisit/records": 0, "revisit/sampled": 1},
        {
            "revisit/taken": "Fetches of known pages, whatever came of them.",
            "revisit/forgotten": "Pages gone for so long that they are not asked for any more.",
            "revisit/moved": "Pages that were redirected for good.",
            "revisit/records": "Pages that are fetched again.",
            "revisit/waiting": "Pages among these that wait for their hosts, their turn having come.",
            "revisit/let_go": "Pages among these that change too fast for the budget, estimated.",
            "revisit/budget": "Pages per second that may be fetched again.",
            "revisit/used": "Pages per second that are fetched again.",
            "revisit/freshness": "Share of copies that are up to date, by weight, estimated.",
            "revisit/age": "How long copies have been out of date, by weight, estimated.",
        },
    ),
]

MOVED = ["http://b.test/"]
LED_OUT = {"leads": MOVED[0]}
CLAIMS = {
    "adapter/seed_fates.py": (
        no_seed,
        [
            ("no seed has answered: {}{}", {"forbidden": ["a.test"]}, {"forbidden": ["a.test"], "outcomes": {200: 1}}),
            ("{}: its robots.txt forbids {}", {"forbidden": ["a.test"]}, {}),
            ("{} leads to {}, out of the scope: name that as a seed", LED_OUT, {"leads": "http://a.test/b"}),
            (
                "{} leads to {}, out of the scope: name that as a seed",
                LED_OUT,
                {**LED_OUT, "seeds": MOVED},
            ),
            ("{} leads to nothing that is a URL", {"leads": "http://"}, LED_OUT),
            ("{} leads to {} again", {"leads": exchange().url}, LED_OUT),
            (
                "{}: that is one redirect more than REDIRECT_MAX_HOPS={}",
                {**LED_OUT, "hops": 1, "path": "R"},
                {**LED_OUT, "hops": 2, "path": "R"},
            ),
            (
                "{} leads to {}",
                {"refused": "http://b.test/robots.txt"},
                {"refused": "http://a.test/"},
            ),
            (" and {} more", {"forbidden": ["a.test", "b.test"]}, {"forbidden": ["a.test"]}),
            (" ({} more like it)", {"forbidden": ["a.test", "b.test"]}, {"forbidden": ["a.test"]}),
            ("{} left out by the filter {}: {}", {"filtered": {"port": 1}}, {"filtered": {"port": 0}}),
            ("URL_FILTERS has it", {"filtered": {"mine": 1}}, {"filtered": {"port": 1}}),
            *(
                (words, {"filtered": {name: 1}}, {"filtered": {"mine": 1}})
                for name, words in seed_fates.OF_FILTERS.items()
            ),
        ],
    ),
    "adapter/finished_crawl.py": (
        started_again,
        [
            ("{}: complete, with {}: {} left to do{}; take another JOBDIR{}{}", {}, {"reason": "stopped"}),
            (". Without effect: OUTPUTS was warc, now text", {"now": {"OUTPUTS": "text"}}, {}),
            ("; of its pages: {}", {"now": {"OUTPUTS": "text"}}, {"now": {"URL_SCOPE": "any"}}),
            (" and {} more", {"now": dict.fromkeys("abcd", "1")}, {"now": dict.fromkeys("abc", "1")}),
            ("complete, with 3 pages: nothing left to do", {"pages": 3}, {"pages": 3, "queued": 1}),
            ("only {}", {"queued": 2, "over_budget": 2}, {"queued": 0}),
            (
                "{} over the budgets of domains (DOMAIN_BUDGET_PAGES)",
                {"queued": 2, "over_budget": 2},
                {"queued": 2, "over_budget": 2, "over_budget/folded": 2},
            ),
            (
                "{} (TRAP_RULES=0 fetches them)",
                {"queued": 2, "over_budget": 2, "over_budget/folded": 2},
                {"queued": 2, "over_budget": 2},
            ),
            (
                ", {} left out (by HOST_MAX_PAGES, or their hosts' sitemaps had had theirs)",
                {"frontier/dropped/-5003": 2},
                {"frontier/dropped/-9998": 2},
            ),
            (": begins anew; what it had is in ", {"again": True}, {"again": False}),
        ],
    ),
    "tools/dashboard/crawl_states.py": (
        left_behind,
        [
            (
                "it runs, and does not listen to commands: these are its last saved figures",
                {"locked": True, "stats": KILLED},
                {"stats": KILLED},
            ),
            ("it has saved no figures yet", {"stats": {}}, {"stats": KILLED}),
            (
                "its last run was killed: run the same command to resume from its last checkpoint",
                {"stats": KILLED},
                {"stats": {"reason": "finished"}},
            ),
            ("{} of {} drones run here", {"drones": ["running", "stopped"]}, {"drones": ["running", "running"]}),
            ("its folder is no longer there", {"stats": {}, "folder": "/nowhere"}, {"stats": {}}),
        ],
    ),
    "adapter/extensions/summary.py": (
        first_and_last,
        [
            (": a new crawl{}", {}, {"queued": 1}),
            ("/: the crawl was complete: nothing was left to do. Use another JOBDIR", {"was_complete": True}, {}),
            (": resumed with {} and {}{}", {"queued": 1}, {}),
            (
                "; the last run was killed, or failed: what it did after that is dropped, and done again",
                {"queued": 1, "cut_short": True},
                {"queued": 1},
            ),
            (
                " of a crawl that began on {}, last run with the seeds {}",
                {"queued": 1, "former": "a.txt"},
                {"queued": 1},
            ),
            (
                ": begins anew: the last run was killed, or failed, before it had saved a page; what it had is dropped",
                {"cut_short": True},
                {"queued": 1, "cut_short": True},
            ),
            (
                "{}; {} is added: for a crawl of its own take another JOBDIR",
                {"queued": 1, "former": "a.txt"},
                {"former": "a.txt"},
            ),
            (
                "stopped by CLOSESPIDER_TIMEOUT: run the same command to resume",
                {"reason": "closespider_timeout"},
                {"reason": "closespider_bytes"},
            ),
            (
                "stopped by {}: run the same command{} to resume",
                {"reason": "shutdown"},
                {"reason": "finished"},
            ),
            (
                "stopped by command: run the same command to resume",
                {"reason": "stopped"},
                {"reason": "shutdown"},
            ),
            (
                " with a larger {}",
                {"reason": "closespider_bytes"},
                {"reason": "closespider_timeout"},
            ),
            (
                " of all that the links lead to (scope any); -a scope=host stays on the seeds' hosts",
                {"seeds": "http://a.test/"},
                {"seeds": "http://a.test/", "scope": "host"},
            ),
            ("nothing was fetched: {}", {"fates": ["no address"]}, {}),
            ("{} has what the last checkpoint has", {"failed": OSError()}, {}),
        ],
    ),
    "adapter/last_lines.py": (
        last_lines,
        [
            ("{}, {} with earlier runs{}{}", {"before": 2, "pages": 5}, {"pages": 5}),
            ("{} gave no page ({})", {"outcomes": {404: 2, 301: 1}}, {"outcomes": {200: 2, 304: 1, 503: 1, -1: 1}}),
            (
                "{} over the budget of {}",
                {"over_budget": 2, "over_budget/domains": 1},
                {"over_budget": 2, "over_budget/folded": 2},
            ),
            (
                "{} folded by TRAP_RULES: their like brought nothing new",
                {"over_budget": 2, "over_budget/folded": 2},
                {"over_budget": 2, "over_budget/domains": 1},
            ),
            (" and {} not yet looked up", {"seen/waiting": 3}, {"queued": 3}),
            ("answers that {}: {}, repeats included ({}){}", {"status/503": 1}, {"status/404": 2}),
            ("are errors of servers", {"status/429": 1}, {"status/404": 1}),
            ("are walls", {"recognised/wall/anubis": 1}, {"recognised/login": 1}),
            ("seem to be no pages", {"recognised/login": 1}, {"recognised/shell": 1}),
            (
                "; {} ended so, and crawl.log has them",
                {"status/503": 3, "outcomes": {503: 1}},
                {"status/503": 3, "outcomes": {200: 1}},
            ),
            (
                "{} ended without a usable answer ({}), and crawl.log has them",
                {"outcomes": {200: 5, -1: 4}},
                {"outcomes": {200: 5, 404: 1, -9998: 2}},
            ),
            ("{} scored, {} on average", {"scores/pages": 2, "scores/thousandths": 900}, {"scores/failed": 1}),
            (
                "{} without a score, though fetched and kept: the scorer failed, as the log says",
                {"scores/failed": 1},
                {"scores/pages": 2, "scores/thousandths": 900},
            ),
            (
                "{} stored whole: the CDX server of -a since did not answer, as the log says",
                {"since/unasked": 1},
                {"since/unmodified": 1, "since/bytes": 1},
            ),
            ("{}: see logs/errors.log; {}", {"errors": 1}, {}),
            ("unexpected error", {"errors": 1}, {}),
            (
                "what failed at a page does not get it again",
                {"errors": 1, "reason": "finished"},
                {"errors": 1, "reason": "store_failed"},
            ),
            (
                "pages since the last checkpoint come again",
                {"errors": 1, "reason": "store_failed"},
                {"errors": 1, "reason": "finished"},
            ),
            (
                "stopped by ERROR_BREAKER, for so many errors in so short a time; the same command resumes it",
                {"errors": 20, "reason": "error_breaker"},
                {"errors": 20, "reason": "finished"},
            ),
            ("{} of the spider lost, as the log says: they could not be kept", {"requests/unkept": 1}, {}),
            (
                "with status {}: the spider no longer has the methods or values that they name",
                {"status/-5005": 1},
                {},
            ),
            ("{} of letters from the hive's server refused in this run, as the log says", {"hive/refused": 1}, {}),
            (
                "{} cut short: the body ended early, or time was up, at every attempt",
                {"frontier/cut short": 1},
                {"status/200": 1},
            ),
            (
                "{} cut at DOWNLOAD_TRUNCATE: what is behind that is not in the crawl",
                {"truncated/length": 1},
                {"truncated/time": 1},
            ),
            ("left out: {}; {} why {} URL names the rule", {"refused/depth": 1}, {"refused/scope": 1}),
            (
                "HOST_MAX_PAGES, or more than a host's sitemaps may bring",
                {"frontier/dropped/-5003": 1},
                {"frontier/dropped/-9998": 1},
            ),
            ("too many links, or bytes of links, on a page", {"links/cut": 1}, {"links": 1}),
            ("sitemaps with more than their hosts may bring", {"sitemaps": 1, "sitemaps/cut": 1}, {"sitemaps": 1}),
            (
                "{} of {} to need scripts: -s RENDER=auto{} (docs/browser.md)",
                {"need_scripts": 1, "need_scripts/hosts": 1},
                {},
            ),
            (
                "more than ",
                {"need_scripts": 1, "need_scripts/hosts": 1, "need_scripts/others": 1},
                {"need_scripts": 1, "need_scripts/hosts": 1},
            ),
            (
                "{} as sent: the browser had no time for them, or gave no document (unrendered)",
                {"flaw/unrendered": 1},
                {},
            ),
            ("{} unchanged since the earlier crawl (status 304), {}: {} not stored", {"since/unmodified": 1}, {}),
            ("{} sent again the same", {"since/identical": 1}, {}),
            ("{} in the store ({} MB){}", STORED, {}),
            (", {} still to be sent or verified", STORED, {**STORED, "store/waiting": 0}),
            ("what the store has not", STORED, {}),
            ("everything is in", {}, STORED),
            ("bound by {}", {"bound/disk": 3}, {}),
            ("{} from the server refused, as the log says", {"redis_seeds/bad": 1}, {}),
            (
                "{} of seeds cannot be read to the end, as the log says: the next run tries again",
                {"seed_lists_away": 1},
                {},
            ),
            ("{} of {} set aside", LEFT, {"hosts_aside": 0}),
            ("; {} behind walls", {**LEFT, "frontier/hosts behind walls": 1}, LEFT),
            ("; run the same command to resume, the next is due at {}", LEFT, DUE),
            (
                "{} of {} left: the next turn is at {}, {}; run the same command to resume",
                {"queued": 3, "waits": Waits(host="a", seconds=9.0, rule=FAILURE)},
                {"queued": 3, "waits": Waits(host="a", seconds=9.0, rule=CRAWL_DELAY)},
            ),
            ("{}: start it again, and run the same command to resume", {"away": "waits for the hive's server"}, {}),
            ("{} paused by command; their URLs count as set aside", {"hosts_paused": 1}, DUE),
            (" from 1 host", {"pages": 3, "frontier/hosts answered": 1}, {"pages": 3}),
            ("1 failure", {"failures": 1}, {"failures": 0}),
            (" in all", {"failures": 1, "before": 2, "pages": 5}, {"failures": 1}),
        ],
    ),
    "adapter/extensions/progress.py": (
        progress_line,
        [
            (" ({} of {} set aside)", {"aside": 3, "hosts_aside": 1}, {}),
            (", {} revisits ({} fresh)", {"revisit/records": 3, "revisit/sampled": 1}, {}),
            ("waits 9 s after an error", {"waits": Waits(host="a", seconds=9.0, rule=FAILURE)}, {"in_flight": 1}),
            (
                "no seed has answered: x; waits 9 s after an error",
                {"waits": Waits(host="a", seconds=9.0, rule=FAILURE), "fate": "no seed has answered: x"},
                {"waits": Waits(host="a", seconds=9.0, rule=FAILURE)},
            ),
            ("1 asked 2 ready 3 waiting", {"hosts": 6, "in_flight": 1, "ready": 2}, {"hosts": 5, "in_flight": 1}),
            (
                "1 asked 2 ready 3 waiting",  # of a host with four connections
                {"hosts": 6, "in_flight": 4, "in_flight/more": 3, "ready": 2},
                {"hosts": 6, "in_flight": 4, "in_flight/more": 0, "ready": 2},
            ),
        ],
    ),
    "adapter/extensions/process_progress.py": (
        process_lines,
        [
            (", {} with earlier runs", {"pages": 5, "before": 2}, {"pages": 5}),
            (
                "{} left out that ended nothing: their URLs were asked for again",
                {"archive/repeats": 1},
                {"archive/others": 1},
            ),
            ("{} of other kinds of URLs left out", {"archive/others": 1}, {"archive/repeats": 1}),
            (", {} that cannot be read", {"archive/lost/files": 1}, {"archive/others": 1}, processing),
            (": resumed with {}", {"before": 2, "pages": 2}, {}, processing),
            ("stopped after {}; run the same command to resume", {"done": 5}, {"done": 9}, processing),
            (
                "{} cancelled in the pipelines; the same command processes them again",
                {"unfinished": 1},
                {"done": 9},
                processing,
            ),
            ("cannot be read: {}", {"archive/lost/files": 1}, {"archive/others": 1}),
            (
                "what revisits refer to is in earlier archives: name those first, and another JOBDIR",
                {"archive/lost/revisits": 1},
                {"archive/lost/files": 1},
            ),
            ("another JOBDIR processes all pages once more", {"errors": 1}, {}),
        ],
    ),
    "crawl/bound.py": (
        bound_by,
        [
            *(
                (words, {cause: {}}, {"work" if cause is not Cause.WORK else "disk": {}})
                for cause, words in bound.WORDS.items()
            ),
            *(
                (bound.HELPS[cause], {cause: {}}, {"work" if cause is not Cause.WORK else "disk": {}})
                for cause in Cause
            ),
            (bound.MORE_REVISITS, {"work": {"revisited": 43}}, {"work": {}}),  # where nothing is fetched again
            *((figures, {cause: {}}, {"work": {}}) for cause, figures in bound.FIGURES.items()),
            (f"{program()} ctl JOBDIR resume", {"pause": {"trouble": "paused"}}, {"disk": {}}),
            *((why, {"pause": {"trouble": why}}, {"disk": {}}) for why in bound.PAUSES),
            *((helps, {"pause": {"trouble": why}}, {"disk": {}}) for why, helps in bound.PAUSES.items()),
            ("hosts: 1 asked", {"answers": {"asked": 4, "hosts": 1}}, {"answers": {"asked": 4, "hosts": 4}}),
            ("{} {} of the time", {"disk": {}}, {}),
            ("{}; what helps: {}", {"disk": {}}, {"pause": {"trouble": "paused"}, "now": ""}),
            (
                bound.FEW_FILES,
                {"files": {"slots": 3, "wanted": 9}},
                {"files": {"slots": 9, "wanted": 9}},
            ),
            (
                bound.CROWDED,
                {"processor": {"crowded": 4.0, "ran": 1.0}},
                {"processor": {"crowded": 1.0, "ran": 4.0}},
            ),
        ],
    ),
    "crawl/control/answer_text.py": (
        ctl_status,
        [
            ("bound by {}", {"bound": "the disk"}, {}),
            ("in force by command:", {"in_force": ["pause"]}, {"in_force": []}),
            ("5 s since it was started", {"state": "running", "seconds": 5}, {"state": "running", "seconds": 6}),
            ("1 failure,", {"failures": 1}, {"failures": 0}),
            ("running (no network)", {"state": "running", "trouble": "no network"}, {"state": "running"}),
        ],
    ),
    "frontier/wait_words.py": (
        waits,
        [
            ("as {host} asks (Retry-After)", {"rule": RETRY_AFTER}, {}),
            ("between requests to {host} (Crawl-delay)", {"rule": CRAWL_DELAY}, {}),
            ("between requests to {host} (politeness)", {}, {"rule": FAILURE}),
            ("for {host} (behind a wall: {wall})", {"rule": WALL}, {}),
            ("after {said} from {host}", {"rule": FAILURE}, {"rule": WALL}),
            ("for the robots.txt of {host}, without which nothing may be asked", {"rule": ROBOTS}, {}),
            ("for {host} (set aside)", {"rule": ASIDE}, {}),
            (
                "for a way to {host}: the network, a proxy, name servers or IPv6 fail, as the log says",
                {"rule": NO_WAY},
                {},
            ),
            ("no address", {"rule": FAILURE, "said": Status.DNS_FAILED}, {"rule": FAILURE}),
            ("no connection", {"rule": FAILURE, "said": Status.CONNECT_FAILED}, {"rule": FAILURE}),
            ("an inner address", {"rule": FAILURE, "said": Status.EXCLUDED}, {"rule": FAILURE}),
            ("a lost connection", {"rule": FAILURE, "said": Status.CONNECTION_LOST}, {"rule": FAILURE}),
            ("no answer", {"rule": FAILURE, "said": Status.TIMEOUT}, {"rule": FAILURE}),
            ("an error", {"rule": FAILURE}, {"rule": FAILURE, "said": 503}),
        ],
    ),
    "tools/supervisor/hive_status.py": (
        hive_table,
        [
            (", the queen is drone {}", {"queen": 0}, {}),
            (": the change goes on", {"changing": True}, {}),
            (
                ": the change to {} has not ended, and goes on at the next start",
                {"changing": True, "state": "stopped"},
                {"state": "stopped"},
            ),
            ("; {} MB of links on their way", {"server_bytes": 10**6}, {}),
            (", 3 meant", {"meant": 3}, {}),
            ("; as of their last checkpoints: -s REDIS_URL names their server", {"unnamed": True}, {}),
            ("; as of their last checkpoints: the server knows another hive of this name", {"another": True}, {}),
            (
                "; as of their last checkpoints: their server does not answer now",
                {"unheard": True},
                {"unheard": True, "running": 0},
            ),
        ],
    ),
    "tools/supervisor/display.py": (
        hive_line,
        [
            (", {} revisits ({} fresh)", {"revisit/records": 3, "revisit/sampled": 1}, {}),
            ("(1 down)", {"down": [1]}, {}),
            ("not heard of", {"silent": [0]}, {"down": [0]}),
            ("no network, ", {"trouble": "no network"}, {}),
        ],
    ),
    "tools/commands/verify.py": (
        verified,
        [
            ("{} over their domains' budgets", {"over budget": 1}, {"folded": 1}),
            ("{} folded: their like brought nothing new", {"folded": 1}, {"over budget": 1}),
            (", {} of them in the index{}{}", {"texts": 2, "indexed": 1}, {"texts": 2}),
            (
                ", {} replaced there by later ones",
                {"texts": 2, "indexed": 1, "replaced": 1},
                {"texts": 2, "indexed": 1},
            ),
            (", {} will be added by the next start", {"texts": 2, "unindexed": 1}, {"texts": 2, "indexed": 1}),
            ("; the index was not checked: {}", {"texts": 2, "index unread": 1}, {"texts": 2}),
            ("changes: {}, as crawl.log has them", {"changes": 1}, {}),
            ("documents: {}, of pages that crawl.log has", {"documents": 1}, {}),
            ("hive: {} not acknowledged, {}", {"letters": 1}, {}),
            ("hive: {}; {} in use, each of one drone", {"drones": 2}, {}),
            ("revisits: {} waiting, {} fetched ahead of their turns", {"revisits": 1}, {}),
            ("tables: only their checksums were looked at: {}", {"tables unread": 1}, {"rows": 1}),
            ("tables: {}, as {} them", {"rows": 1}, {}),
            ("crawl.log and the archive have", {"rows": 1, "archived rows": 1}, {"rows": 1}),
            ("crawl.log has", {"rows": 1}, {"rows": 1, "archived rows": 1}),
            ("the URLs of {} are not looked at", {"frontier a.B": 1}, {"queued": 1}),
            ("1 URL queued", {"queued": 1}, {"frontier a.B": 1}),
            ("{} in {}, not looked at", {"in store s3://a": 1}, {"absent a": 1}),
            ("{}: finished, and no longer here", {"absent a": 1}, {"in store s3://a": 1}),
            ("{} after the last checkpoint do not count: {}", {"behind": 1}, {"unsaved": 1}),
            (
                "the last run was killed, or failed; resumed, it drops them and does those pages again",
                {"behind": 1},
                {"unsaved": 1},
            ),
            (
                "the last run ended with it, so something else has written them",
                {"foreign": 1},
                {"behind": 1},
            ),
            ("{} are not part of a checkpoint yet: the crawl runs", {"unsaved": 1}, {"behind": 1}),
        ],
    ),
    "tools/report/sections/overview.py": (
        report_overview,
        [
            ("No URL has ended yet.", {}, {"statistics.outcomes": Counter({200: 1})}),
            ("How URLs ended, robots.txt and probes apart", {"statistics.outcomes": Counter({200: 1})}, {}),
            ("No robots.txt was asked for.", {}, {"statistics.robots": Counter({404: 1})}),
            ("How requests for robots.txt ended", {"statistics.robots": Counter({404: 1})}, {}),
            (
                " The CDX server was of no help with {}.",
                {"counters": Counter({"since/unasked": 1})},
                {"counters": Counter({"since/unmodified": 1})},
            ),
            ("Nobody has looked at it while it ran.", {}, {"counters": Counter({"bound/disk": 1})}),
            ("Nothing was fetched: {}.", {"stats": {"unreached": ["no address"]}}, {}),
            *(
                (
                    "Nothing went wrong: {}.",
                    {},
                    wrong,
                )
                for wrong in (
                    {"counters": Counter({"outcome/dns": 1})},
                    {"counters": Counter({"flaw/coding": 1})},
                    {"statistics.outcomes": Counter({401: 40, 404: 152})},
                    {"frontier": Counter({"dropped/-9998": 1})},
                    {"filtered": Counter({"known_path": 1})},
                    {"counters": Counter({"status/503": 1})},  # although the URL had a good answer later
                    {"counters": Counter({"recognised/wall/anubis": 1})},
                    {"stats": {"errors": 1}},
                    {"counters": Counter({"requests/unkept": 1})},
                    {"counters": Counter({"status/-5005": 1})},
                )
            ),
            (
                "{} of the spider lost: they could not be kept, or their methods are gone, as the log says.",
                {"counters": Counter({"status/-5005": 1})},
                {"counters": Counter({"status/-5003": 1})},
            ),
            (
                "Answers that were an error of their server, repeats included: {}.",
                {"counters": Counter({"status/429": 1})},
                {"counters": Counter({"status/404": 1})},
            ),
            (
                "{} gave no page: {}.",
                {"statistics.outcomes": Counter({404: 152, 401: 40})},
                {"statistics.outcomes": Counter({301: 5, 304: 1, 503: 2, 200: 7, -9998: 1})},
            ),
            ("Left out: {}. See Skipped.", {"filtered": Counter({"depth": 1})}, {"filtered": Counter({"scope": 1})}),
            (
                "{} ended with such an error; {} names them.",
                {"statistics.outcomes": Counter({503: 1})},
                {"statistics.outcomes": Counter({404: 1})},
            ),
            (
                "{} of walls came in place of pages, repeats included.",
                {"counters": Counter({"recognised/wall/anubis": 1})},
                {"counters": Counter({"recognised/soft404": 1})},
            ),
            (
                "Answers that look like something else than pages: {} (docs/recognise.md).",
                {"counters": Counter({"recognised/soft404": 1})},
                {"counters": Counter({"recognised/wall/anubis": 1})},
            ),
            ("Nothing was downloaded yet.", {}, {"statistics.series": SERIES}),
            ("At most {} documents per second.", {"statistics.series": SERIES}, {}),
            ("At most {} megabits per second.", {"statistics.series": SERIES}, {}),
            ("none yet", {}, {"statistics.series": SERIES}),
            ("Time of the crawl, by what bounded it", {"counters": Counter({"bound/disk": 1})}, {}),
            ("What went wrong, once per attempt", {"counters": Counter({"outcome/dns": 1})}, {}),
            ("{} unchanged since the earlier crawl", {"counters": Counter({"since/unmodified": 1})}, {}),
            (
                "100.0 % without a good answer",
                {"statistics.outcomes": Counter({404: 1})},
                {"statistics.outcomes": Counter({200: 1})},
            ),
            ("2 hosts known", {"state.hosts": 2}, {"state.hosts": 3}),
            ("{} in the last run: see logs/errors.log.", {"stats": {"errors": 1}}, {}),
            ("unexpected error", {"stats": {"errors": 1}}, {}),
            (
                "{} (status 304), {} sent again the same: {} not stored.",
                {"counters": Counter({"since/unmodified": 1})},
                {},
            ),
            ("{} set aside, of {}", {"aside": (3, 1)}, {}),
            ("none set aside", {}, {"aside": (3, 1)}),
        ],
    ),
    "tools/report/sections/waiting.py": (
        report_waiting,
        [
            ("No URL was left out.", {}, {"filtered": Counter({"scope": 1})}),
            ("What was left out, and why", {"frontier": Counter({"dropped/-9998": 1})}, {}),
            ("too many links, or bytes of links, on a page", {"counters": Counter({"links/cut": 1})}, {}),
            ("There are no answers yet.", {}, {"slowest": [(5, b"http://a.test/")]}),
            ("No host is set aside.", {}, {"aside": (3, 1)}),
            ("{} set aside, with {}", {"aside": (3, 1)}, {}),
            (
                "asked to wait",
                {"aside": (3, 1), "state.aside": [Waiting("a.test", 3, 0, 0, 9.0)]},
                {"aside": (3, 1), "state.aside": [Waiting("a.test", 3, 5, -2, 9.0)]},
            ),
            ("No host is behind a wall.", {}, {"state.walls": [Walled("a.test", "anubis", 3, 1.0, 2, 9.0)]}),
            ("{} behind walls ({})", {"state.walls": [Walled("a.test", "anubis", 3, 1.0, 2, 9.0)]}, {}),
            ("No host was given up.", {}, {"state.given_up_by": Counter({-2: 1})}),
            ("{} given up: {}", {"state.given_up_by": Counter({-2: 1})}, {}),
            ("No domain is over its budget, and no URL is folded.", {}, {"state.over_budget": (1, 5)}),
            ("No domain is over its budget, and no URL is folded.", {}, {"state.folded": (1, 5)}),
            ("{} over budget, with {}", {"state.over_budget": (1, 5)}, {"state.folded": (1, 5)}),
            (
                "{} with folded URLs, whose like brought nothing new: {}",
                {"state.folded": (1, 5)},
                {"state.over_budget": (1, 5)},
            ),
            (
                "a.test (folded)",
                {"state.folded": (1, 5), "state.domains": [("a.test/families", 5, 0)]},
                {"state.over_budget": (1, 5), "state.domains": [("a.test", 5, 0)]},
            ),
            ("No host has URLs in its queue.", {}, {"state.queues": [Waiting("a.test", 3, 0, 0, 0.0)]}),
            ("Hosts with the longest queues", {"state.queues": [Waiting("a.test", 3, 0, 0, 0.0)]}, {}),
            ("{} cannot be read: run `{} verify`.", {"state.damaged": 1}, {}),
            ("Nothing was written yet.", {}, {"outputs": {"logs/crawl.log": 5}}),
            ("What was written", {"outputs": {"logs/crawl.log": 5}}, {}),
            (
                "No URL has ended yet, so nothing can be said of what the rest will need.",
                {"outputs": {"logs/crawl.log": 5}},
                {"outputs": {"logs/crawl.log": 5}, "statistics.outcomes": Counter({200: 1})},
            ),
            (
                "the crawl pauses at {} (MIN_FREE_DISK), so this is {}",
                {"outputs": {"logs/crawl.log": 5}, "statistics.outcomes": Counter({200: 1}), "free": 9},
                {
                    "outputs": {"logs/crawl.log": 5},
                    "statistics.outcomes": Counter({200: 1}),
                    "free": 9,
                    "terms": {"MIN_FREE_DISK": "0"},
                },
            ),
            (
                "too little",
                {"outputs": {"logs/a": 5}, "statistics.outcomes": Counter({200: 1}), "free": 9},
                {"outputs": {"logs/a": 5}, "statistics.outcomes": Counter({200: 1}), "free": 1 << 40},
            ),
            ("The state does not say with which settings the crawl was run.", {}, {"terms": {"spider": "web"}}),
            ("What differs from the defaults", {"terms": {"spider": "web"}}, {}),
        ],
    ),
    "tools/report/sections/seeds.py": (
        report_seeds,
        [
            ("No seed was read from a list, and no URL in crawl.log has one.", {}, {"seeds": {"good": 2}}),
            ("No seed has an outcome yet.", {"seeds": {"good": 2}}, {"rows": [seed(200)]}),
            ("itself not ended, though URLs found from it have", {"rows": [seed(0)]}, {"rows": [seed(200)]}),
            (", after redirects", {"rows": [seed(200, redirected=True)]}, {"rows": [seed(200)]}),
            (", to a URL seen before or refused", {"rows": [seed(301)]}, {"rows": [seed(200)]}),
            ("no outcome yet{}", {"seeds": {"good": 1}, "missing": ["http://a.test/"]}, {"rows": [seed(200)]}),
            (
                ": its host is set aside, {}",
                {"seeds": {"good": 1}, "missing": ["http://a.test/"], "state.away": {"a.test": -2}},
                {"seeds": {"good": 1}, "missing": ["http://a.test/"]},
            ),
            (
                (
                    "The table has {} of {} seeds: first those without an outcome, then those that failed, then those "
                    "that gave nothing. All are in logs/crawl.log."
                ),
                {"rows": [seed(200)] * (seeds.MOST + 1)},
                {"rows": [seed(200)] * seeds.MOST},
            ),
            (
                "{} lines are of further seeds, for which there was no room.",
                {"rows": [seed(200)], "more": 1},
                {"rows": [seed(200)]},
            ),
            (
                (
                    "{} of {} read have no outcome yet: they are queued, were dropped by a filter, or are the same URL "
                    "as another seed."
                ),
                {"seeds": {"good": 2}},
                {},
            ),
            (
                "2 seeds of 3 read have no outcome yet",
                {"seeds": {"good": 3}, "rows": [seed(200), seed(0)]},
                {"seeds": {"good": 3}, "rows": [seed(200), seed(301)]},
            ),
        ],
    ),
    "tools/report/sections/server_sections.py": (
        report_servers,
        [
            ("No URL has ended without an answer, or with 5xx.", {}, {"a.test": [0, 0, 1, 9, 0]}),
            ("Hosts with most failures", {"a.test": [0, 0, 1, 9, 0]}, {"a.test": [1, 1, 0, 9, 1]}),
            ("No host has given a document yet.", {"a.test": [0, 0, 1, 9, 0]}, {"a.test": [1, 1, 0, 9, 1]}),
            ("running, or killed", {"clean": False}, {"clean": True}),
            ("There are no documents yet.", {}, {"a.test": [1, 1, 0, 9, 1]}),
            (ABOUT, {"a.test": [1, 1, 0, 9, 1], "level": 1}, {"a.test": [1, 1, 0, 9, 1]}),
            (EXACT, {"a.test": [1, 1, 0, 9, 1]}, {"a.test": [1, 1, 0, 9, 1], "level": 1}),
            (
                "No host has answered {} times yet, so none is called slow.",
                {"a.test": [1, 1, 0, 9, 2]},
                {"a.test": [1, 1, 0, 9, 3]},
            ),
            (
                "Slowest hosts, of those that answered at least {} times",
                {"a.test": [1, 1, 0, 9, 3]},
                {"a.test": [1, 1, 0, 9, 2]},
            ),
        ],
    ),
    "tools/report/report_page.py": (
        report_head,
        [
            ("Spider {}. The last run ended{}, with its last checkpoint at ", {"clean": True}, {}),
            ("Spider {}. The crawl is running, or was killed: this is {} ", {}, {"clean": True}),
            ("its last checkpoint, of", {}, {"drones": [1]}),
            ("the last checkpoint of each drone, the oldest of", {"drones": [1]}, {}),
            (", a hive of {}", {"drones": [1]}, {}),
            (". What was done since is not counted.", {}, {"clean": True}),
            ("an unknown time", {}, {"at": 9.0}),
            (
                "This crawl has not kept statistics from its beginning on: they were made from its log.",
                {"complete": False},
                {},
            ),
            ("{} lacks {} that the checkpoint counts.", {"missing": 5}, {}),
            ("{} of {} cannot be read and are left out.", {"damaged": 1}, {}),
        ],
    ),
    "tools/report/sections/revisit_section.py": (
        report_revisits,
        [
            ("none of them is let go", SAMPLED, {"records": 9}),  # where no page is sampled, nobody knows
            ("about {} are let go", {**SAMPLED, "let_go": 2}, SAMPLED),
            ("pages are fetched again4", {"records": 4}, {"records": 5}),
            ("revisits with a finding3", {"gone": 3, "taken": 4}, {"gone": 2, "taken": 4}),
            ("50.0 % found a change", {"changed_text": 1, "gone": 1}, {"gone": 1}),
            ("of them wait for their hosts3", {"waiting": 3}, {}),
            ("of copies are fresh0.0 %", SAMPLED, {}),
            ("is their mean age0 ms", SAMPLED, {}),
            (
                "No page was looked at yet, so nothing is known of how often pages change.",
                {"records": 9},
                SAMPLED,
            ),
            (
                (
                    "Of a sample of {}. A column has what lies below its label and above the one before. Pages that "
                    "were fetched only once are missing on the right."
                ),
                SAMPLED,
                {"records": 9},
            ),
            ("No revisit has found a page changed, unchanged or gone yet.", {"taken": 5, "moved": 5}, {"gone": 1}),
            ("304: the server says so, and sends nothing", {"unchanged_304": 1}, {"unchanged_digest": 1}),
            ("the same bytes came", {"unchanged_digest": 1}, {"unchanged_304": 1}),
            ("other bytes, the same visible text", {"changed_digest": 1}, {"changed_text": 1}),
            ("another visible text", {"changed_text": 1}, {"changed_digest": 1}),
            (
                "No change that a sitemap, feed or hub announced was looked at yet.",
                {},
                {"signals_false": 1},
            ),
            (
                (
                    "Announced changes: {} were there, {} were not, and {} were not looked at, because their hosts are "
                    "not believed or not known yet."
                ),
                {"signals_ignored": 1},
                {},
            ),
            (
                "Hosts that announce changes, and how far they are right",
                {"signals_true": 1, "hosts": [Announced("a.test", 1.0, 1.0, 1.0)]},
                {"signals_true": 1},
            ),
            ("There is no history of revisits yet.", {"past": [LOOKS[:1]]}, {"past": [LOOKS]}),
            ("Between {} and {}, {} at the end.", {"past": [LOOKS]}, {}),
            ("Between 25.0% and 50.0%, 25.0% at the end.", {"past": [LOOKS]}, {"past": [LOOKS[:2]]}),
        ],
    ),
    "tools/report/sections/document_sections.py": (
        report_documents,
        [
            ("There are no documents yet.", {}, {"depths": [0]}),
            ("From 0, the seeds, to {} links away{}.", {"depths": [0, 3]}, {}),
            ("From 0, the seeds, to 3 links away.", {"depths": [0, 3]}, {"depths": [0, 4]}),
            (" or more", {"depths": [DEEPEST]}, {"depths": [DEEPEST - 1]}),
            ("No document has a body that was seen before under another URL.", {"depths": [0]}, TWICE),
            (" of {} ({}) have a body that was seen before under another URL: {}.", TWICE, {"depths": [0]}),
            ("None of {} with a fingerprint is a near-duplicate of another.", {"near": [0, 0xFFFF]}, {"near": [0, 1]}),
            (
                " of {} with a fingerprint ({}) are near-duplicates of another, {} of them with the same fingerprint.",
                {"near": [0, 1]},
                {"near": [0, 0xFFFF]},
            ),
            ("near-duplicates of another, 2 of them with the same fingerprint", {"near": [5, 5]}, {"near": [5, 4]}),
            ("{} cannot be read: {}.", {"near": [-1]}, {"near": [0, 1]}),
            (" Of those that share {} of their pairs of words, {} are found.", {"near": [0, 1]}, {}),
        ],
    ),
    "tools/supervisor/hive_orders.py": (
        orders,
        [
            ("{}: done by {}", {"alive": [0, 1], "done": [0, 1]}, {"alive": [0], "done": [0]}),
            (
                "{}: drones {} went away before they answered; they will know it",
                {"alive": [0], "done": [0]},
                {"alive": [0], "done": [0, 1]},
            ),
            (
                "{}: drones {} have not answered; they will know it",
                {"alive": [0, 1], "done": [0]},
                {"alive": [0], "done": [0]},
            ),
            (
                "the hive's server is {}: {}",
                {"looks": 1, "alive": [], "done": []},
                {"alive": [0, 1], "done": [0, 1]},
            ),
            (
                "the hive's server is {}: {}; the change goes on when it is back",
                {"changed": True, "looks": 1},
                {"changed": True, "looks": 0},  # nobody has heard of it
                changing,
            ),
            (
                "no drone of this hive is there any more: the change goes on when they are started again",
                {"seconds": 99.0, "alive": []},
                {"seconds": 1.0, "alive": []},
                changing,
            ),
            ("the hive's server, which is {}", {"looks": 0, "supervised": True}, {"supervised": True}, changing),
            ("the drones that leave", {"supervised": True}, {}, changing),
            (
                "{}: the hive {}, and {}: start it again, and it goes on with that",
                {"supervised": False},
                {"supervised": True},
                changing,
            ),
            ("the change to {} has not ended", {"supervised": False}, {"supervised": True}, changing),
            ("is not running", {"supervised": False}, {"supervised": False, "finished": True}, changing),
            ("has finished", {"supervised": False, "finished": True}, {"supervised": False}, changing),
            ("others were asked for since then: drones {}", {"wanted": {0, 2}}, {"wanted": {0, 1}}, changing),
            ("the hive cannot be resized: {}", {"changed": True, "stays": "no"}, {"changed": True}, changing),
            (
                "refused by drone {}: {}",
                {"alive": [0, 1], "done": [0, 1], "why": lambda _: "no"},
                {"alive": [0, 1], "done": [0, 1]},
            ),
            (
                "no drone of this hive is there",
                {"first": [], "alive": [], "done": []},
                {"alive": [0, 1], "done": [0, 1]},
            ),
        ],
    ),
    "adapter/standstill.py": (
        stood,
        [
            ("the crawl stands still: {} has not returned for {} s{}", {"looks": 11}, {"looks": 10}),
            ("the crawl stands still: {} has not returned for 10 s{}", {"looks": 11}, {"looks": 99, "turns": True}),
            ("; it has {} s more, and a second signal ends it at once", {"looks": 11, "told": True}, {"looks": 99}),
            (
                "{} does not return: the crawl ends as by a kill, and nothing {} is kept",
                {"looks": 61, "told": True},
                {"looks": 60, "told": True},  # 50 s after it was said to have 50 s more
            ),
            ("{} does not return: the crawl ends as by a kill", {"looks": 99, "told": True}, {"looks": 99}),
        ],
    ),
    "adapter/last_pages.py": (
        at_the_end,
        [
            (
                "the end waits for {} in the spider or the pipelines{}: {} more, and a second signal ends at once",
                {"pages": ["http://a.test/"]},
                {},
            ),
            (
                "{} did not come back from the spider or the pipelines{}: {}, {} first",
                {"pages": ["http://a.test/"]},
                {},
            ),
            (
                "the end waits for close_spider of a pipeline{}; a second signal ends at once",
                {"seconds": 60.0},
                {"seconds": 0.0},
            ),
            (
                "close_spider of a pipeline does not return{}: the crawl ends without it",
                {"seconds": 60.0},
                {"seconds": 0.0},
            ),
        ],
    ),
    "crawl/control/commands.py": (
        commanded,
        [
            ("it is not paused", {"order": "resume", "new": False}, {"order": "resume"}),
            ("{}; but nothing is fetched ({})", {"order": "resume", "trouble": "no network"}, {"order": "resume"}),
            (
                "{}; but nothing is fetched ({})",
                {"order": "resume", "trouble": "no name server", "held": "disk nearly full"},
                {"order": "resume", "trouble": "no name server"},  # hosts with known addresses are fetched
            ),
            ("it is paused already", {"order": "pause", "new": False}, {"order": "pause"}),
            (
                "paused, after a restart too, until you resume it; downloads under way go on to their ends",
                {"order": "pause"},
                {"order": "pause", "new": False},
            ),
        ],
    ),
    "crawl/control/exclusions.py": (
        commanded,
        [
            (
                "; another record still names it: excluded {}",
                {"order": "include a.test/b/", "excluded": ["a.test"]},
                {"order": "include a.test/b/", "excluded": ["b.test"]},
            ),
            (
                "the exclusion of {} is taken back; what was dropped meanwhile does not come back{}",
                {"order": "include a.test"},
                {"order": "exclude a.test"},
            ),
            ("{} is excluded already", {"order": "exclude a.test", "new": False}, {"order": "exclude a.test"}),
            (
                "a.test is excluded",
                {"order": "exclude a.test"},
                {"order": "exclude a.test --since 2020-01-01 --until 2021-01-01"},
            ),
            ("; outputs made later leave it out", {"order": "exclude a.test --forget"}, {"order": "exclude a.test"}),
        ],
    ),
    "crawl/control/client.py": (
        asking,
        [
            (
                (
                    "process {} has answered nothing for {}: it seems that its event loop stands still, see its log; "
                    "the command is carried out if it goes on, and SIGTERM, twice, ends it"
                ),
                {"still": True},
                {"still": False},
            ),
            ("no answer in {}", {"still": False}, {"still": True}),
        ],
    ),
    "tools/account/account_page.py": (
        account,
        [
            ("No request to this site is known of.", {}, {"requests": [1.0]}),
            ("All requests", {"requests": [1.0]}, {"requests": [1.0], "unlogged": ["drone-1"]}),
            ("{} to this site and the names below it, from {} to ", {"requests": [1.0]}, {}),
            (" The first page found was {}, by {}.", {"requests": [1.0], "ends": [{}]}, {"requests": [1.0]}),
            (
                "a link on {}",
                {"requests": [1.0], "ends": [{"via": "http://b.test/"}]},
                {"requests": [1.0], "ends": [{}]},
            ),
            (
                "a list of addresses with which the crawl began",
                {"requests": [1.0], "ends": [{}]},
                {"requests": [1.0], "ends": [{"via": "http://b.test/"}]},
            ),
            (
                " That way began at {}.",
                {"requests": [1.0], "ends": [{"via": "http://b.test/", "seed": "http://c.test/"}]},
                {"requests": [1.0], "ends": [{}]},
            ),
            (
                (
                    "Between {} and {} {} was stopped hard, or is running. All its requests of that time are listed. "
                    "What was answered is not known of those whose outcome is missing, and the very last ones may not "
                    "have been sent."
                ),
                {"gaps": [Gap(1.0, 2.0)]},
                {},
            ),
            ("and now the crawler was stopped", {"gaps": [Gap(1.0, float("inf"))]}, {"gaps": [Gap(1.0, 2.0)]}),
            ("its start", {"gaps": [Gap(0.0, 2.0)]}, {"gaps": [Gap(1.0, 2.0)]}),
            ("the part of the crawler called {}", {"gaps": [Gap(1.0, 2.0, "drone-0")]}, {"gaps": [Gap(1.0, 2.0)]}),
            (
                (
                    "The crawl kept no log of requests (its OUTPUTS has no `requests`): requests that were repeated "
                    "after a failure, those after the last checkpoint before it was stopped hard or until now, and the "
                    "waits before each are not listed."
                ),
                {"unlogged": [""]},
                {},
            ),
            (
                (
                    "The log of requests does not have all of them: it was begun later than the crawl, or a part of it "
                    "was put away. Of the time that it lacks, requests that were repeated after a failure, and the "
                    "waits before each, are not listed."
                ),
                {"partly": [""]},
                {},
            ),
            (
                "Of these parts of the crawler no files are here, so what they asked for is not listed: {}.",
                {"absent": ["drone-1"]},
                {},
            ),
            ("Left alone, and not asked for: a.test, for good.", {"wishes": [OptOut("a.test")]}, {}),
            ("; that time is over", {"wishes": [OptOut("a.test", 1.0, until=2.0)]}, {"wishes": [OptOut("a.test")]}),
            ("With HOST_CONNECTIONS each of several connections waits for itself.", SEVERAL, {}),
            (account_page.READ, {}, {"terms": {"ROBOTSTXT_OBEY": "off"}}),
            (account_page.UNREAD, {"terms": {"ROBOTSTXT_OBEY": "off"}}, {"terms": {"ROBOTSTXT_OBEY": "on"}}),
            (
                "not asked for: robots.txt forbids it",
                {"ends": [{"status": Status.ROBOTS_FORBIDDEN}]},
                {"ends": [{}]},
            ),
            (
                "URLs that were not asked for because of it: 1. They are in the table, too.",
                {"ends": [{"status": Status.ROBOTS_FORBIDDEN}]},
                {"ends": [{}]},
            ),
            (
                "The last {}; the CSV file has the {} before them.",
                {"requests": [1.0, 2.0, 3.0]},
                {"requests": [1.0, 2.0]},
            ),
        ],
    ),
    "crawl/host_orders.py": (
        of_host,
        [
            ("still in force by command: host {} pause", {"paused": ["a.test"]}, {}),
            ("and more: status lists all that is in force by command", {"paused": MANY}, {"paused": MANY[1:]}),
            ("a.test is paused already", {"orders": [PAUSE, PAUSE]}, {"orders": [PAUSE]}),
            (
                "{} is paused: its URLs stay, and nothing is asked of it until you resume it, after a restart too",
                {"orders": [PAUSE]},
                {"orders": [PAUSE, PAUSE]},
            ),
            ("{} is not paused any more", {"orders": [PAUSE, ["resume"]]}, {"orders": [["resume"]]}),
            ("{} is paused: resume it", {"orders": [PAUSE, ["retry"]]}, {"orders": [["retry"]]}),
            ("{} is not a host of this drone", {"orders": [["drop"]], "foreign": True}, {"orders": [["drop"]]}),
            (
                "{} has no URLs in its queue; what is found of it is asked for as soon as it may be",
                {"orders": [["retry"]], "record": {"queued": 0}},
                {"orders": [["retry"]]},
            ),
            (
                "{} waits for a place among the hosts that are crawled, and is asked when it has one",
                {"orders": [["retry"]], "record": {"state": "waits for a place"}},
                {"orders": [["retry"]]},
            ),
            ("{} may be asked again ", {"orders": [["retry"]]}, {"orders": [["retry"]], "record": {"queued": 0}}),
            ("may be asked again now", {"orders": [["retry"]]}, {"orders": [["retry"]], "due": 5.0}),
            (
                "{} is given up: {} of its queue {}, and what is found of it for a day",
                {"orders": [["drop"]]},
                {"orders": [["drop"]], "foreign": True},
            ),
            ("5 URLs of its queue end now", {"orders": [["drop"]]}, {"orders": [["drop"]], "waits": True}),
            ("end when the crawl is resumed", {"orders": [["drop"]], "crawl": True}, {"orders": [["drop"]]}),
            ("end when the crawl goes on ({})", {"orders": [["drop"]], "held": "no room"}, {"orders": [["drop"]]}),
            ("end when its turn to be crawled comes", {"orders": [["drop"]], "waits": True}, {"orders": [["drop"]]}),
            ("{} has no delay of its own any more", {"orders": [["delay", None]]}, {"orders": [["delay", 5.0]]}),
            (
                "{} is asked every {} s from its next request on, or less often if its robots.txt says so",
                {"orders": [["delay", 5.0]]},
                {"orders": [["delay", None]]},
            ),
            (
                "{} is {} for {} and all hosts below it",
                {"orders": [["set_for", "HOST_MAX_PAGES", 5]]},
                {"orders": [["set_for", "HOST_MAX_PAGES", None]]},
            ),
            (
                "{} is not set for {} any more",
                {"orders": [["set_for", "HOST_MAX_PAGES", None]]},
                {"orders": [["set_for", "HOST_MAX_PAGES", 5]]},
            ),
        ],
    ),
    "crawl/metrics/families.py": (
        metrics,
        [
            *((says, {**more, key: 7}, more) for more, rows in OF_METRICS for key, says in rows.items()),
            ("Answers by HTTP status. 404", {"status/404": 1}, {"status/-4": 1}),
            ("Attempts at URLs that got no answer, by outcome. timeout", {"status/-4": 1}, {"status/404": 1}),
            (
                "URLs that ended while they were queued. robots_forbidden",
                {"frontier/dropped/-9998": 1},
                {"frontier/dropped/-5003": 1},
            ),
            ("Links that a filter drops. scope", {"refused/scope": 1}, {"refused/port": 1}),
            ("Seconds of the crawl by what bounded it. disk", {"bound/disk": 1}, {"bound/work": 1}),
            ("Hosts in rotation (asked, ready, waiting), and those set aside. asked", {"in_flight": 1}, {"ready": 1}),
            (
                "and those set aside. waiting",
                {"hosts": 3, "in_flight": 4, "in_flight/more": 3},
                {"hosts": 3, "in_flight": 4},
            ),
            ("and those set aside. waiting", {"hosts": 3, "ready": 2}, {"hosts": 3, "ready": 2, "in_flight": 1}),
            (
                "1 if this keeps hosts from being asked, else 0; of several troubles, the first. disk",
                {"trouble": "disk nearly full", "paused": True},
                {"trouble": "paused", "paused": True},
            ),
            (
                "of several troubles, the first. engine_paused",
                {"trouble": "paused", "paused": True},
                {"trouble": "paused"},
            ),
            (
                "Pages fetched again, by what was found. gone",
                {"revisit/records": 1, "revisit/gone": 1},
                {"revisit/records": 1, "revisit/moved": 1},
            ),
            (
                "Announced changes that were there, that were not, and that were not looked at. ignored",
                {"revisit/records": 1, "revisit/signals_ignored": 1},
                {"revisit/records": 1, "revisit/signals_true": 1},
            ),
            (
                "Share of copies that are up to date, by weight, estimated.",
                {"revisit/records": 1, "revisit/sampled": 1, "revisit/freshness": 0.5},
                {"revisit/records": 1, "revisit/sampled": 0, "revisit/freshness": 0.5},
            ),
        ],
    ),
    "crawl/metrics/collector.py": (
        metrics,
        [("Answers by the time from the request to their end.", {"times": [1]}, {})],
    ),
    "adapter/extensions/disk_space.py": (
        disk,
        [
            ("99 MiB free for {}, less than MIN_FREE_DISK = 100: fetching is paused", [99], [100]),
            ("{} MiB free for {}: fetching resumes", [99, 100], [99, 98]),
        ],
    ),
    "net/dns_silence.py": (
        silence,
        [
            (
                "no name server answers, for 8 names in a row: only hosts with known addresses are fetched",
                [Failure.TIMEOUT] * 8,
                [*[Failure.TIMEOUT] * 7, Failure.NO_NAME, Failure.TIMEOUT],
            ),
            ("still no answer of a name server after {} minutes", [Failure.TIMEOUT] * 16, [Failure.TIMEOUT] * 10),
            (
                "name servers answer again after {} seconds",
                [*[Failure.TIMEOUT] * 8, None],
                [*[Failure.TIMEOUT] * 7, None],
            ),
        ],
    ),
    "store/jobdir/revisit_figures.py": (
        lambda figures: revisit_figures.in_words(RevisitFigures(**figures)),
        [
            ("2 revisits of ", {"taken": 2}, {"taken": 3}),
            ("1 unchanged, 2 changed", {"unchanged_304": 1, "changed_text": 2}, {"changed_text": 2}),
            (", about {} of all copies fresh", {"sampled": 1}, {"sampled": 0}),
            (
                "about 80% of all copies fresh",
                [{"records": 5, "sampled": 5, "freshness": 0.8}, {"records": 5, "sampled": 0}],
                [{"records": 5, "sampled": 5, "freshness": 0.8}, {"records": 5, "sampled": 1}],
                drones_revisits,
            ),
        ],
    ),
    "record/archives/archives.py": (
        left_bytes,
        [
            ("{}: its crawl runs: {} bytes are left for later, as no checkpoint has them yet", True, False),
            ("{}: its last {} bytes are left out: {}", False, True),
            ("its crawl was killed, or failed, and does those pages again when it is resumed", False, True),
            ("none of the files read so far can give its payload", {"revisits": 1}, {}, archived),
            (
                "; others like it in this file are only counted",
                {"revisits": archives.TOLD},
                {"revisits": archives.TOLD - 1},
                archived,
            ),
            ("{}: byte {}: {}; {} bytes skipped", {"tail": b"junk"}, {}, archived),
            ("{}: {} that cannot be read: {}", {"tail": b"junk"}, {}, archived),
            (
                "{}: not finished: its last {} bytes are left for later",
                {"open": True, "tail": gzipped([response("http://a.test/y")])[:99]},
                {"tail": gzipped([response("http://a.test/y")])[:99]},
                archived,
            ),
            ("{}: shorter than it was when {} bytes of it were processed", {"read": 1 << 20}, {}, archived),
        ],
    ),
    "record/objectstore/stored.py": (
        looked_at,
        [
            ("{}/{}: {} in the store, not looked at: {}", {}, {"here": True}),
        ],
    ),
    "record/objectstore/upload.py": (
        sent,
        [
            (
                "{} exists in the store with another content: another crawl's, or damaged? It is not replaced",
                {"has": b"another"},
                {"has": b"rec"},
            ),
            ("{}: damaged, and so not stored: {} verify says where", {"noted": b"recorx"}, {}),
            ("{}: changed while it was sent", {"changes": True}, {}),
            ("{}: 3 bytes are in the store, 6 were sent", {"cuts": 3}, {}),
            ("{}: what is read back is not what was sent", {"back": b"recorx"}, {"back": b"record"}),
            ("{}: {}: not stored", {"here": False}, {}),
            ("{}: {}: {}; tried again, less and less often", {"fails": [ConnectionError("reset")]}, {"fails": [None]}),
            ("finished files wait here", {"fails": [ConnectionError("reset")]}, {"fails": [MemoryError()]}),
            (
                "this machine lacks something",
                {"fails": [MemoryError()]},
                {"fails": [ConnectionError("reset")]},
            ),
            ("{}: takes files again, after {} s", {"fails": [ConnectionError("reset"), None]}, {"fails": [None]}),
        ],
    ),
    "record/objectstore/storing.py": (str, []),
    "tools/wacz/packable_archives.py": (
        packable,
        [
            (
                "{}: no finished archive file: the crawl has not finished its first",
                {"crawls": {"job": ["a.warc.gz.open"]}},
                {"crawls": {"job": ["b.warc.gz.open"]}, "noted": ["a.warc.gz"]},
            ),
            (
                ": those that there were are no longer here",
                {"crawls": {"job": ["b.warc.gz.open"]}, "noted": ["a.warc.gz"]},
                {"crawls": {"job": []}, "noted": ["a.warc.gz"], "stored": ["a.warc.gz"]},
            ),
            (
                ": they lie in the store; copy them back first",
                {"crawls": {"job": []}, "noted": ["a.warc.gz"], "stored": ["a.warc.gz"]},
                {"crawls": {"job": []}, "noted": ["a.warc.gz"]},
            ),
            (
                "{}: no drone has a finished archive file: they lie in the store",
                {"crawls": {"0": [], "1": []}, "noted": ["a.warc.gz"], "stored": ["a.warc.gz"]},
                {"crawls": {"0": [], "1": []}},
            ),
            (
                "{}: no drone has a finished archive file{}",
                {"crawls": {"0": [], "1": []}},
                {"crawls": {"0": [], "1": ["a.warc.gz"]}},
            ),
            (
                "{}: left out",
                {"crawls": {"0": [], "1": ["a.warc.gz"]}},
                {"crawls": {"0": ["b.warc.gz"], "1": ["a.warc.gz"]}},
            ),
            (
                "finished, and no longer here",
                {"crawls": {"job": ["b.warc.gz"]}, "noted": ["a.warc.gz"]},
                {"crawls": {"job": ["b.warc.gz", "a.warc.gz"]}, "noted": ["a.warc.gz"]},
            ),
            (
                "{}/{}: lies in the store: s3://b/warc/a.warc.gz: left out",
                {"crawls": {"job": ["b.warc.gz"]}, "noted": ["a.warc.gz"], "stored": ["a.warc.gz"]},
                {"crawls": {"job": ["b.warc.gz"]}, "noted": ["a.warc.gz"]},
            ),
            (
                "{}/{}: not finished yet: left out",
                {"crawls": {"job": ["a.warc.gz", "b.warc.gz.open"]}},
                {"crawls": {"job": ["a.warc.gz", "b.warc.gz"]}},
            ),
            (
                "{}: not finished: start the crawl again, which finishes it",
                {"crawls": {"job": ["a.warc.gz", "b.warc.gz.open"]}, "runs": False},
                {"crawls": {"job": ["a.warc.gz", "b.warc.gz.open"]}, "runs": True},
            ),
            (
                "{}: replay programs read only .warc.gz from a WACZ file",
                {"crawls": {"job": ["a.warc.zst"]}},
                {"crawls": {"job": ["a.warc.gz", "a.cdxj"]}},
            ),
            (
                "{}/{}: strange characters, by which the index cannot name it",
                {"crawls": {"job": ["a.warc.gz", "\udcff.warc.gz"]}},
                {"crawls": {"job": ["a.warc.gz", "\udcff.cdxj"]}},
            ),
            (
                "{}: the same name as {}: pack the drones one by one",
                {"crawls": {"0": ["a.warc.gz"], "1": ["a.warc.gz"]}},
                {"crawls": {"0": ["a.warc.gz"], "1": ["b.warc.gz"]}},
            ),
        ],
    ),
    "tools/wacz/pack.py": (str, []),
    "adapter/extensions/redis_seeds.py": (
        pushed,
        [
            (
                "no seeds for the moment, the server is away: {}",
                {"turns": [Away("refused")]},
                {"turns": [0, HiveError("a string")]},
            ),
            ("no seeds for the moment: {}", {"turns": [0, HiveError("a string")]}, {"turns": [Away("refused")]}),
            (
                "no seeds for the moment: a\nno seeds for the moment: a",
                {"turns": [0, HiveError("a"), 0, HiveError("a")]},
                {"turns": [0, HiveError("a"), HiveError("a")]},
            ),
            ("the server of the seeds is back", {"turns": [Away("refused"), 0]}, {"turns": [0, 0]}),
            ("{}: an entry {}: {}", {"bad": 1}, {"bad": 1, "entry": b"http://a.test/"}),
            (
                "{}: further bad entries are counted but not logged",
                {"bad": redis_seeds.TOLD},
                {"bad": redis_seeds.TOLD - 1},
            ),
            ("an entry is not {}", {"bad": 1, "entry": b"\xff"}, {"bad": 1}),
            (
                "an entry is no JSON of a request ({})",
                {"bad": 1, "entry": b"{}"},
                {"bad": 1, "entry": b'{"url": "http://a.test/", "method": "?"}'},
            ),
            (
                "an entry has no method of HTTP: {}",
                {"bad": 1, "entry": b'{"url": "http://a.test/", "method": "?"}'},
                {"bad": 1, "entry": b"{}"},
            ),
            (
                "an entry is refused: {}",
                {"bad": 1, "entry": b'{"url": "http://a.test/", "meta": {"proxy": "x"}}'},
                {"bad": 1, "entry": b"{}"},
            ),
        ],
    ),
    "adapter/earlier_pages.py": (
        unanswered,
        [
            (
                "since: {}; pages that it alone would know are stored whole while it does not answer",
                [Unanswered("status 500")],
                [None],
            ),
            ("{}: no answer within {} seconds", [TimeoutError], [Unanswered("status 500")]),
        ],
    ),
    "tools/supervisor/hive_run.py": (
        watched,
        [
            ("the hive's server died, and was started again", {"server": lambda: True}, {}),
            ("the hive's server died, and cannot be started: {}", {"server": OSError("none")}, {}),
            ("the drones' signs of life cannot be read: {}", {"look": HiveError("none")}, {"look": Away("none")}),
            (
                "the drones' signs of life can be read again",
                {"look": [HiveError("none"), HiveLook()], "times": 2},
                {"look": [HiveError("none"), Away("none")], "times": 2},
            ),
            ("the web is shared by 2 drones now", {"wanted": (0, 1)}, {}),
            ("a new hive of {}", {"new": True}, {"new": False}, hive_begun),
            ("resumed by 2 drones with 7 pages", {"new": False}, {"new": True}, hive_begun),
            ("; the change to {} goes on", {"wanted": (0,)}, {}, hive_begun),
            (
                "waiting for {} of an earlier run to end\n",
                {"left": [True, False, False, False]},
                {"left": [False, False]},
                hive_begun,
            ),
            (
                "{}: another process is using this drone's state",
                {"left": cycle([True])},
                {"left": [True, False, False, False]},
                hive_begun,
            ),
            (
                "nothing was fetched: the warnings of the drones say why, in {}",
                {"figures": {"seeds": 1, "queued": 0, "statistics": {"outcomes": {"-1": 1, "200": 0}}}},
                {"figures": {"seeds": 1, "queued": 0, "statistics": {"outcomes": {"-1": 1, "200": 1}}}},
                hive_begun,
            ),
            (
                "drone 1 has fetched nothing: its warnings say why, in {}",
                {"figures": {"drones": [{"drone": 0, "answers": 1}, {"drone": 1, "answers": 0, "failures": 2}]}},
                {"figures": {"drones": [{"drone": 0, "answers": 1}, {"drone": 1, "answers": 1, "failures": 2}]}},
                hive_begun,
            ),
            ("{}: not written: {}", {"write": OSError("full")}, {}, hive_begun),
            (
                "{}: moved or removed: its drones have what their last checkpoints have",
                {"reasons": ()},
                {},
                hive_begun,
            ),
            (
                "{} has what the last checkpoints of its drones have",
                {"reasons": ("finished", "store_failed")},
                {"reasons": ("finished", "shutdown")},
                hive_begun,
            ),
        ],
    ),
    "crawl/hive/supervising.py": (
        supervised,
        [
            ("stopping the drones; a second signal ends them at once", ["signal"], [(0, 0, "shutdown")]),
            (
                "ending the drones at once: their state is as of their last checkpoints",
                ["signal", "signal"],
                ["signal", (0, 0)],
            ),
            (
                "drone {} was down: the next start of the hive starts it too",
                [(0, -9), "signal"],
                [(0, -9), 60, "signal"],
            ),
            ("drone {} cannot be started: {}", [OSError(12, "no memory"), (0, -9), 60], [(0, -9), 60]),
            ("drone {} died ({}): it is started again in {} s{}", [(0, -9)], ["signal", (0, -9)]),
            ("; its last line: {}", ["no such setting", (0, 1)], ["no such setting", (0, -9)]),
            ("drone {} ended with {}: it is no longer wanted", [[1], (0, 1)], [(0, 1)]),
            (
                "drone {} ended with {}: its state is as of its last checkpoint",
                ["signal", (0, 1)],
                ["signal", (0, -15)],
            ),
            (
                "drone {} ended {} times in a row soon after its start; its last lines:",
                [(0, 1), 60] * supervising.TRIES,
                [(0, -9), 60] * supervising.TRIES,
            ),
            ("drone {} has ended ({}): the others end too", [(0, 0, "shutdown")], [(0, 0, "finished")]),
        ],
    ),
    "crawl/hive/carrying.py": (
        carried,
        [
            ("the hive's server is away ({}): going on with our own hosts", [Away("x")], [Full("x")]),
            ("the hive's server is away for {} s now ({})", [Away("x"), Away("x")], [Away("x")]),
            ("the hive's server is back after {} s", [Away("x"), None], [None]),
            (
                "the hive's server is full ({}): letters to other drones wait on our disk",
                [Full("x")],
                [Away("x")],
            ),
            ("the hive's server takes letters again", [Full("x"), None], [Full("x"), Full("x")]),
            (
                "a letter in our stream is not of this hive, and passed over: {}",
                ForeignMessage("x"),
                None,
                read_letters,
            ),
        ],
    ),
    "crawl/hive/coordinator.py": (
        reigned,
        [
            ("drone {} is lost: its hosts are others' now", {"forgotten": {1}}, {"forgotten": {2}}),
            (
                "drone {} has given away all it had, and is no part of the hive any more",
                {"released": frozenset((1,))},
                {"released": frozenset((0,))},
            ),
        ],
    ),
    "net/address_families.py": (
        connected,
        [
            (
                "{} does not work ({}): its addresses are asked last, hosts without others wait",
                [("2001:db8::1", "no route")],
                [("2001:db8::1", "closed")],
            ),
            (
                "this machine has no route",
                [("2001:db8::1", "no route")],
                [("192.0.2.1", "open"), *((f"2001:{one}::1", "closed") for one in range(20, 40))] * 2,
            ),
            (
                "{} does not work",
                [("192.0.2.1", "no route"), ("2001:db8::1", "open")] * 2,
                [("192.0.2.1", "no route")] * 2,
            ),
            (
                "{} networks in a row are away",
                [("192.0.2.1", "open"), *((f"2001:{one}::1", "closed") for one in range(20, 40))] * 2,
                [("192.0.2.1", "open"), *(("2001:db8::1", "closed") for _ in range(20))] * 2,
            ),
            (
                "{} works again",
                [("2001:db8::1", "no route"), ("2001:db8::1", "open")],
                [("2001:db8::1", "no route"), ("192.0.2.1", "open")],
            ),
        ],
    ),
    "net/dns.py": (
        witnessed,
        [
            (
                "name servers deny 1 name that led to hosts before, or lead them inside: no host is given up for that",
                [(LED, LED), (DENIED, DENIED)],
                [(LED, LED), (DENIED, LED)],
            ),
            ("name servers lead to hosts again", [(LED, LED), (DENIED, DENIED), (LED, LED)], [(LED, LED)] * 2),
        ],
    ),
    "net/shortage.py": (
        without_sockets,
        [
            ("this machine has no socket for another connection ({}): new ones wait", False, None),
            ("this machine has sockets again", True, False),
            (
                "this process was busy elsewhere, or stopped, for {} s",
                shortage.LATE + 0.1,
                shortage.LATE - 0.1,
                timed_out,
            ),
            ("the limit of open files stays {}: {}", OSError("x"), None, limited),
            ("the limit of open files is raised from {} to {}", None, OSError("x"), limited),
        ],
    ),
    "adapter/extensions/identity.py": (
        identified,
        [
            (
                (
                    "USER_AGENT is the default, {}: add a page or an address where you can be reached, "
                    "as in -s USER_AGENT='mybot/1.0 (+https://example.org/bot)'"
                ),
                {"agent": settings.USER_AGENT},
                {"agent": "mybot"},
            ),
        ],
    ),
    "crawl/last_run.py": (
        resumed,
        [
            (
                "OUTPUTS: {} begin now, with the pages that come{}",
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "warc, text, index"}),
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "text"}),
            ),
            (
                "OUTPUTS: {} begins now, with the pages that come{}",
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "warc, text"}),
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "warc"}),
            ),
            (
                "; of the pages before: {}",
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "warc, text"}),
                ({"OUTPUTS": "warc"}, {"OUTPUTS": "warc, skipped"}),
            ),
            (
                (
                    "HOST_MAX_PAGES: a host that has given {} goes on, with links found from now on, after: {}; "
                    "what was left out comes only with another JOBDIR, or --again"
                ),
                ({"HOST_MAX_PAGES": "1"}, {"HOST_MAX_PAGES": "0"}),
                ({"HOST_MAX_PAGES": "2"}, {"HOST_MAX_PAGES": "1"}),
            ),
            ("{} was {}, now {}", ({}, {"LOG": "x"}), ({}, {})),
            ("{}: belongs to the spider {}, not {}: use another JOBDIR", ({}, {"spider": "own"}), ({}, {})),
            (
                (
                    "{} was {}, now {}: it decides which URLs count as one, which cannot change within a crawl; "
                    "change it back, or use another JOBDIR than {}"
                ),
                ({}, {"URL_FOLDINGS": "x"}),
                ({"URL_FOLDINGS": "x"}, {"URL_FOLDINGS": "x"}),
            ),
            (
                (
                    "{} was {}, now {}: each keeps the URLs that wait in its own form; change it back, "
                    "or use another JOBDIR than {}"
                ),
                ({}, {"FRONTIER": "x"}),
                ({}, {"FRONTIER": last_run.OURS}),
            ),
            (
                (
                    "{} was {}, now {}: links that were found would be lost; "
                    "change it back, or use another JOBDIR than {}"
                ),
                ({}, {"URL_FOLLOW": "walk"}),
                ({}, {"URL_FOLLOW": "on"}),
            ),
            (
                (
                    "{} was {}, now seeds: the seeds' domains were not noted, so their links would be dropped; "
                    "change it back, or use another JOBDIR than {}"
                ),
                ({"URL_SCOPE": "any"}, {"URL_SCOPE": "seeds"}),
                ({"URL_SCOPE": "seeds"}, {"URL_SCOPE": "any"}),
            ),
            (
                (
                    "{} is on with {} = {}: the seeds' {}s were not noted, so links would be dropped; "
                    "change it back, or use another JOBDIR than {}"
                ),
                ({"URL_SCOPE": "host"}, {"URL_SCOPE": "host", "REQUISITES": "on"}),
                ({"URL_SCOPE": "seeds"}, {"URL_SCOPE": "domain", "REQUISITES": "on"}),
            ),
        ],
    ),
    "crawl/open_revisits.py": (
        revisits_begun,
        [
            (
                "REVISIT_POLICY = none: 1 page not fetched again; their records stay",
                {"records": 1, "on": False},
                {"on": False},
            ),
            (
                "REVISIT_POLICY: pages that were fetched before have no record, and are not fetched again",
                {"late": True},
                {"late": True, "on": False},
            ),
        ],
    ),
    "adapter/extensions/byte_limit.py": (
        received,
        [("CLOSESPIDER_BYTES = {}: {} bytes were received; a larger number goes on", 100, 101)],
    ),
    "adapter/extensions/checkpoints.py": (
        at_checkpoints,
        [
            (
                "checkpoint in 0.50 s: 1 page, 2 URLs queued, 3 hosts in rotation",
                {"pages": 1, "queued": 2, "hosts": 3, "hosts_aside": 4},
                {"pages": 1, "queued": 2, "hosts": 0, "hosts_aside": 3},
            ),
            (
                "{} has {}, but not both hooks: it takes no part in the checkpoint",
                {"hooks": ["checkpoint"]},
                {"hooks": checkpoints.HOOKS},
            ),
        ],
    ),
    "tools/supervisor/asked.py": (
        asked_of,
        [
            ("{}: no drone of this hive is running", {"words": "status", "alive": ()}, {"words": "status"}),
            (
                "{}: no drone of this hive is running",
                {"words": "status", "alive": ()},
                {"words": "status", "look": Away("x")},
            ),
            (
                "{}: the hive's server is {}: {}",
                {"words": "status", "look": Away("x")},
                {"words": "status", "alive": ()},
            ),
            (
                "{}: for that, name the hive by its JOBDIR",
                {"words": "hosts", "named": False},
                {"words": "hosts"},
            ),
            (
                "{}: name the hive by its JOBDIR, which says how the web is divided",
                {"words": "host a.test", "named": False},
                {"words": "host a.test"},
            ),
            (
                "that is drone {}'s, which runs elsewhere: {} ctl on {}",
                {"words": "host a.test", "at": "there"},
                {"words": "host a.test"},
            ),
            (
                "{}drone 1 is away, and hears of it only if the server lives until then",
                {"words": "pause", "alive": (0,)},
                {"words": "pause"},
            ),
            (
                "{}drone 1 is away, and hears of it only if the server lives until then",
                {"words": "pause", "alive": (0,)},
                {"words": "pause", "alive": (0,), "own": False},
            ),
            (
                "-: drones on other machines cannot read it: name a list that all can read",
                {"words": "seeds add -", "at": "there"},
                {"words": "seeds add a.test", "at": "there"},
            ),
        ],
    ),
    "crawl/uplink.py": (str, []),
    "crawl/hive/queen.py": (
        reigning,
        [
            (
                "drone 1 (here:/job) is not heard of; its hosts and the links to them wait for it",
                {"looks": [(0, {0}), (GRACE, {0})], "reports": HERE},
                {"looks": [(0, {0}), (GRACE, {0, 1})], "reports": HERE},
            ),
            (
                "drone 1 was stopped; its hosts and the links to them wait for it",
                {"looks": [(0, {0}), (GRACE, {0})], "reports": {"state": Drone.STOPPING}},
                {"looks": [(0, {0}), (GRACE, {0})]},
            ),
            (
                "drone 1 is back after 12 s",
                {"looks": [(0, {0}), (GRACE, {0}), (12, {0, 1})]},
                {"looks": [(0, {0}), (GRACE, {0}), (12, {0})]},
            ),
            (
                "drone 1 was given up, but is alive",
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,)), frozenset((1,)))},
                {"looks": [(0, {0})], "wanted": Wanted(frozenset((0,)), frozenset((1,)))},
            ),
            (
                "no drone would be left",
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset())},
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,)))},
            ),
            (
                "drone 2 is not there",
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0, 1, 2)))},
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0, 1)))},
            ),
            (
                "drone 0 has not got the present map yet",
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,))), "reports": {"generation": 0}},
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,)))},
            ),
            (
                "drone 0 has slots of the last change to exchange still",
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,))), "reports": {"moving": (1,)}},
                {"looks": [(0, {0, 1})], "wanted": Wanted(frozenset((0,)))},
            ),
        ],
    ),
    "tools/supervisor/adopt.py": (
        adopted,
        [
            (
                "drone 1 owns {} of {} parts of the web; lost with its state are",
                {"runs": True},
                {"runs": True, "drones": (0, 2)},
            ),
            ("  5 URLs queued for 2 hosts", {"runs": True, "report": LOST}, {"runs": True}),
            ("  {} queued for {}", {"runs": True}, {"runs": True, "unknown": True}),
            ("  7 pages in its archive, /job on here", {"runs": True, "report": LOST}, {"runs": True}),
            ("  3 letters of links for others", {"runs": True, "report": LOST}, {"runs": True}),
            (
                "  its URLs queued, what it has seen, and its archive: how many, the server does not know",
                {"runs": True, "unknown": True},
                {"runs": True},
            ),
            (
                "--drone 1: it was alive within HIVE_LEASE seconds; without --lost it gives away what it has",
                {"runs": True, "alive": {1: 9.0}},
                {"runs": True, "alive": {0: 9.0}},
            ),
            ("--drone 1: no member of this hive", {"drones": (0, 2)}, {}),
            ("--drone 1: no member of this hive", {"runs": True, "drones": (0, 2)}, {"runs": True}),
            ("nothing was changed: repeat the command with --yes to give it up", {"sure": False}, {"sure": True}),
            (
                "nothing was changed: repeat the command with --yes to give it up",
                {"runs": True, "sure": False},
                {"runs": True},
            ),
            ("the state of drone 1 are 5 URLs queued, 7 pages,", {"figures": {"queued": 5, "pages": 7}}, {}),
            (
                "lost with the state of drone {} are its URLs, its pages,",
                {},
                {"figures": {"queued": 5, "pages": 7}},
            ),
            ("what it has seen, and links for others that they had not got", {}, {"runs": True}),
            (
                "pages of these hosts are fetched again when somebody links to them or a seed names them;",
                {},
                {"drones": (0, 2)},
            ),
            (
                "the other drones send their unacknowledged links again, and seeds are read from the beginning",
                {},
                {"drones": (0, 2)},
            ),
            ("the others take over its hosts when the hive is started, with 1 drone", {}, {"wanted": (0, 1, 2)}),
            ("the others take over its hosts when the hive is started, with {}", {}, {"sure": False}),
            ("waiting for drone 1, which is started", {}, {"alive": {1: 9.0}}, given_away),
            (
                "drone 1 ended with exit status 1 before all was given away: repeat the command",
                {"ends": (1,)},
                {"ends": (0,)},
                given_away,
            ),
            (
                "--drone 1: it was alive within HIVE_LEASE seconds; without --jobdir it gives away what it has",
                {"alive": {1: 9.0}},
                {},
                given_away,
            ),
            ("--jobdir job: another process is using it", {"held": True}, {}, given_away),
            ("--jobdir job: belongs to another hive of the name h", {"found": {"key": b"other"}}, {}, given_away),
            (
                "--jobdir job: drone 1 of this hive has its state in another folder, /job on here",
                {"id": "other"},
                {},
                given_away,
            ),
            (
                "--jobdir job: holds a crawl of its own, and is not drone 1 of the hive h",
                {"found": {"identity": None}},
                {},
                given_away,
            ),
            (
                "--jobdir job: is drone 2 of the hive h, not drone 1 of h",
                {"found": {"identity": Identity("id", "h", 2, 1)}},
                {},
                given_away,
            ),
        ],
    ),
    "crawl/clock.py": (
        clocked,
        [
            (
                "the machine's clock jumped forward by 60 seconds, or the machine slept; this changes no host's wait",
                60.0,
                59.0,
            ),
            ("the machine's clock jumped back by 60 seconds or more; this changes no host's wait", -60.0, -59.0),
        ],
    ),
    "net/http2_offers.py": (
        asked_for_http2,
        [
            (
                "a.test speaks only HTTP/2, as other hosts may: their URLs fail (HTTP2 = off)",
                {"way": "off"},
                {"way": "needed"},
            ),
            (
                "a.test speaks only HTTP/2, as other hosts may: their URLs fail ({})",
                {"way": "prefer", "library": False},
                {"way": "prefer"},
            ),
            (
                "without TLS HTTP/2 is not spoken here: https:// may be meant",
                {"way": "needed", "scheme": "http"},
                {"way": "off"},
            ),
        ],
    ),
    "content/formats/reader_process.py": (
        waited_for,
        [("No process to read PDFs in: none; trying again for 2 s", 3, 2)],
    ),
    "adapter/extensions/control.py": (
        controlled,
        [
            ("by command: {}: {}", {}, {"order": ("status", [])}),
            ("by command: pause: ", {}, {"order": ("status", [])}),
            (
                "the crawl is ending, and reads no more seeds: give them to its next run",
                {"order": ("seeds", ["add", "x"]), "state": "stopping"},
                {"order": ("seeds", ["add", "x"])},
            ),
            ("job/control.sock: none: {} ctl cannot reach this crawl", {"listen": OSError("none")}, {}),
            ("it is not kept: full", {"keep": StoreError("full")}, {}),
            (
                "no checkpoint has it yet, and a crawl that is killed now forgets it",
                {"keep": asyncio.Event().wait},
                {},
            ),
        ],
    ),
    "adapter/hive_membership.py": (
        obeyed,
        [
            ("by command: {}: {}", {"order": ("pause", ()), "late": True}, {**CHECKPOINT, "late": True}),
            ("by command: checkpoint: a checkpoint was taken", CHECKPOINT, {**CHECKPOINT, "checkpoint": StoreError}),
            ("by command: checkpoint: full", {**CHECKPOINT, "checkpoint": StoreError("full")}, CHECKPOINT),
            (
                "by command: seeds add: usage: seeds add SRC…",
                {"order": ("seeds", ("add",))},
                {"order": ("seeds", ("add", "x"))},
            ),
            (
                "REDIS_URL: a new drone cannot begin without its server: OOM",
                {"away": Full("OOM")},
                {"away": Full("OOM"), "key": b"key"},
                entering,
            ),
        ],
    ),
    "adapter/request_meta.py": (
        unheard,
        [
            *(
                (why, {"meta": {key: 1}}, {"meta": {key: 1}, "enabled": True})
                for key, why in (
                    ("http_user", "HttpAuthMiddleware is not enabled"),
                    ("referrer_policy", "RefererMiddleware is not enabled"),
                    ("priority_adjust", "the frontier retries, and crawl.log has a line for each URL that is given up"),
                )
            ),
            (
                "robots.txt is obeyed for all requests or, with ROBOTSTXT_OBEY = False, for none",
                {"meta": {"dont_obey_robotstxt": True}},
                {"meta": {}},
            ),
            (
                "there are no slots: every host has its own queue and wait",
                {"meta": {"download_slot": "x"}},
                {"meta": {}},
            ),
            (
                "download_maxsize = -1: must be a number from 0 to 2147483647",
                {"meta": {"download_maxsize": -1}},
                {"meta": {"download_maxsize": 2**31 - 1}},
            ),
            (
                "{}: this FTP client logs in anonymously, passively, and writes no file",
                {"meta": {"ftp_user": "x"}, "url": "ftp://a.test/"},
                {"meta": {"ftp_user": "x"}},
            ),
        ],
    ),
    "crawl/control/sheets.py": (str, []),
    "adapter/scheduler.py": (
        overdue,
        [
            (
                (
                    "checkpoints leave out 1 page, for 30 s in the spider or the pipelines [in 1 places]: "
                    "a kill has them fetched again (http://a.test/1)"
                ),
                [Trip(Link("http://a.test/1"))],
                [Trip(refusal=FORBIDDEN)],
            ),
            (
                (
                    "checkpoints leave out 1 errback, for 30 s in the spider or the pipelines [in 1 places]: "
                    "a kill has them called again (http://a.test/2)"
                ),
                [Trip(refusal=FORBIDDEN)],
                [Trip(Link("http://a.test/1"))],
            ),
        ],
    ),
    "adapter/archive_reading.py": (str, []),
    "adapter/robots_request.py": (
        without_rules,
        [
            (
                (
                    "{}: a downloader middleware stopped the request for this robots.txt; nothing is fetched from "
                    "hosts whose rules are not known (this is said once)\n1 lines"
                ),
                None,
                Outcome(Status.TIMEOUT),
            ),
        ],
    ),
    "adapter/checkpointing.py": (
        kept,
        [
            ("of this run", GONE, {**GONE, "checkpoint": True}),
            ("{}: nothing after the checkpoint of {}:{}:{} is kept", {**GONE, "checkpoint": True}, GONE),
        ],
    ),
    "adapter/preflight.py": (
        refused_start,
        [
            ("-a follow={}: must be 0 or 1", {"arguments": {"follow": "no"}}, {"arguments": {"follow": "0"}}),
            ("needed or off", {"http2": "prefer"}, {"http2": "prefer", "library": True}),
        ],
    ),
    "adapter/spiders/web.py": (
        begun_by,
        [("own: no seeds, no start_urls, and no start() of its own", None, "its own")],
    ),
    "adapter/downloader.py": (
        fitting,
        [
            ("CONCURRENT_REQUESTS = 50: only {} fit below the limit of 70 open files (ulimit -n)", 70, 700),
            ("others need its slot", Trip(cut=True), Trip(abandoned=True), cut_short),
            ("the crawl ends", Trip(abandoned=True), Trip(cut=True), cut_short),
        ],
    ),
    "adapter/request_passage.py": (
        taken_in,
        [
            ("{} cannot be crawled: {}; others like it are only counted", IgnoreRequest("no"), ValueError),
            (
                "the crawl itself asks again, if need be",
                request_passage.RobotsRequests(MagicMock(), str, pages=True).answered,
                None,
                asked_for_again,
            ),
            ("{} cannot be kept on disk", ValueError, IgnoreRequest("no")),
            ("{} cannot be kept on disk: {}", CannotBeKept("callback", "no method"), ValueError),
            ("such requests end with status {}", {"refused": False}, {"refused": True}, given_out),
            (
                "nobody hears that such requests failed; crawl.log says why they did",
                {"refused": True},
                {"refused": False},
                given_out,
            ),
        ],
    ),
    **dict.fromkeys(("adapter/addon.py", "adapter/modules.py", "adapter/pipelines/output.py"), (str, [])),
    **dict.fromkeys(("adapter/redis_client.py", "urls/seeds/seed_reader.py"), (str, [])),
    "adapter/download_outcomes.py": (str, []),
    "crawl/control/server.py": (str, []),
    "crawl/hive/letter_check.py": (str, []),
    "crawl/revisit/importance.py": (str, []),
    "crawl/saved_state.py": (str, []),
    "frontier/seen/bloom.py": (str, []),
    "frontier/seen/content.py": (str, []),
    "frontier/seen/disk.py": (str, []),
    "record/since/earlier.py": (str, []),
    "record/since/index.py": (str, []),
    "tools/supervisor/servers.py": (
        reached,
        [("REDIS_URL = redis://s: no answer within {} s", TimeoutError, Away("refused"))],
    ),
    "adapter/extensions/statistics.py": (unwritten, [("{}: not written: {}", OSError("full"), None)]),
    "store/disk.py": (unremoved, [("{}: not removed: {}", OSError("busy"), None)]),
    "adapter/browser.py": (
        shut,
        [
            (
                "the browser did not close a page (TimeoutError): it is ended; the next page starts another",
                TimeoutError,
                None,
            )
        ],
    ),
    "adapter/extensions/trim.py": (trimmed, [("{} MiB given back", (3 << 20, 1 << 20), (1 << 20, 3 << 20))]),
    "record/tables/table_writer.py": (str, []),
    "record/fulltext/text_index.py": (str, []),
    "adapter/extensions/websub.py": (
        hubs,
        [
            ("WEBSUB_PORT: no effect, no page of this crawl is fetched again", {"on": False}, {"on": True}),
            (
                "WebSub: callback on 127.0.0.1 port 1, given to hubs as https://me.test/",
                {"on": True},
                {"on": True, "port": False},
            ),
        ],
    ),
    "adapter/periodic.py": (called, [("{} is not called any more\n1 calls", True, False)]),
    "tools/commands/segments.py": (
        built,
        [
            (
                "/segment.csv: 5 URLs, 2 hosts, 1 domain, at most 3 per host; 4 left for later, 7 known",
                {"made": {}},
                {"made": {"left": 3}},
            ),
            ("/segment.csv: segment 3, which had been made and not handed over", {}, {"made": {}}),
            (
                "2 crawls or tables could not be read: the links are missing\n\nstatus 1",
                {"made": {}, "lost": 2},
                {"made": {}},
            ),
            (
                "job: nothing was asked for since this segment was built: if its crawl was killed, crawl it",
                {"made": {}, "untouched": JOB},
                {"made": {}},
            ),
        ],
    ),
    "adapter/handlers.py": (
        refused,
        [
            (
                "x = 1: no: not fetched, like every request with the same (http://a.test/)",
                [BadOption("x = 1: no")],
                [BadOption("x = 2: no")],
            ),
        ],
    ),
    "tools/dashboard/dashboard_server.py": (
        listened,
        [
            (
                "whoever reads the network can read this address: better listen on loopback, and come by ssh -L",
                "192.0.2.1",
                "127.0.0.1",
            )
        ],
    ),
    "urls/seeds/seed_list.py": (
        listed,
        [
            ("seeds.txt: 2 seeds, 1 bad line", {"text": b"a.test\nb.test\n\xff\n"}, {"text": b"a.test\nb.test\n"}),
            ("seeds.txt: line 2 is not UTF-8", {"text": b"a.test\n\xff\n"}, {"text": b"\xff\nb.test\n"}),
            (
                "seeds.txt: line 2 is longer than 131072 bytes",
                {"text": b"a.test\n" + b"x" * 131_073},
                {"text": b"a.test\n" + b"x" * 131_072},
            ),
            (
                "seeds.txt: further bad lines are counted but not logged",
                {"text": b"a.test\n" + b"\xff\n" * 5},
                {"text": b"a.test\n" + b"\xff\n" * 4},
            ),
            (
                "seeds.txt: contains no seed (only blank lines, comments and headers)",
                {"text": b"# a.test\n"},
                {"text": b"\xff\n"},
            ),
            (
                "seeds.txt: contains no seed (bad lines: 1; line 1 is not UTF-8)",
                {"text": b"\xff\n"},
                {"text": b"\xff\na.test\n"},
            ),
            (
                "seeds.txt: changed since it was last read; reading it again from the beginning",
                {"before": b"a.test\nb.test\n", "text": b"c.test\nb.test\n"},
                {"before": b"a.test\nb.test\n", "text": b"a.test\nb.test\nc.test\n"},
            ),
        ],
    ),
    "store/outputs.py": (
        taken_away,
        [
            ("1 finished file no longer there: {} verify names what is gone", [".cdxj"], []),
            ("2 finished files no longer there: ", [".cdxj", ".warc.gz"], [".cdxj"]),
            ("{}: {} no longer there: {} verify names what is gone", [".warc.gz"], []),
            (
                "warc/a.cdxj: gone, and its archive is there (1 such): what goes by the index does not find its pages",
                [".cdxj"],
                [".cdxj", ".warc.gz"],
            ),
        ],
    ),
    "crawl/control/in_force.py": (str, []),
    "adapter/scoring_ahead.py": (
        scored,
        [
            ("No score for http://a.test/0: no", 1, 0),
            ("No score for {}: {}{}", 1, 0),
            ("; further ones are only counted", scoring_ahead.TOLD, scoring_ahead.TOLD - 1),
        ],
    ),
    "adapter/feeds.py": (
        fed,
        [
            (
                "a.json: stays as it is, for the crawl was complete; what comes now goes to {}/a.1.json",
                {},
                {"complete": False},
            ),
            ("a.json: stays as it is, for the crawl was complete; what comes now goes to {}", {}, {"known": True}),
        ],
    ),
    "crawl/own_features.py": (
        featured,
        [("FEATURES: x.Mine.figure is called by nobody: is figures meant?", "figure", "figures")],
    ),
    "crawl/hive/letter.py": (
        opened,
        [
            ("a message of this hive was expected, but its first bytes are not those of one", b"W", LETTER[:9]),
            ("a message is damaged: it ends within its head", LETTER[:9], LETTER[:-1]),
            (
                "a message was written by version 2 of the hive, this program reads 1",
                sealed(version=2),
                sealed(),
            ),
            ("a message is damaged: its checksum is wrong", LETTER[:-1], LETTER),
            (
                "a message is of another hive, which has the same name on this server",
                letter.pack(letter.Letter(letter.Kind.VOTES, 0, 1, 0, []), b"another sixteen!"),
                letter.pack(letter.Letter(letter.Kind.VOTES, 0, 1, 0, []), HIVE),
            ),
            ("a message is of kind 9, which this program does not know", sealed(kind=9), sealed()),
            (
                "a message says that drone 4096 sent it with number 0: no hive has that",
                sealed(sender=4096),
                sealed(sender=4095),
            ),
            (
                "a message says that drone 0 sent it with number 1: no hive has that",
                sealed(number=1, channel=1),
                sealed(kind=letter.Kind.SLOT, number=1, channel=1),
            ),
            ("a message does not say how many bytes its items take", sealed(frame=UNSIZED), sealed()),
            (
                "the items of a message would take {} bytes",
                sealed(frame=zstandard.compress(bytes(letter.LARGEST + 1))),
                sealed(frame=zstandard.compress(bytes(letter.LARGEST))),
            ),
            (
                "the items of a message cannot be read: ValueError('an extension of type 7')",
                sealed(b"\xd4\x07x"),
                sealed(),
            ),
            ("a message does not have as many items as it says", sealed(count=1), sealed(b"\x91\x01", count=1)),
        ],
    ),
    "crawl/seeding.py": (str, []),
    "crawl/revisit_budget.py": (str, []),
    "crawl/lost_requests.py": (str, []),
    "net/connection_proxied.py": (str, []),
    "adapter/extensions/metrics.py": (str, []),
    "adapter/extensions/breaker.py": (str, []),
    "urls/filters/exclusion.py": (str, []),
    "adapter/engine_pause.py": (str, []),
    "tools/dashboard/pages/crawl_page.py": (
        dashboard_head,
        [
            ("Bound by {}.", {"figures": {"bound": "the disk"}}, {}),
            ("In force by command: ", {"figures": {"in_force": ["pause", "x"]}}, {"figures": {"in_force": ["pause"]}}),
            (" and {} more", {"figures": {"in_force": ["x"] * 6}}, {"figures": {"in_force": ["x"] * 5}}),
            ("hosts asked now", {}, {"runs": False}),
            (
                "hosts asked now1",
                {"figures": {"in_flight": 4, "in_flight/more": 3}},
                {"figures": {"in_flight": 4}},
            ),
            ("hosts in turn", {"runs": False}, {}),
            ("those with URLs in the back-end", {"runs": False}, {}),
            ("3 of them set aside", {"figures": {"aside": 3}}, {"figures": {"aside": 2}}),
            ("100.0 % of URLs failed", {"figures": {"mix": {"unreachable": 1}}}, {"figures": {"mix": {"ok": 1}}}),
            ("pages0in all", {"runs": False}, {}),
        ],
    ),
    "tools/dashboard/pages/crawl_list.py": (
        dashboard_list,
        [
            ("There is none in ", {}, {"stopped": 1}),
            ("{} of {} running", {"running": 1}, {}),
            ("1 of 2 crawls running", {"running": 1, "stopped": 1}, {"running": 2}),
            (", {} pages together", {"running": 1}, {"stopped": 1}),
            ("hive of {}", {"running": 1, "drones": 2}, {"running": 1}),
        ],
    ),
    "tools/dashboard/contents.py": (
        dashboard_answers,
        [
            ("The crawl does not run, or does not answer.", {"runs": False}, {}),
            ("The crawl has just ended.", {"fails": NotRunning("none")}, {"fails": CommandError("no")}),
            ("The crawl has just ended.", {"fails": NotRunning("none")}, {"fails": NotRunning("none"), "drones": (1,)}),
            (
                "The hive's server does not answer, or the drones have just ended.",
                {"fails": NotRunning("none"), "drones": (1,)},
                {"fails": NotRunning("none")},
            ),
            (
                "This crawl does not know the command {}.",
                {"fails": CommandError("'hosts' is no command")},
                {"fails": CommandError("no")},
            ),
            ("Perhaps done", {"fails": NoAnswer("done, but")}, {"fails": CommandError("no")}),
            ("Refused", {"fails": CommandError("no")}, {"fails": NoAnswer("done, but")}),
            ("A URL of more than {} characters.", {"url": "x" * 4097}, {"url": "x"}),
            ("No answer: {}", {"url": ""}, {"url": "x"}),
        ],
    ),
    "tools/dashboard/pages/command_pages.py": (
        dashboard_answers,
        [
            ("Nobody is there to command: the crawl does not run, or does not listen.", {"runs": False}, {}),
            (
                "The run ends: downloads under way have a few seconds. Run the same command to resume.",
                {"form": {"command": "stop"}},
                {"form": {"command": "pause"}},
            ),
            (
                "Queued URLs that this rule names are dropped as they come up; include does not bring them back.",
                {"form": {"command": "exclude", "word0": "a.test"}},
                {"form": {"command": "include", "word0": "a.test"}},
            ),
            (
                "The URLs that wait there are given up, and do not come back.",
                {"form": {"command": "host", "word0": "a.test drop"}},
                {"form": {"command": "seeds", "word0": "add drop"}},
            ),
        ],
    ),
    "tools/dashboard/pages/tabs.py": (
        dashboard_tabs,
        [
            ("No such line in the last part of this log, or no such log yet.", {}, {"log": ["a line"]}),
            ("1 seed read from the lists.", {"figures": {"seeds": 1}}, {}),
            (", {} that could not be read", {"figures": {"bad_seeds": 1}}, {}),
        ],
    ),
    "tools/dashboard/live_report.py": (
        dashboard_report,
        [
            ("{} of crawl.log are not read yet: this page goes on.", {"left": 9}, {}),
            ("The statistics lack its beginning: `{} report` makes whole ones from the log.", {"whole": False}, {}),
        ],
    ),
    "tools/dashboard/signs.py": (
        dashboard_signs,
        [
            (
                "Finished: nothing is left to fetch.",
                {"state": "stopped", "note": "finished"},
                {"state": "stopped", "note": "finished", "queued": 3},
            ),
            (
                "Finished, but for {}.",
                {"state": "stopped", "note": "finished", "queued": 3},
                {"state": "stopped", "note": "finished"},
            ),
            (
                "{} of hosts set aside or over their domains' budgets{}",
                {"state": "stopped", "note": "finished", "queued": 3},
                {"state": "stopped", "note": "stopped", "queued": 3},
            ),
            (
                " or folded",
                {"state": "stopped", "note": "finished", "queued": 3, "over_budget/folded": 3},
                {"state": "stopped", "note": "finished", "queued": 3},
            ),
            (
                "Stopped by command; run the same command to resume.",
                {"state": "stopped", "note": "stopped"},
                {"state": "stopped", "note": "shutdown"},
            ),
            (
                "Stopped by a signal; run the same command to resume.",
                {"state": "stopped", "note": "shutdown"},
                {"state": "stopped", "note": "stopped"},
            ),
            (
                "Ended by {}; run the same command to resume.",
                {"state": "stopped", "note": "closespider_timeout"},
                {"state": "stopped", "note": "stopped"},
            ),
            ("Fetches nothing until somebody resumes it.", {"state": "paused"}, {}),
            ("Finishing {} under way.", {"state": "stopping"}, {}),
            ("Nothing is queued: it looks for more, or is about to end.", {}, {"queued": 1}),
            (
                "All {} queued URLs are of hosts set aside, which {}.",
                {"queued": 1, "aside": 1},
                {"queued": 2, "aside": 1},
            ),
            (
                "are tried again now and then",
                {"queued": 1, "aside": 1, "aside_due": 9.0},
                {"queued": 1, "aside": 1, "aside_due": 0},
            ),
            (
                "wait until somebody resumes them",
                {"queued": 1, "aside": 1, "aside_due": 0},
                {"queued": 1, "aside": 1, "aside_due": 9.0},
            ),
            (
                "Asks 1 host",
                {"queued": 1, "hosts": 1, "in_flight": 4, "in_flight/more": 3},
                {"queued": 1, "hosts": 4, "in_flight": 4},
            ),
            ("{} could be asked", {"queued": 1, "ready": 1, "hosts": 1}, {"queued": 1, "hosts": 1}),
            ("{} {} their turn", {"queued": 1, "hosts": 1}, {"queued": 1, "hosts": 1, "ready": 1}),
            ("{} pages per second", {"queued": 1, "moments": moments(9)}, {"queued": 1, "moments": moments(0)}),
            ("unexpected error", {"errors": 1}, {}),
            ("The disk has {} left.", {"free": 1 << 20}, {}),
            ("{}: logs/errors.log says which.", {"errors": 1}, {}),
            ("No page in {}, though {} URLs are queued.", {"moments": moments(0)}, {"moments": moments(9)}),
            (
                "{} of what ended lately got no answer: the hosts are away, or our own network is.",
                {"moments": moments(9, 30)},
                {"moments": moments(9)},
            ),
        ],
    ),
}


@pytest.mark.parametrize(
    ("say", "sentence", "true", "false"),
    [
        pytest.param(*(row[3:] or (say,)), *row[:3], id=f"{Path(module).stem}-{row[0][:50]}")
        for module, (say, rows) in CLAIMS.items()
        for row in rows
    ],
)
def test_a_sentence_is_said_where_it_is_true_and_nowhere_else(say, sentence, true, false):
    """Each sentence is said of the state that makes it true, and not of the one that makes it false."""
    assert pattern(sentence).search(say(true))
    assert not pattern(sentence).search(say(false))
