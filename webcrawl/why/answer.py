"""Answers why a URL was fetched, or was not: from what a crawl left on disk, and from the crawl if it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from webcrawl.store.jobdirs import crawls_of, number_of
from webcrawl.text.dates import iso
from webcrawl.why import host
from webcrawl.why.archive import archived
from webcrawl.why.facts import Facts
from webcrawl.why.filtering import first_refusal
from webcrawl.why.form import shown
from webcrawl.why.gather import Gathering
from webcrawl.why.live import ask
from webcrawl.why.source import NoCrawl, Source
from webcrawl.why.verdict import (
    DROPPED,
    FETCHED,
    QUEUED,
    REFUSED,
    SEEN,
    UNKNOWN,
    due_in,
    told_due,
    verdict_on,
    what_now,
)

BATCH = 10_000  # URLs asked for at once
VISITS = 100  # of a page that is fetched again: lines of the log, and records, the latest ones
STRENGTH = {FETCHED: 4, QUEUED: 3, DROPPED: 2, REFUSED: 1}
WEAK = (REFUSED, SEEN, UNKNOWN)  # what another drone of a hive may know better


@dataclass(slots=True)
class Answer:
    """What became of one URL."""

    url: str  # as it was asked for
    state: str
    kind: str  # of reason, as many URLs may have it
    reason: str
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"url": self.url, "state": self.state, "reason": self.reason, "kind": self.kind, **self.details}


class Crawls:
    """The crawl of a JOBDIR, or all drones of a hive, opened to be asked."""

    def __init__(self, jobdir: Path, *, deep: bool = False, alive: bool = True, trusted: Collection[str] = ()) -> None:
        """`alive`: ask the crawl, if it runs."""
        self._alive = alive
        self._closing = ExitStack()
        self._gatherings: dict[Source, Gathering] = {}
        folders = crawls_of(jobdir)
        try:
            for folder in folders:
                try:
                    source = self._closing.enter_context(Source(folder, trusted))
                except NoCrawl:
                    if len(folders) == 1:
                        raise
                else:
                    self._gatherings[source] = Gathering(source, deep=deep)
        except BaseException:
            self.close()
            raise
        if not self._gatherings:
            raise NoCrawl(f"{jobdir}: none of the drones' folders is here")

    def __repr__(self) -> str:
        return f"<Crawls {[*self._gatherings]}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    @property
    def sources(self) -> list[Source]:
        """The crawl, or the drones whose folders are here."""
        return [*self._gatherings]

    def answers(self, urls: Sequence[str]) -> Iterator[Answer]:
        """An answer for each, in their order."""
        for at in range(0, len(urls), BATCH):
            yield from self._some(urls[at : at + BATCH])

    def _some(self, urls: Sequence[str]) -> Sequence[Answer]:
        best: dict[int, Answer] = {}
        for source, gathering in self._gatherings.items():
            places = [place for place in range(len(urls)) if place not in best or best[place].state in WEAK]
            some = [urls[place] for place in places]
            live = ask(source, [form.url for form in map(source.form, some) if form.url]) if self._alive else None
            source.alive = live is not None
            found = gathering.facts(some, live or {})
            for place, facts in zip(places, found, strict=True):
                answer = answer_of(source, facts, is_hive=len(self._gatherings) > 1)
                if place not in best or _goes_before(answer, best[place]):
                    best[place] = answer
            source.snapshot.check_still()
        return [best[place] for place in range(len(urls))]


def why(jobdir: Path, url: str, *, deep: bool = False, alive: bool = True, trusted: Collection[str] = ()) -> Answer:
    """What is known of one URL. StoreError or OSError if the folder cannot be read as a crawl."""
    with Crawls(jobdir, deep=deep, alive=alive, trusted=trusted) as crawls:
        (answer,) = crawls.answers([url])
    return answer


def _goes_before(answer: Answer, other: Answer) -> bool:
    """Of the answers of two drones: who has done something with it, then whose it is."""
    strength = STRENGTH.get(answer.state, 0), bool(answer.details.get("owned")), answer.state == SEEN
    return strength > (STRENGTH.get(other.state, 0), bool(other.details.get("owned")), other.state == SEEN)


def answer_of(source: Source, facts: Facts, *, is_hive: bool = False) -> Answer:
    """The answer that these facts give."""
    verdict = verdict_on(facts)
    details: dict[str, Any] = {"canonical": facts.form.to_json(), **_details(source, facts)}
    if is_hive:
        drone = number_of(source.jobdir)
        details["drone"] = drone
        details["owned"] = bool(facts.url) and source.owner(facts.url) == drone
    details["now"] = what_now(facts, source.in_force)
    details["as_of"] = iso(source.at + source.ahead) if source.at else None
    details["looked"], details["odd"] = list(dict.fromkeys(facts.looked)), source.odd
    return Answer(shown(facts.asked), *verdict, details)


def _details(source: Source, facts: Facts) -> dict[str, Any]:
    ahead, refusal = source.ahead, first_refusal(facts.filters)
    queue = None
    if facts.place is not None:
        due = due_in(facts, source.now())
        queue = facts.place.to_json() | {"due_in": None if due is None else round(due, 1)}
        queue["due"] = told_due(facts, source.now())
    record = None
    if facts.host is not None and facts.delay is not None:
        record = host.to_json(facts.host, facts.delay, ahead, paused=facts.paused)
    return {
        "filters": [one.to_json() for one in facts.filters],
        "refused_by": refusal.to_json() if refusal is not None else None,
        "seen": {"known": facts.is_known, "where": _where(facts)},
        "found": facts.found_on(),
        "queue": queue,
        "later": facts.later.to_json() if facts.later is not None else None,
        "robots": facts.robots.to_json(ahead) if facts.robots is not None else None,
        "domain": facts.budget.to_json() if facts.budget is not None else None,
        "host": record,
        "log": [line.text for line in facts.lines[-VISITS:]],
        "skipped": [dict(zip(("time", "reason", "via"), one, strict=True)) for one in facts.skipped],
        "archive": [
            archived(source.jobdir, entry, source.stored.get(f"warc/{entry.file}")) for entry in facts.entries[-VISITS:]
        ],
        "counts": {"log": len(facts.lines), "archive": len(facts.entries)},
        "redirect": facts.redirect or None,
        "again": facts.turn.to_json(ahead) if facts.turn is not None else None,
        "live": facts.live,
    }


def _where(facts: Facts) -> str:
    if facts.known:
        return facts.known
    if facts.waiting is not None:
        return "among those that wait to be looked up"
    if facts.place is not None:
        return "a queue"
    if facts.lines:
        return "the log"
    return "since the last checkpoint" if facts.is_known else ""
