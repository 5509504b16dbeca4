"""Makes a crawl of checked settings: a list of parts that open themselves (`ground.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from webcrawl.base.model import Link
from webcrawl.base.settings.checked_settings import CheckedSettings, with_values
from webcrawl.base.settings.crawl_settings import EVERY, OFF
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.admission import RobotsAdmission
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.control.exclusions import FileOptOuts
from webcrawl.crawl.control.in_force import SCOPE, ordered
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_end import CrawlEnd
from webcrawl.crawl.ground import ALONE, Ground, Surroundings, key_of, open_ground
from webcrawl.crawl.hive.member import refuse_drone
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.hostless import Hostless
from webcrawl.crawl.inline import Halfway, InlineDownloads
from webcrawl.crawl.inspection import About
from webcrawl.crawl.last_run import keep_terms, terms_of
from webcrawl.crawl.lost_requests import Refusals, Unkept
from webcrawl.crawl.moments import listener
from webcrawl.crawl.open_frontier import open_frontier, open_seen
from webcrawl.crawl.open_visitor import marks, open_visitor
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.rules import rules_of
from webcrawl.crawl.saved_state import SavedCounters, SavedStatistics, rename_answers
from webcrawl.crawl.seeding import Seeding
from webcrawl.crawl.segments import FOUND, FoundLog
from webcrawl.crawl.setting_changes import heed
from webcrawl.crawl.uplink import Uplink
from webcrawl.crawl.url_filters import Filters
from webcrawl.crawl.visitor import Visitor
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.core import Heard, Hooks
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.seen.protocol import cache_size
from webcrawl.net.outage_detector import Detector
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.log_lines import UrlTrace
from webcrawl.store.jobdir.meta_row import REVISITING
from webcrawl.store.user_files import UserFiles
from webcrawl.urls.recent_urls import RecentUrls

# places for each entry of the URL cache: together they take half of its memory
RECENT_PER_CACHED = 16


def assemble(
    values: CheckedSettings,
    around: Surroundings = ALONE,
    *,
    spider: str,
    arguments: Mapping[str, object] | None = None,
    slots: int | None = None,
    kind: type[Crawl] = Crawl,
    db: CrawlDB | None = None,
) -> tuple[Crawl, Visitor]:
    """Return the crawl in JOBDIR, new or resumed.

    Raise OtherTerms if it is not this spider's, or cannot go on with these settings.

    `slots` is how many downloads there can be at once, if that is not CONCURRENT_REQUESTS. `kind`:
    Crawl, or what is made of it. `db`: its state, if that had to be opened before.
    """
    with ExitStack() as opened:  # closed again if a later part cannot be opened
        db = opened.enter_context(closing(db or CrawlDB(Path(values["JOBDIR"]) / "state")))
        if not values["HIVE_DRONES"]:  # a drone's folder may be looked at before it has entered
            refuse_drone(db)
        # A scope that a former run was ordered to change is the one that counts.
        scope_by_command = {}
        commanded = ordered(db)
        if SCOPE in commanded and SCOPE not in around.fixed:
            scope_by_command[SCOPE] = commanded[SCOPE]
        # It raises OtherTerms. Before `open_parts`, which truncates files to the last checkpoint: a
        # crawl that is refused stays as it is.
        terms = terms_of(spider, arguments or {}, with_values(values, scope_by_command))
        keep_terms(db, terms)
        # After that: how many slots fit is no term of the crawl.
        if slots is not None:
            values = {**values, "CONCURRENT_REQUESTS": slots}
        parts = open_parts(values, db, around, kind)
        crawl = kind(parts)
        opened.callback(crawl.close)
        visitor = open_visitor(values, parts, key_of(db), rereads=kind.rereads)
        if parts.drone_parts is not None:
            from webcrawl.crawl.hive_parts import deliver  # noqa: PLC0415 - other crawls need nothing of a hive

            deliver(parts.drone_parts, parts, visitor.robots_told)
        opened.pop_all()  # all is open, and the caller's to close
        return crawl, visitor


def open_parts(
    values: CheckedSettings, db: CrawlDB, around: Surroundings = ALONE, kind: type[Crawl] = Crawl
) -> Parts:
    """Return the parts of a crawl, with their state from `db`."""
    with ExitStack() as opened:
        parts = _open(open_ground(values, db, around, opened), kind, opened)
        opened.pop_all()
        return parts


def _open(ground: Ground, kind: type[Crawl], opened: ExitStack) -> Parts:
    """Open the crawl's parts, each after those that it needs, and return them.

    The order matters: a checkpoint saves the parts in the order in which they were opened, and
    features hear of each moment in the order in which they joined. `opened` closes them if a later
    one cannot be opened.
    """
    values, db, counters, clock = ground.values, ground.db, ground.counters, ground.clock
    refusals = Refusals(db, ground.log, ground.around.wants_refusal)

    def dropped(link: Link, status: int) -> None:
        refusals.dropped(link, status)
        robots.dropped(link)  # opened below; the frontier, which calls this, is opened after it

    if values["FEATURES"]:  # before robots.txt, so that they decide on a URL first
        from webcrawl.crawl.own_features import open_features  # noqa: PLC0415 - most crawls have none

        open_features(ground)
    filters = Filters(ground)
    pipeline = ground.pipeline = filters.pipeline
    ground.excludes = filters.admission.excludes
    robots = RobotsAdmission.open(ground)
    seen, content = open_seen(ground, opened)
    ground.seen = seen
    SavedCounters(db, {"crawl": counters, "refused": pipeline.filtered})
    unkept = Unkept(db, counters)
    rules = rules_of(values, ground.domains, ground.key)
    addresses = Addresses() if values["POLITENESS_PER_IP"] else None
    hooks = Hooks(filters.admission, addresses, dropped, awaited=lambda: seen.pending > 0)
    frontier = ground.frontier = open_frontier(ground, rules, hooks)
    crawl_end = CrawlEnd(values["OUTAGE_END_WAIT"], clock(), shortens=not ground.around.awaits_ends)
    heed(ground.in_force, db, filters, frontier, robots.book, crawl_end)

    saved = SavedStatistics(db, ground.log, ground.key, clock)
    portions = Portions(db, ground.site_of)
    rename_answers(counters, saved.statistics)
    _features(ground, unkept, saved, rules.prioritizer)
    ground.moments.next_due.append(crawl_end.next_time)
    drone = robots.drone = ground.drone
    uplink = Uplink(Detector(ground.domains), frontier, robots.book, clock, counters)
    hosts = HostOrders.open(ground, robots, saved.statistics, uplink)
    seeding, halfway = Seeding.open(ground), Halfway(db)
    recent = RecentUrls(RECENT_PER_CACHED * cache_size(values["SEEN_MEMORY"] << 20))  # from MiB
    on_links, leave_unfollowed = _hearers_of_links(ground)
    discovery = kind.discovery(
        pipeline,
        seen,
        frontier,
        recent_urls=recent,
        portions=portions,
        site_of=ground.site_of,
        counters=counters,
        other_drones=drone,
        on_links=on_links,
        leave_unfollowed=leave_unfollowed,
    )
    return Parts(
        db=db,
        moments=ground.moments,
        clock=clock,
        pipeline=pipeline,
        seen=seen,
        content=content,
        frontier=frontier,
        discovery=discovery,
        robots=robots,
        robots_answers=kind.robots_answers(robots, uplink, frontier, drone),
        seeding=seeding,
        outputs=ground.outputs,
        user_files=_user_files(ground),
        log=ground.log,
        portions=portions,
        refusals=refusals,
        hostless=Hostless(db, content),
        counters=counters,
        unkept=unkept,
        halfway=halfway,
        inline=InlineDownloads(
            frontier.lending,
            robots,
            clock,
            log=ground.log,
            counters=counters,
            halfway=halfway,
            other_drones=drone,
            uplink=uplink,
            rests=lambda: ground.in_force.rests,
            excludes=ground.excludes,
        ),
        crawl_end=crawl_end,
        uplink=uplink,
        statistics=saved.statistics,
        in_force=ground.in_force,
        file_optouts=FileOptOuts(db, lambda: pipeline.chain.filters),
        about=About(discovery, seeding, frontier, drone),
        new_body=frontier.domains.new_body if kind.has_budgets else _no_budget,
        hosts=hosts,
        drone_parts=ground.drone_parts,
        signalling=ground.signalling,
        revisiting=ground.revisiting,
        rendering=ground.rendering,
    )


def _features(
    ground: Ground, unkept: Unkept, saved: SavedStatistics, prioritizer: Prioritizer
) -> None:
    """Open the features that the settings ask for.

    The modules of a feature are imported only here: a crawl that fetches no page twice has 25 fewer.
    """
    values, frontier, member = ground.values, ground.our_frontier, ground.around.member
    if member is not None and frontier is not None:
        from webcrawl.crawl.hive_parts import open_drone  # noqa: PLC0415

        ground.drone_parts = open_drone(ground, member, frontier, unkept.add)
    if values["RENDER"] != OFF:
        from webcrawl.crawl.rendering.deciding import Deciding  # noqa: PLC0415

        ground.rendering = Deciding(
            ground.db,
            ground.counters,
            recogniser(*marks(values)),
            every=values["RENDER"] == EVERY,
        )
    else:
        ground.moments.next_figures.append(saved.need_scripts)
    if values["SCORER"] or values["FOCUS_LANGUAGES"]:
        from webcrawl.crawl.score_book import ScoreBook  # noqa: PLC0415

        ground.moments.join(ScoreBook(prioritizer, ground.counters))
    may_revisit = values["REVISIT_POLICY"] != NONE or ground.db.get(REVISITING) is not None
    if may_revisit and frontier is not None:
        from webcrawl.crawl.open_revisits import open_revisiting  # noqa: PLC0415

        ground.revisiting, ground.signalling = open_revisiting(ground, frontier)


def _no_budget(link: Link, body: bytes) -> None:
    """Do nothing, in place of a frontier that counts new bodies: no budget grows."""


def _hearers_of_links(
    ground: Ground,
) -> tuple[Heard | None, Callable[[Sequence[bytes]], None] | None]:
    """Return `on_links` and `leave_unfollowed` of Discovery.

    Each is None if nothing of this crawl needs it. The first tells the frontier, the trace and
    features of all links, in this order. The other logs the links that are not followed.
    """
    values, listeners, pipeline = ground.values, ground.moments.on_links, ground.pipeline
    if values["URL_TRACE"]:
        output = ground.outputs.open("logs/url.trace")
        trace = UrlTrace.open(output, lambda urls: pipeline.keys([*urls]))
        listeners.insert(0, trace.record_links)
    if ground.frontier.domains.heard is not None:
        listeners.insert(0, ground.frontier.domains.heard)
    leave_unfollowed = None
    if not values["URL_FOLLOW"]:
        leave_unfollowed = FoundLog(ground.outputs.open(FOUND)).add
    return listener(listeners), leave_unfollowed


def _user_files(ground: Ground) -> UserFiles:
    files = UserFiles(ground.db)
    ground.outputs.on_show(files.flush)
    ground.outputs.on_close(files.end)
    return files
