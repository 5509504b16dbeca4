"""Answers why a URL was fetched, or was not: from what a crawl left, and from a running one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from webcrawl.base.dates import iso
from webcrawl.crawl.control.client import Client
from webcrawl.crawl.control.command import CommandError, NotRunning
from webcrawl.crawl.inspection import HTTP2_ONLY, ends_with
from webcrawl.frontier.host_facts import HostFacts, OriginFacts
from webcrawl.store.jobdir.crawls import absent_drones, number_of
from webcrawl.store.jobdir.job_dir import JobDir
from webcrawl.tools.why.facts import UrlFacts
from webcrawl.tools.why.file_search import archived
from webcrawl.tools.why.gather import FactFinder
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.tools.why.url_rules import first_refusal, shown
from webcrawl.tools.why.verdict import (
    DROPPED,
    FETCHED,
    IN_FLIGHT,
    QUEUED,
    REFUSED,
    SEEN,
    UNKNOWN,
    UrlVerdict,
    is_end,
    verdict_on,
    what_now,
)

BATCH = 10_000  # URLs asked for at once
VISITS = 100  # of a page that is fetched again: lines of the log, and records, the latest ones
STRENGTH = {FETCHED: 5, QUEUED: 4, DROPPED: 2, REFUSED: 1}
ATTEMPTED = 3  # of what may have been an attempt, and no end
WEAK = (REFUSED, SEEN, UNKNOWN)  # what another drone of a hive may know better


@dataclass(slots=True)
class WhyAnswer:
    """The answer to one question: what became of a URL, and why."""

    url: str  # as it was asked for
    state: str
    kind: str  # of reason, as many URLs may have it
    reason: str
    details: dict[str, Any] = field(default_factory=dict)
    # False: its host may have gone to another drone of its hive, which asks again
    is_end: bool = True

    @property
    def strength(self) -> int:
        """Return how much it counts beside the answers of other drones."""
        if not self.is_end:
            return ATTEMPTED
        return STRENGTH[QUEUED] if self.kind == IN_FLIGHT else STRENGTH.get(self.state, 0)

    def to_json(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "state": self.state,
            "reason": self.reason,
            "kind": self.kind,
            **self.details,
        }


class OpenedCrawls:
    """The crawl of a JOBDIR, or all drones of a hive, opened to be asked."""

    def __init__(
        self, jobdir: Path, *, deep: bool = False, alive: bool = True, trusted: Container[str] = ()
    ) -> None:
        """`alive`: ask the crawl, if it runs."""
        self._alive = alive
        self._closing = ExitStack()
        self._gatherings: dict[OpenedCrawl, FactFinder] = {}
        absent = [f"{crawl}: this drone's folder is missing" for crawl in absent_drones(jobdir)]
        try:
            for crawl in JobDir.all(jobdir):
                source = self._closing.enter_context(OpenedCrawl(crawl.path, trusted))
                self._gatherings[source] = FactFinder(source, deep=deep)
                source.odd += absent
                source.is_all = source.is_all and not absent
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    def answers(self, urls: Sequence[str]) -> Iterator[WhyAnswer]:
        for at in range(0, len(urls), BATCH):
            yield from self._some(urls[at : at + BATCH])

    def _some(self, urls: Sequence[str]) -> Sequence[WhyAnswer]:
        """Return the best answer to each URL. Drones are asked what no earlier one settled.

        An answer is found by its place among the URLs, as a URL may be given twice.
        """
        best: dict[int, WhyAnswer] = {}
        for source, gathering in self._gatherings.items():
            unsettled = [place for place in range(len(urls)) if _is_unsettled(best.get(place))]
            answers = self._answers_of(source, gathering, [urls[place] for place in unsettled])
            for place, answer in zip(unsettled, answers, strict=True):
                earlier = best.get(place)
                if earlier is None or _goes_before(answer, earlier):
                    best[place] = answer
            source.snapshot.check_still()
        return [best[place] for place in range(len(urls))]

    def _answers_of(
        self, source: OpenedCrawl, gathering: FactFinder, urls: Sequence[str]
    ) -> list[WhyAnswer]:
        """Return the answers of one crawl or drone. With `alive` a running one is asked, too."""
        live = None
        if self._alive:
            live = ask(source, [form.url for form in map(source.form, urls) if form.url])
        source.alive = live is not None
        is_hive = len(self._gatherings) > 1
        return [
            answer_of(source, facts, is_hive=is_hive) for facts in gathering.facts(urls, live or {})
        ]


def why(jobdir: Path, url: str) -> WhyAnswer:
    """Ask about one URL. Raise StoreError or OSError if the folder cannot be read as a crawl."""
    with OpenedCrawls(jobdir) as crawls:
        (answer,) = crawls.answers([url])
    return answer


def _is_unsettled(answer: WhyAnswer | None) -> bool:
    """Return whether another drone may know better."""
    return answer is None or answer.state in WEAK or not answer.is_end


def _goes_before(answer: WhyAnswer, other: WhyAnswer) -> bool:
    """Return whether this drone did more with the URL than the other, or owns or saw it."""
    return _rank(answer) > _rank(other)


def _rank(answer: WhyAnswer) -> tuple[int, bool, bool]:
    return answer.strength, bool(answer.details.get("owned")), answer.state == SEEN


def answer_of(source: OpenedCrawl, facts: UrlFacts, *, is_hive: bool = False) -> WhyAnswer:
    """Return the answer that these facts give."""
    verdict = verdict_on(facts)
    details: dict[str, Any] = {"canonical": facts.form.to_json(), **_details(source, facts)}
    if is_hive:
        drone = number_of(source.jobdir)
        details["drone"] = drone
        details["owned"] = bool(facts.url) and source.owner(facts.url) == drone
    elif verdict.state in WEAK and (other := source.other_owner(facts.url)) is not None:
        verdict = UrlVerdict(
            UNKNOWN,
            "of another drone",
            f"it belongs to drone {other} of this hive; ask with the folder of that drone",
        )
    details["now"] = what_now(facts, source.in_force)
    details["as_of"] = iso(source.at + source.ahead) if source.at else None
    details["looked"] = list(dict.fromkeys(facts.looked))
    details["odd"] = source.odd
    return WhyAnswer(
        shown(facts.asked), *verdict, details, is_end=verdict.state != FETCHED or is_end(facts)
    )


def _details(source: OpenedCrawl, facts: UrlFacts) -> dict[str, Any]:
    ahead = source.ahead
    refusal = first_refusal(facts.filters)
    return {
        "filters": [asdict(one) for one in facts.filters],
        "refused_by": asdict(refusal) if refusal is not None else None,
        "seen": {"known": facts.is_known, "where": _where(facts)},
        "found": facts.found_on(),
        "queue": facts.place.to_json(ahead) if facts.place is not None else None,
        "later": facts.later.to_json() if facts.later is not None else None,
        "robots": facts.robots.to_json(ahead) if facts.robots is not None else None,
        "budget": facts.domain.to_json() if facts.domain is not None else None,
        "host": _host(facts, ahead),
        "scores": asdict(facts.scores) if facts.scores is not None else None,
        "log": [line.text for line in facts.lines[-VISITS:]],
        "skipped": [
            dict(zip(("time", "reason", "via"), one, strict=True)) for one in facts.skipped
        ],
        "archive": [
            archived(source.jobdir, entry, source.stored.get(f"warc/{entry.file}"))
            for entry in facts.entries[-VISITS:]
        ],
        "counts": {"log": len(facts.lines), "archive": len(facts.entries)},
        "redirect": facts.redirect or None,
        "again": facts.turn.to_json(ahead) if facts.turn is not None else None,
        "live": facts.live,
    }


def _host(facts: UrlFacts, ahead: float) -> dict[str, Any] | None:
    """Return what is known of the host, by the keys of `ctl host` (crawl/inspection.py)."""
    host = facts.host
    pace = facts.pace
    if host is None or pace is None or not host.is_known:
        return None
    wall = host.wall
    return {
        "host": host.name,
        "place": host.place.name.lower(),
        "health": host.health_of_urls.value,
        "health_in_words": host.health_in_words,
        "paused": host.is_paused,
        "failures": host.failures,
        "last_failure": _last_failure(host, ahead),
        "wall": {"vendor": wall.vendor, "since": iso(wall.since + ahead), "answers": wall.answers}
        if wall
        else None,
        "next_turn": _time(host.ready_at if host.next_turn is None else host.next_turn, ahead),
        "delay": {
            "seconds": round(pace.seconds, 3),
            "because": pace.because,
            "crawl_delay": host.crawl_delay,
        },
        "connections": {"at_once": host.connections, "in_flight": host.requests},
        "pages": host.pages,
        "queued": host.queued,
        "ends_with": ends_with(host.retired) if host.retired else None,
        "address": host.address,
        "protocol": HTTP2_ONLY if host.is_http2 else None,
        "origins": [_origin(one, ahead) for one in host.origins],
        "rendering": facts.rendering or None,
    }


def _origin(origin: OriginFacts, ahead: float) -> dict[str, Any]:
    return {
        "origin": origin.origin,
        "health": origin.health.value,
        "health_in_words": origin.health_in_words,
        "failures": origin.failures,
        "last_failure": _last_failure(origin, ahead),
        "queued": origin.queued,
        "next_turn": _time(origin.next_turn, ahead),
    }


def _last_failure(facts: HostFacts | OriginFacts, ahead: float) -> dict[str, Any] | None:
    if not facts.failures or facts.failed is None:
        return None
    failed = facts.failed
    return {"status": failed.status, "away": round(failed.away), "at": iso(failed.at + ahead)}


def _time(seconds: float | None, ahead: float) -> str | None:
    """Return a time to come, or None; a host that was never asked has none."""
    return iso(seconds + ahead) if seconds else None


def _where(facts: UrlFacts) -> str:
    if facts.known:
        return facts.known
    if facts.waiting is not None:
        return "among the links that wait to be looked up"
    if facts.place is not None:
        return "a queue"
    if facts.lines:
        return "the log"
    return "since the last checkpoint" if facts.is_known else ""


PATIENCE = 5.0  # seconds: without the crawl's answer there is still the checkpoint's
ROOM = 1 << 15  # characters of URLs in one question, of 65,536
MOST = 500  # URLs in one question: some milliseconds of the crawl's time
Live = Mapping[str, Mapping[str, Any]]


def ask(source: OpenedCrawl, urls: Sequence[str]) -> Live | None:
    """Ask the crawl by canonical URLs; None if it does not run. A note says if it is silent."""
    client = Client(source.jobdir, PATIENCE)
    found: dict[str, dict[str, Any]] = {}
    try:
        for some in _questions(list(dict.fromkeys(urls))):
            answer = client.ask("about", *some)
            if isinstance(answer, Mapping):
                found |= {
                    url: dict(said) for url, said in answer.items() if isinstance(said, Mapping)
                }
        if any(said.get("in_flight") for said in found.values()):
            _add_downloads(found, client.ask("threads"))
    except NotRunning:
        return None
    except CommandError as error:
        source.odd.append(f"the running crawl did not answer: {error}")
    return found


def _add_downloads(found: Mapping[str, dict[str, Any]], threads: Mapping[str, Any]) -> None:
    """Add for how long downloads are in flight, and what is waited for."""
    for row in threads["downloads"]:
        if row["url"] in found:
            found[row["url"]] |= {"seconds": row["seconds"], "phase": row["phase"]}


def _questions(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    some: list[str] = []
    size = 0
    for url in urls:
        if len(url) > ROOM:
            continue
        if some and (size + len(url) > ROOM or len(some) >= MOST):
            yield some
            some, size = [], 0
        some.append(url)
        size += len(url)
    yield some or ["http://nobody.invalid/"]  # to know whether it runs
