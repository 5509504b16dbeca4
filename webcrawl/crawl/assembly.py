"""Makes a crawl of checked settings: the one place that knows every room."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.model import Link
from webcrawl.base.own_code import made
from webcrawl.base.ports import Ports
from webcrawl.base.settings.crawl_settings import AUTO
from webcrawl.base.url_text import host_of
from webcrawl.content.recognise import recogniser
from webcrawl.crawl.admission import CrawlAdmission, RobotsAdmission
from webcrawl.crawl.checks.names import NONE
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.control.exclusions import FileOptOuts
from webcrawl.crawl.control.in_force import SCOPE, InForce, PausedHosts, ordered
from webcrawl.crawl.control.sheets import Sheets
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.discovery import Elsewhere
from webcrawl.crawl.ending import Ending
from webcrawl.crawl.hive.member import refuse_drone
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.hostless import Hostless
from webcrawl.crawl.inline import Halfway, InlineDownloads
from webcrawl.crawl.inspection import About
from webcrawl.crawl.last_run import keep_terms, terms_of
from webcrawl.crawl.lost_requests import Refusals, Unkept
from webcrawl.crawl.moments import Moments, listener
from webcrawl.crawl.open_frontier import open_frontier
from webcrawl.crawl.open_visitor import marks, open_visitor
from webcrawl.crawl.parts import ALONE, Parts, Surroundings
from webcrawl.crawl.rules import (
    needs_all_seeds,
    rules_of,
)
from webcrawl.crawl.saved_state import FilterStates, SavedCounters, SavedStatistics, rename_answers
from webcrawl.crawl.seeding import Seeding
from webcrawl.crawl.segments import FOUND, FoundLog
from webcrawl.crawl.setting_changes import Filters, heed, heed_sheets
from webcrawl.crawl.uplink import Uplink
from webcrawl.crawl.visitor import Visitor
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.core import Heard, Hooks
from webcrawl.frontier.frontier import Frontier as OurFrontier
from webcrawl.frontier.host_rows import RobotsRows
from webcrawl.frontier.prioritizers import Prioritizer
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.seen.caches import UrlCache
from webcrawl.frontier.seen.content import ContentSeen
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.seen.protocol import SeenStore, cache_size, shares
from webcrawl.net.outage_detector import Detector
from webcrawl.net.robots import agent_of
from webcrawl.net.robots_book import MEMORY, RobotsBook
from webcrawl.record.url_trace import MAGIC, UrlTrace
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.jobdir.meta_row import REVISITING
from webcrawl.store.outputs import Outputs
from webcrawl.store.user_files import UserFiles
from webcrawl.urls.filters.filter_protocol import Chain, UrlFilter
from webcrawl.urls.filters.scope import PageScope
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline, build_filters, build_pipeline
from webcrawl.urls.recent_urls import RecentUrls
from webcrawl.urls.url_fingerprint import KEY_BYTES, Fingerprints

if TYPE_CHECKING:
    from webcrawl.crawl.hive.member import Post
    from webcrawl.crawl.rendering.deciding import Deciding
    from webcrawl.crawl.revisiting import Revisiting
    from webcrawl.crawl.signalling import Signalling

MIB = 1 << 20
LATELY = 16  # places for each entry of the URL cache: together they take half of its memory


def assemble(
    values: Mapping[str, Any],
    around: Surroundings = ALONE,
    *,
    spider: str,
    arguments: Mapping[str, object] | None = None,
    slots: int | None = None,
    kind: type[Crawl] = Crawl,
    db: CrawlDB | None = None,
) -> tuple[Crawl, Visitor]:
    """The crawl in JOBDIR, new or resumed. OtherTerms if it is not this spider's, or cannot go on with these settings.

    `slots` is how many downloads there can be at once, if that is not CONCURRENT_REQUESTS. `kind`: Crawl, or what is
    made of it. `db`: its state, if that had to be opened before.
    """
    with ExitStack() as opened:  # closed again if a later part cannot be opened
        db = opened.enter_context(closing(db or CrawlDB(Path(values["JOBDIR"]) / "state")))
        if not values["HIVE_DRONES"]:  # a drone's folder may be looked at before it has entered
            refuse_drone(db)
        scope = {name: value for name, value in ordered(db).items() if name == SCOPE and name not in around.fixed}
        keep_terms(db, terms_of(spider, arguments or {}, {**values, **scope}))  # before a file is cut back
        if slots is not None:
            values = {**values, "CONCURRENT_REQUESTS": slots}
        parts = open_parts(values, db, around, kind)
        crawl = kind(parts)
        opened.callback(crawl.close)
        visitor = open_visitor(values, parts, _key(db), rereads=kind.rereads)
        if parts.post is not None:
            from webcrawl.crawl.hive_parts import deliver  # noqa: PLC0415 - as below

            deliver(parts.post, parts, visitor.robots_told)
        opened.pop_all()
        return crawl, visitor


def open_parts(
    values: Mapping[str, Any], db: CrawlDB, around: Surroundings = ALONE, kind: type[Crawl] = Crawl
) -> Parts:
    """The parts of a crawl, with their state from `db`."""
    with ExitStack() as opened:
        parts = _open(values, db, around, kind, opened)
        opened.pop_all()
        return parts


@dataclass(frozen=True, slots=True)
class Ground:
    """What all parts of a crawl stand on."""

    db: CrawlDB
    around: Surroundings
    in_force: InForce
    outputs: Outputs
    moments: Moments
    clock: CrawlClock
    log: CrawlLog
    counters: Counter[str]
    key: bytes
    domains: RegisteredDomains

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings, with those in force by command."""
        return self.in_force.values

    def site_of(self, url: str) -> str:
        """The registered domain of a URL."""
        return self.domains.of(host_of(url))


