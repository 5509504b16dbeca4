"""Makes a crawl of checked settings: the one place that knows every room."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webcrawl.base.hosts import host_of
from webcrawl.base.loading import load
from webcrawl.base.model import Link
from webcrawl.content.formats.document_kinds import LOGGED
from webcrawl.content.formats.document_reader import DocumentReader
from webcrawl.crawl.admission import CrawlAdmission, RobotsAdmission
from webcrawl.crawl.clock import CrawlClock
from webcrawl.crawl.control.changeable import OF_FILTERS, OF_FRONTIER, SCOPE
from webcrawl.crawl.control.exclusions import FileOptOuts
from webcrawl.crawl.control.in_force import InForce, PausedHosts, ordered
from webcrawl.crawl.control.sheets import Sheets
from webcrawl.crawl.crawl import Crawl
from webcrawl.crawl.crawl_log import CrawlLog
from webcrawl.crawl.ending import Ending
from webcrawl.crawl.hive.drone_identity import refuse_drone
from webcrawl.crawl.host_orders import HostOrders
from webcrawl.crawl.inline import Halfway
from webcrawl.crawl.inspection import Watched
from webcrawl.crawl.lost_requests import Unkept
from webcrawl.crawl.open_frontier import open_frontier
from webcrawl.crawl.open_revisits import open_revisiting, open_signalling
from webcrawl.crawl.parts import Parts
from webcrawl.crawl.refusals import Refusals
from webcrawl.crawl.request_word import Takes
from webcrawl.crawl.requisites import SOURCES
from webcrawl.crawl.rules import (
    allowance_of,
    limits_of,
    needs_all_seeds,
    politeness_of,
    purpose_of,
    rules_of,
)
from webcrawl.crawl.saved_state import FilterStates, SavedCounters, SavedStatistics
from webcrawl.crawl.seeding import Seeding
from webcrawl.crawl.segments import FOUND, FoundLog
from webcrawl.crawl.setting_changes import Filters, change_scope, heed
from webcrawl.crawl.terms import keep_terms, terms_of
from webcrawl.crawl.uplink import Uplink
from webcrawl.crawl.visitor import LinkRules, Visitor
from webcrawl.crawl.withholding import Owners
from webcrawl.frontier.addresses import Addresses
from webcrawl.frontier.arguments import Hooks
from webcrawl.frontier.frontier import Frontier as OurFrontier
from webcrawl.frontier.protocol import Frontier
from webcrawl.frontier.robots_rows import RobotsRows
from webcrawl.frontier.seen.content import ContentSeen, Shells
from webcrawl.frontier.seen.layout import shares
from webcrawl.frontier.seen.portions import Portions
from webcrawl.frontier.walkers import WalkRules
from webcrawl.net.outage import Detector
from webcrawl.net.robots import agent_of
from webcrawl.net.robots_book import RobotsBook
from webcrawl.record.logs.url_trace import MAGIC, UrlTrace
from webcrawl.record.statistics.statistics import Statistics
from webcrawl.store.crawldb import CrawlDB
from webcrawl.store.outputs import Outputs
from webcrawl.urls.build_pipeline import build_filters, build_pipeline
from webcrawl.urls.filters.filter_chain import Chain
from webcrawl.urls.filters.filter_protocol import UrlFilter
from webcrawl.urls.filters.scope import PageScope
from webcrawl.urls.host_names import RegisteredDomains
from webcrawl.urls.link_pipeline import LinkPipeline
from webcrawl.urls.recent_urls import RecentUrls
from webcrawl.urls.seeds.seed_reader import Seeds
from webcrawl.urls.url_fingerprint import KEY_BYTES, ContentDigests, Fingerprints

if TYPE_CHECKING:
    from webcrawl.crawl.hive.member import Membership, Post

MIB = 1 << 20
MORE = {"SITEMAPS": "sitemap", "FEED_LINKS": "feed"}  # settings that add a kind to LINK_SOURCES
LATELY = 16  # places for each entry of the URL cache: together they take half of its memory


def assemble(
    values: Mapping[str, Any],
    *,
    spider: str,
    arguments: Mapping[str, object] | None = None,
    seeds: Seeds | None = None,
    on_ready: Callable[[], None] | None = None,
    wants_refusal: Callable[[Link], bool] = lambda _: False,
    takes: Takes = lambda *_: False,
    slots: int | None = None,
    fixed: Collection[str] = (),
    kind: type[Crawl] = Crawl,
    member: Membership | None = None,
    db: CrawlDB | None = None,
    walk: WalkRules | None = None,
) -> tuple[Crawl, Visitor]:
    """The crawl in JOBDIR, new or resumed. OtherTerms if it is not this spider's, or cannot go on with these settings.

    `on_ready` is called, from a thread, when new URLs are ready; `wants_refusal` says which links have a request whose
    errback must be called if the frontier drops them; `takes`, which methods of the spider a request of another drone
    may name. `slots` is how many downloads there can be at once, if that is
    not CONCURRENT_REQUESTS. What a former run was ordered to do goes before settings, except those of `fixed`. `kind`:
    Crawl, or what is made of it. `member`: the crawl is one drone of a hive; `db`: its state, which had to be opened
    before. `walk`: instead of fetching every URL once, it walks at random.
    """
    with ExitStack() as opened:  # closed again if a later part cannot be opened
        db = opened.enter_context(closing(db or CrawlDB(Path(values["JOBDIR"]) / "state")))
        if not values["HIVE_DRONES"]:  # a drone's folder may be looked at before it has entered
            refuse_drone(db)
        scope = {name: value for name, value in ordered(db).items() if name == SCOPE and name not in fixed}
        keep_terms(db, terms_of(spider, arguments or {}, {**values, **scope}))  # before a file is cut back
        if slots is not None:
            values = {**values, "CONCURRENT_REQUESTS": slots}
        parts = open_parts(
            values,
            db,
            seeds=seeds,
            on_ready=on_ready,
            wants_refusal=wants_refusal,
            takes=takes,
            fixed=fixed,
            member=member,
            walk=walk,
        )
        crawl = kind(parts)
        opened.callback(crawl.close)
        visitor = _visitor(values, crawl, db)
        if parts.post is not None:
            parts.post.drone.home = crawl.mailbox(visitor.robots_told)
            parts.post.drone.moving.portion = crawl.submit_portion
            if crawl.revisiting is not None:
                parts.post.drone.moving.again = crawl.revisiting.drain
                parts.post.drone.moving.passing = crawl.revisiting.pass_on
        opened.pop_all()
        return crawl, visitor


def open_parts(
    values: Mapping[str, Any],
    db: CrawlDB,
    *,
    seeds: Seeds | None = None,
    on_ready: Callable[[], None] | None = None,
    wants_refusal: Callable[[Link], bool] = lambda _: False,
    takes: Takes = lambda *_: False,
    fixed: Collection[str] = (),
    member: Membership | None = None,
    walk: WalkRules | None = None,
) -> Parts:
    """The parts of a crawl, with their state from `db`."""
    with ExitStack() as opened:
        parts = _parts(
            values,
            db,
            opened,
            seeds=seeds,
            on_ready=on_ready,
            wants_refusal=wants_refusal,
            takes=takes,
            fixed=fixed,
            member=member,
            walk=walk,
        )
        opened.pop_all()
        return parts


def _parts(
    values: Mapping[str, Any],
    db: CrawlDB,
    opened: ExitStack,
    *,
    seeds: Seeds | None,
    on_ready: Callable[[], None] | None,
    wants_refusal: Callable[[Link], bool],
    takes: Takes,
    fixed: Collection[str],
    member: Membership | None,
    walk: WalkRules | None,
) -> Parts:
    """Opens the parts; what must be closed if a later one cannot be opened is added to `opened`."""
    if seeds is not None:
        opened.callback(seeds.close)
    in_force = InForce(db, values, fixed)
    values = in_force.values
    outputs = opened.enter_context(closing(Outputs(db, Path(values["JOBDIR"]))))
    clock = CrawlClock(db)
    log = CrawlLog(outputs.open("logs/crawl.log"))
    refusals = Refusals(db, log, wants_refusal)
    domains = RegisteredDomains()

    def site_of(url: str) -> str:
        return domains.of(host_of(url))

    if member is not None:
        db.set("key", member.key)
        from webcrawl.crawl import hive_parts as drones  # noqa: PLC0415 - other crawls need nothing of a hive
    key = _key(db)
    fingerprints = Fingerprints(key) if member is None else drones.fingerprints(key, member)
    last = partial(_last, in_force, domains)
    pipeline = build_pipeline(values, key, domains=domains, last=last(values), fingerprints=fingerprints)
    states, admission = FilterStates(db, pipeline.chain), CrawlAdmission(pipeline.chain)

    def chain(now: Mapping[str, Any]) -> Chain:
        return build_filters(now, key=key, domains=domains, last=last(now))

    book = RobotsBook(
        RobotsRows(db),
        agent_of(values),
        sitemaps=bool(values["SITEMAPS"]),
        retry_wait=values["HOST_RETRY_WAIT"],
        patience=values["HOST_PATIENCE"],
    )
    robots = RobotsAdmission(book)
    if values["ROBOTSTXT_OBEY"]:
        admission.robots = robots
    memory, content_memory = shares(values["SEEN_MEMORY"] * MIB, values["URL_CACHE_SIZE"])
    seen = load(values["SEEN_STORE"])(
        db, memory=memory, cache=load(values["URL_CACHE"])(values["URL_CACHE_SIZE"]), on_ready=on_ready
    )
    opened.callback(seen.close)
    content = opened.enter_context(closing(ContentSeen(db, memory=content_memory)))
    addresses = Addresses() if values["POLITENESS_PER_IP"] else None

    post: Post | None = None

    def dropped(link: Link, status: int) -> None:
        refusals.dropped(link, status)
        if post is None or not (link.path.endswith("P") and post.drone.robots_gone(link)):
            robots.dropped(link)

    hooks = Hooks(admission, addresses, dropped, awaited=lambda: seen.pending > 0)
    counters: Counter[str] = Counter()
    SavedCounters(db, {"crawl": counters, "refused": pipeline.filtered})
    unkept = Unkept(db, counters)
    frontier = open_frontier(values, db, rules_of(values, domains, key), hooks, clock, walk, outputs, key)
    ours = frontier if isinstance(frontier, OurFrontier) else None
    ending = Ending(values["OUTAGE_END_WAIT"])
    in_force.listen([SCOPE, *OF_FILTERS], Filters(chain, pipeline, admission, states).change, now=False)
    in_force.listen([SCOPE], partial(change_scope, db), now=False)  # last: the terms are not changed back
    _heed(in_force, frontier, book, ending)
    statistics = SavedStatistics(db, log, key).statistics
    portions = Portions(db, site_of)
    post = (
        drones.open_post(values, db, member, ours, seen, takes, unkept.add)
        if member is not None and ours is not None
        else None
    )
    elsewhere = post.drone if post is not None else None
    excludes = admission.excludes
    revisiting = (
        open_revisiting(values, db, ours, clock, log, counters, in_force, post, key, excludes)
        if ours is not None
        else None
    )
    return Parts(
        db=db,
        clock=clock,
        pipeline=pipeline,
        seen=seen,
        content=content,
        frontier=frontier,
        robots=robots,
        seeding=Seeding(
            db,
            seeds,
            pipeline,
            seen,
            all_first=walk is not None or needs_all_seeds(values),
            in_turns=not values["URL_FOLLOW"],
            longest=values["URL_MAX_LENGTH"],
            elsewhere=elsewhere,
        ),
        outputs=outputs,
        log=log,
        lately=RecentUrls(LATELY * values["URL_CACHE_SIZE"]),
        portions=portions,
        site_of=site_of,
        refusals=refusals,
        counters=counters,
        unkept=unkept,
        halfway=Halfway(db),
        ending=ending,
        uplink=Uplink(Detector(domains), frontier, robots.book, clock, counters),
        excludes=excludes,
        statistics=statistics,
        in_force=in_force,
        file_optouts=FileOptOuts(db, lambda: pipeline.chain.filters),
        hosts=_host_orders(ours, robots, statistics, clock, domains, db, in_force, pipeline)
        if ours is not None
        else None,
        post=post,
        trace=_trace(outputs, pipeline) if values["URL_TRACE"] else None,
        leave=None if values["URL_FOLLOW"] else FoundLog(outputs.open(FOUND)).add,
        sitemaps=bool(values["SITEMAPS"]),
        revisiting=revisiting,
        signalling=open_signalling(revisiting, pipeline, site_of, elsewhere),
    )


def _trace(outputs: Outputs, pipeline: LinkPipeline) -> Callable[[str, Sequence[str]], None]:
    output = outputs.open("logs/url.trace")
    if not output.tell():
        output.write(MAGIC)
    return UrlTrace(lambda urls: pipeline.keys([*urls]), output.write).heard


def _heed(in_force: InForce, frontier: Frontier, book: RobotsBook, ending: Ending) -> None:
    """Passes on what may change while the crawl runs."""

    def of_frontier(now: Mapping[str, Any]) -> None:
        frontier.change(politeness_of(now), limits_of(now))
        book.change(retry_wait=now["HOST_RETRY_WAIT"], patience=now["HOST_PATIENCE"])

    in_force.listen(OF_FRONTIER, of_frontier, now=False)
    if isinstance(frontier, OurFrontier):
        in_force.listen(["FRONTIER_BIAS"], lambda now: frontier.set_level_bias(now["FRONTIER_BIAS"]), now=False)
        in_force.listen(["DOMAIN_BUDGET_PAGES"], lambda now: frontier.set_domain_budget(allowance_of(now)), now=False)
    in_force.listen(["OUTAGE_END_WAIT"], lambda now: setattr(ending, "wait", now["OUTAGE_END_WAIT"]), now=False)


def _host_orders(
    frontier: OurFrontier,
    robots: RobotsAdmission,
    statistics: Statistics,
    clock: CrawlClock,
    domains: RegisteredDomains,
    db: CrawlDB,
    in_force: InForce,
    pipeline: LinkPipeline,
) -> HostOrders:
    watched = Watched(frontier, robots, statistics, clock, domains)
    return HostOrders(watched, _sheets(db, in_force, frontier, pipeline), PausedHosts(db), in_force)


def _sheets(db: CrawlDB, in_force: InForce, frontier: OurFrontier, pipeline: LinkPipeline) -> Sheets:
    sheets = Sheets(db)
    heed(sheets, in_force, frontier, pipeline)
    return sheets


def _last(in_force: InForce, domains: RegisteredDomains, values: Mapping[str, Any]) -> list[UrlFilter]:
    """The filters that come after those of the settings: what is ordered."""
    return [in_force.excluded, *([PageScope(domains)] if values["URL_SCOPE"] == "any" else ())]


def _visitor(values: Mapping[str, Any], crawl: Crawl, db: CrawlDB) -> Visitor:
    domain = RegisteredDomains()
    homes = {"host": host_of, "domain": lambda url: domain(host_of(url))}
    rules = LinkRules(
        followed=frozenset(values["LINK_SOURCES"]) | {kind for name, kind in MORE.items() if values[name]},
        redirects=values["REDIRECT_MAX_HOPS"],
        cookies=values["COOKIES"] == "redirects",
        skip_seen=values["CONTENT_SEEN"] == "skip",
        obey_nofollow=bool(values["OBEY_NOFOLLOW"]),
        most=values["PAGE_MAX_LINKS"],
        home=homes.get(values["URL_SCOPE"]),
        requisites=values["REQUISITES"],
        sitemaps=bool(values["SITEMAPS"]),
    )
    wanted = rules.followed.union(SOURCES if rules.requisites else ())
    wanted = LOGGED | wanted if values["LINK_LOG"] else wanted
    agent = agent_of(values)
    first, second = (DocumentReader(wanted, anchor_text=values["LINK_LOG"], agent=agent) for _ in range(2))
    digests = ContentDigests(_key(db))
    shells = Shells(crawl.holds_body, digests, homes["domain"])
    owners = Owners(crawl.robots_said if values["ROBOTSTXT_OBEY"] else None, agent, purpose_of(values))
    return Visitor(crawl, digests, (first, second), rules, shells, owners)


def _key(db: CrawlDB) -> bytes:
    """The key of all hashes, drawn once per crawl: fingerprints of another crawl mean nothing here."""
    key = db.get("key")
    if key is None:
        key = os.urandom(KEY_BYTES)
        db.set("key", key)
    return key