def _ground(values: Mapping[str, Any], db: CrawlDB, around: Surroundings, opened: ExitStack) -> Ground:
    if around.seeds is not None:
        opened.callback(around.seeds.close)
    in_force = InForce(db, values, around.fixed)
    outputs = opened.enter_context(closing(Outputs(db, Path(in_force.values["JOBDIR"]))))
    moments, clock = Moments(), CrawlClock(db)
    log = CrawlLog(outputs.open("logs/crawl.log"), moments.on_ended)
    if around.member is not None:
        db.set("key", around.member.key)
    return Ground(db, around, in_force, outputs, moments, clock, log, Counter(), _key(db), RegisteredDomains())


def _open(values: Mapping[str, Any], db: CrawlDB, around: Surroundings, kind: type[Crawl], opened: ExitStack) -> Parts:
    """Opens the parts, each after those that it needs; those to be closed if a later one cannot be opened: `opened`."""
    ground = _ground(values, db, around, opened)
    values, moments, clock, counters = ground.values, ground.moments, ground.clock, ground.counters
    refusals = Refusals(db, ground.log, around.wants_refusal)
    _own_features(ground)
    pipeline, admission, filters = _links(ground)
    robots = _robots(ground)
    seen, content = _seen(ground, opened)
    post: Post | None = None

    def dropped(link: Link, status: int) -> None:
        refusals.dropped(link, status)
        if post is None or not (link.is_prerequisite and post.drone.robots_gone(link)):
            robots.dropped(link)

    addresses = Addresses() if values["POLITENESS_PER_IP"] else None
    hooks = Hooks(admission, addresses, dropped, awaited=lambda: seen.pending > 0)
    SavedCounters(db, {"crawl": counters, "refused": pipeline.filtered})
    unkept = Unkept(db, counters)
    rules = rules_of(values, ground.domains, ground.key)
    own = None if around.frontier is None else around.frontier.factory(values, db, ground.outputs, clock, ground.key)
    frontier = open_frontier(values, db, rules, hooks, clock, own)
    ours = frontier if isinstance(frontier, OurFrontier) else None
    ending = Ending(values["OUTAGE_END_WAIT"], clock(), shortens=not around.awaits_ends)
    heed(ground.in_force, db, filters, frontier, robots.book, ending)

    saved, portions = SavedStatistics(db, ground.log, ground.key), Portions(db, ground.site_of)
    rename_answers(counters, saved.statistics)
    post = _post(ground, ours, seen, unkept)
    elsewhere = post.drone if post is not None else None
    rendering = _rendering(ground, saved)
    _join_scores(ground, rules.prioritizer)
    revisiting, signalling = _revisits(ground, ours, post, admission, pipeline)
    uplink = Uplink(Detector(ground.domains), frontier, robots.book, clock, counters)
    hosts = _host_orders(ground, ours, robots, saved, pipeline, rendering, uplink)
    seeding, halfway = _seeding(ground, pipeline, seen, elsewhere), Halfway(db)
    lately, beside = RecentUrls(LATELY * cache_size(values["SEEN_MEMORY"] * MIB)), _beside(ground, pipeline, frontier)
    discovery = kind.discovery(pipeline, seen, lately, portions, ground.site_of, counters, frontier, elsewhere, *beside)
    moments.next_due.append(ending.after)
    return Parts(
        db=db,
        moments=moments,
        clock=clock,
        pipeline=pipeline,
        seen=seen,
        content=content,
        frontier=frontier,
        discovery=discovery,
        robots=robots,
        robots_answers=kind.robots_answers(robots, uplink, frontier, elsewhere),
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
        inline=_inline(ground, frontier, robots, halfway, elsewhere, uplink, admission),
        ending=ending,
        uplink=uplink,
        statistics=saved.statistics,
        in_force=ground.in_force,
        file_optouts=FileOptOuts(db, lambda: pipeline.chain.filters),
        about=About(discovery, seeding, frontier, elsewhere),
        new_body=frontier.domains.new_body if kind.has_budgets else _no_budget,
        hosts=hosts,
        post=post,
        signalling=signalling,
        revisiting=revisiting,
        rendering=rendering,
    )


def _user_files(ground: Ground) -> UserFiles:
    files = UserFiles(ground.db)
    ground.outputs.on_show(files.flush)
    ground.outputs.on_close(files.end)
    return files


def _own_features(ground: Ground) -> None:
    if ground.values["FEATURES"]:
        from webcrawl.crawl.own_features import open_features  # noqa: PLC0415 - most crawls have none

        open_features(ground.values["FEATURES"], ground.values, ground.db, ground.moments)


def _inline(
    ground: Ground,
    frontier: Frontier,
    robots: RobotsAdmission,
    halfway: Halfway,
    elsewhere: Elsewhere | None,
    uplink: Uplink,
    admission: CrawlAdmission,
) -> InlineDownloads:
    return InlineDownloads(
        frontier.lending,
        robots,
        ground.clock,
        ground.log,
        ground.counters,
        halfway,
        elsewhere,
        uplink=uplink,
        rests=lambda: ground.in_force.rests,
        excludes=admission.excludes,
    )


def _links(ground: Ground) -> tuple[LinkPipeline, CrawlAdmission, Filters]:
    """The way of links to the seen store, the check before they are fetched, and the filters that both have."""
    key, domains, values, member = ground.key, ground.domains, ground.values, ground.around.member
    fingerprints = Fingerprints(key)
    if member is not None:
        from webcrawl.crawl import hive_parts as drones  # noqa: PLC0415 - other crawls need nothing of a hive

        fingerprints = drones.fingerprints(key, member)

    def last(now: Mapping[str, Any]) -> list[UrlFilter]:
        """The filters that come after those of the settings: what is ordered."""
        return [ground.in_force.excluded, *([PageScope(domains)] if now["URL_SCOPE"] == "any" else ())]

    def chain(now: Mapping[str, Any]) -> Chain:
        return build_filters(now, key=key, domains=domains, last=last(now))

    pipeline = build_pipeline(values, key, domains=domains, last=last(values), fingerprints=fingerprints)
    states = FilterStates(ground.db, pipeline.chain)
    admission = CrawlAdmission(pipeline.chain, ground.moments.next_decision)
    return pipeline, admission, Filters(chain, pipeline, admission, states)


def _post(ground: Ground, frontier: OurFrontier | None, seen: SeenStore, unkept: Unkept) -> Post | None:
    member, around = ground.around.member, ground.around
    if member is None or frontier is None:
        return None
    from webcrawl.crawl.hive_parts import open_post  # noqa: PLC0415 - as above

    return open_post(ground.values, ground.db, member, frontier, seen, around.takes, unkept.add, ground.moments)


def _revisits(
    ground: Ground,
    frontier: OurFrontier | None,
    post: Post | None,
    admission: CrawlAdmission,
    pipeline: LinkPipeline,
) -> tuple[Revisiting | None, Signalling | None]:
    values, db = ground.values, ground.db
    if frontier is None or (values["REVISIT_POLICY"] == NONE and db.get(REVISITING) is None):
        return None, None
    from webcrawl.crawl.open_revisits import open_revisiting  # noqa: PLC0415 - other crawls need nothing of it

    parts = ground.clock, ground.moments, ground.counters, ground.in_force, post, ground.key
    return open_revisiting(values, db, frontier, *parts, admission.excludes, pipeline, ground.site_of)


def _host_orders(
    ground: Ground,
    frontier: OurFrontier | None,
    robots: RobotsAdmission,
    saved: SavedStatistics,
    pipeline: LinkPipeline,
    rendering: Deciding | None,
    uplink: Uplink,
) -> HostOrders | None:
    if frontier is None:
        return None
    sheets = Sheets(ground.db)
    heed_sheets(sheets, ground.in_force, frontier, pipeline)
    return HostOrders(
        frontier,
        robots,
        saved.statistics,
        ground.clock,
        ground.domains,
        sheets=sheets,
        paused=PausedHosts(ground.db),
        in_force=ground.in_force,
        uplink=uplink,
        rendered=rendering.in_words if rendering is not None else None,
    )


def _rendering(ground: Ground, saved: SavedStatistics) -> Deciding | None:
    if ground.values["RENDER"] != AUTO:
        ground.moments.next_figures.append(saved.need_scripts)
        return None
    from webcrawl.crawl.rendering.deciding import Deciding  # noqa: PLC0415 - other crawls need nothing of it

    return Deciding(ground.db, ground.counters, recogniser(*marks(ground.values)))


def _join_scores(ground: Ground, prioritizer: Prioritizer) -> None:
    if ground.values["SCORER"] or ground.values["FOCUS_LANGUAGES"]:
        from webcrawl.crawl.score_book import ScoreBook  # noqa: PLC0415 - as above

        ground.moments.join(ScoreBook(prioritizer, ground.counters))


def _seeding(ground: Ground, pipeline: LinkPipeline, seen: SeenStore, elsewhere: Elsewhere | None) -> Seeding:
    values, around = ground.values, ground.around
    return Seeding(
        ground.db,
        around.seeds,
        pipeline,
        seen,
        all_first=around.frontier is not None or needs_all_seeds(values),
        in_turns=not values["URL_FOLLOW"],
        longest=values["URL_MAX_LENGTH"],
        elsewhere=elsewhere,
    )


def _no_budget(link: Link, body: bytes) -> None:
    """Nobody's budget grows."""


def _robots(ground: Ground) -> RobotsAdmission:
    values = ground.values
    book = RobotsBook(
        RobotsRows(ground.db),
        agent_of(values),
        sitemaps=values["SITEMAPS"] is not False,
        lazily=values["SITEMAPS"] is None,
        retry_wait=values["HOST_RETRY_WAIT"],
        patience=values["HOST_PATIENCE"],
        memory=min(MEMORY, values["FRONTIER_MEMORY"] * MIB // 4),
    )
    robots = RobotsAdmission(book, Ports(values["PORTS_ALLOWED"]))
    if values["ROBOTSTXT_OBEY"]:
        ground.moments.next_decision.append(robots.decide)
    return robots


def _seen(ground: Ground, opened: ExitStack) -> tuple[SeenStore, ContentSeen]:
    values, db = ground.values, ground.db
    whole = values["SEEN_MEMORY"] * MIB
    memory, content_memory = shares(whole)
    cache: UrlCache = made("URL_CACHE", values["URL_CACHE"], UrlCache, cache_size(whole))
    more = {"memory": memory, "cache": cache, "on_ready": ground.around.on_ready}
    seen: SeenStore = made("SEEN_STORE", values["SEEN_STORE"], SeenStore, db, **more)
    opened.callback(seen.close)
    return seen, opened.enter_context(closing(ContentSeen(db, memory=content_memory)))


def _beside(
    ground: Ground, pipeline: LinkPipeline, frontier: Frontier
) -> tuple[Heard | None, Callable[[Sequence[bytes]], None] | None]:
    """Who hears of links: the frontier, the trace and features; and the log of those that are not followed."""
    values, heard = ground.values, ground.moments.on_links
    if values["URL_TRACE"]:
        output = ground.outputs.open("logs/url.trace")
        if not output.tell():
            output.write(MAGIC)
        heard.insert(0, UrlTrace(lambda urls: pipeline.keys([*urls]), output.write).heard)
    if frontier.domains.heard is not None:
        heard.insert(0, frontier.domains.heard)
    return listener(heard), None if values["URL_FOLLOW"] else FoundLog(ground.outputs.open(FOUND)).add


def _key(db: CrawlDB) -> bytes:
    """The key of all hashes, drawn once per crawl: fingerprints of another crawl mean nothing here."""
    key = db.get("key")
    if key is None:
        key = os.urandom(KEY_BYTES)
        db.set("key", key)
    return key
