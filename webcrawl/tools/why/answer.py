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
from webcrawl.tools.why.fact_finder import FactFinder, Live
from webcrawl.tools.why.facts import UrlFacts
from webcrawl.tools.why.file_search import archived_record
from webcrawl.tools.why.opened_crawl import OpenedCrawl
from webcrawl.tools.why.url_rules import first_refusal, shown_text
from webcrawl.tools.why.verdict import (
    DROPPED,
    FETCHED,
    IN_FLIGHT,
    NOT_FOUND,
    QUEUED,
    REFUSED,
    SEEN,
    UNKNOWN,
    UrlVerdict,
    is_final_answer,
    verdict_on,
    what_if_found_now,
)

BATCH_URLS = 10_000  # for which each file is searched once
MAX_VISITS = 100  # of a page that is fetched again: its latest lines of the log, and records
# How much a state counts beside the answers of other drones of a hive; other states count nothing.
STRENGTH = {FETCHED: 5, QUEUED: 4, DROPPED: 2, REFUSED: 1}
ATTEMPT_STRENGTH = 3  # of an answer after which another drone may have asked again
WEAK_STATES = (REFUSED, SEEN, UNKNOWN)  # another drone of a hive may know better


@dataclass(slots=True)
class WhyAnswer:
    """The answer to one question: what became of a URL, and why."""

    url: str  # as the user has written it
    state: str
    kind: str  # of reason, as many URLs may have it
    reason: str
    details: dict[str, Any] = field(default_factory=dict)
    # False: its host may have gone to another drone of its hive, which tries the URL again
    is_final: bool = True

    @property
    def strength(self) -> int:
        """Return how much the answer counts beside those of other drones."""
        if not self.is_final:
            return ATTEMPT_STRENGTH
        if self.kind == NOT_FOUND:  # another drone may have a page that links to it
            return -1
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
    """The crawl of a JOBDIR, or all drones of a hive, opened for questions about URLs."""

    def __init__(
        self,
        jobdir: Path,
        *,
        deep: bool = False,
        ask_running: bool = True,
        trusted: Container[str] = (),
    ) -> None:
        """Open the crawls. Raise StoreError or OSError if one cannot be read.

        `deep`: search everything, however long that takes. `ask_running`: ask the crawl too, if it
        runs. `trusted`: code beyond webcrawl's own that its settings may name.
        """
        self._ask_running = ask_running
        self._closing = ExitStack()
        self._finders: dict[OpenedCrawl, FactFinder] = {}
        absent = [f"{crawl}: this drone's folder is missing" for crawl in absent_drones(jobdir)]
        try:
            for crawl in JobDir.all(jobdir):
                source = self._closing.enter_context(OpenedCrawl(crawl.path, trusted))
                self._finders[source] = FactFinder(source, deep=deep)
                source.notes += absent
                source.is_complete = source.is_complete and not absent
            if len(self._finders) == 1:  # other drones of its hive have logs of their own
                source.is_complete = source.is_complete and source.slot_map is None
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
        """Yield the answer to each URL, in their order."""
        for first in range(0, len(urls), BATCH_URLS):
            yield from self._best_answers(urls[first : first + BATCH_URLS])

    def _best_answers(self, urls: Sequence[str]) -> Sequence[WhyAnswer]:
        """Return the best answer to each URL. Drones are asked what no earlier one settled.

        An answer is found by its place among the URLs, as a URL may be given twice.
        """
        best: dict[int, WhyAnswer] = {}
        for source, finder in self._finders.items():
            unsettled = [place for place in range(len(urls)) if _is_unsettled(best.get(place))]
            answers = self._answers_of(source, finder, [urls[place] for place in unsettled])
            for place, answer in zip(unsettled, answers, strict=True):
                earlier = best.get(place)
                if earlier is None or _rank(answer) > _rank(earlier):
                    best[place] = answer
            source.snapshot.check_still()
        return [best[place] for place in range(len(urls))]

    def _answers_of(
        self, source: OpenedCrawl, finder: FactFinder, urls: Sequence[str]
    ) -> list[WhyAnswer]:
        """Return the answers of one crawl or drone, which is asked too if it runs."""
        live = None
        if self._ask_running:
            canonical = [form.url for form in map(source.form, urls) if form.url]
            live = ask_running_crawl(source, canonical)
        source.is_running = live is not None
        is_hive = len(self._finders) > 1
        return [
            answer_of(source, facts, is_hive=is_hive) for facts in finder.facts(urls, live or {})
        ]


def why(jobdir: Path, url: str) -> WhyAnswer:
    """Return what became of one URL, and why.

    Raise StoreError or OSError if the folder cannot be read as a crawl.
    """
    with OpenedCrawls(jobdir) as crawls:
        (answer,) = crawls.answers([url])
    return answer


def _is_unsettled(answer: WhyAnswer | None) -> bool:
    """Return whether another drone may know better."""
    return answer is None or answer.state in WEAK_STATES or not answer.is_final


def _rank(answer: WhyAnswer) -> tuple[int, bool, bool]:
    """Return what the best answer is greatest in.

    The drone that did most with the URL counts first, then the one that owns it, then one that has
    seen it.
    """
    return answer.strength, bool(answer.details.get("owned")), answer.state == SEEN


def answer_of(source: OpenedCrawl, facts: UrlFacts, *, is_hive: bool = False) -> WhyAnswer:
    """Return the answer that these facts give. `is_hive`: other drones of the hive are asked too."""
    verdict = verdict_on(facts)
    details: dict[str, Any] = {"canonical": facts.form.to_json(), **_details(source, facts)}
    if is_hive:
        drone = number_of(source.jobdir)
        details["drone"] = drone
        details["owned"] = bool(facts.url) and source.owner(facts.url) == drone
    elif verdict.state in WEAK_STATES:
        owner = source.other_owner(facts.url)
        if owner is not None:
            verdict = UrlVerdict(
                UNKNOWN,
                "of another drone",
                f"it belongs to drone {owner} of this hive; ask with the folder of that drone",
            )
    details["now"] = what_if_found_now(facts, source.in_force)
    checkpoint_time = None
    if source.checkpoint_time:
        checkpoint_time = iso(source.checkpoint_time + source.clock_ahead)
    details["as_of"] = checkpoint_time
    details["looked"] = list(dict.fromkeys(facts.unsearched))
    details["odd"] = source.notes
    is_final = verdict.state != FETCHED or is_final_answer(facts)
    return WhyAnswer(shown_text(facts.text), *verdict, details, is_final=is_final)


def _details(source: OpenedCrawl, facts: UrlFacts) -> dict[str, Any]:
    """Return the facts for JSON."""
    ahead = source.clock_ahead
    refusal = first_refusal(facts.filters)
    return {
        "filters": [asdict(verdict) for verdict in facts.filters],
        "refused_by": asdict(refusal) if refusal is not None else None,
        "seen": {"known": facts.is_known, "where": _where_seen(facts)},
        "found": facts.found_on(),
        "queue": facts.place.to_json(ahead) if facts.place is not None else None,
        "later": facts.left_for_later.to_json() if facts.left_for_later is not None else None,
        "robots": facts.robots.to_json(ahead) if facts.robots is not None else None,
        "budget": facts.domain.to_json() if facts.domain is not None else None,
        "host": _host(facts, ahead),
        "scores": asdict(facts.scores) if facts.scores is not None else None,
        "log": [line.text for line in facts.log_lines[-MAX_VISITS:]],
        "skipped": [
            dict(zip(("time", "reason", "via"), skip, strict=True)) for skip in facts.skipped
        ],
        "archive": [
            archived_record(source.jobdir, entry, source.stored_files.get(f"warc/{entry.file}"))
            for entry in facts.index_entries[-MAX_VISITS:]
        ],
        "counts": {"log": len(facts.log_lines), "archive": len(facts.index_entries)},
        "redirect": facts.redirect_target or None,
        "again": facts.revisit.to_json(ahead) if facts.revisit is not None else None,
        "live": facts.live,
    }


def _host(facts: UrlFacts, ahead: float) -> dict[str, Any] | None:
    """Return what is known of the host, by the keys of `ctl host` (crawl/inspection.py).

    Return None for a host of which nothing is known. `ahead`: seconds of the machine's clock beyond
    the crawl's.
    """
    host = facts.host
    pace = facts.pace
    if host is None or pace is None or not host.is_known:
        return None
    block_pages = None
    if host.block_pages:
        since = iso(host.block_pages.since + ahead)
        block_pages = {
            "vendor": host.block_pages.vendor,
            "since": since,
            "answers": host.block_pages.answers,
        }
    next_turn = host.ready_at if host.next_turn is None else host.next_turn
    return {
        "host": host.name,
        "place": host.place.name.lower(),
        "health": host.health_of_urls.value,
        "health_in_words": host.health_in_words,
        "paused": host.is_paused,
        "failures": host.failures,
        "last_failure": _last_failure(host, ahead),
        "block_pages": block_pages,
        "next_turn": _time(next_turn, ahead),
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
        "origins": [_origin(origin, ahead) for origin in host.origins],
        "rendering": facts.rendering or None,
    }


def _origin(origin: OriginFacts, ahead: float) -> dict[str, Any]:
    """Return what is known of one origin of a host, by the keys of `ctl host`."""
    return {
        "origin": origin.origin,
        "health": origin.health.value,
        "health_in_words": origin.health_in_words,
        "failures": origin.failures,
        "last_failure": _last_failure(origin, ahead),
        "queued": origin.queued,
        "next_turn": _time(origin.next_turn, ahead),
    }


def _last_failure(place: HostFacts | OriginFacts, ahead: float) -> dict[str, Any] | None:
    failed = place.failed
    if not place.failures or failed is None:
        return None
    return {"status": failed.status, "away": round(failed.away), "at": iso(failed.at + ahead)}


def _time(seconds: float | None, ahead: float) -> str | None:
    """Return a time to come, or None for a host without one: it was never requested."""
    return iso(seconds + ahead) if seconds else None


def _where_seen(facts: UrlFacts) -> str:
    """Return, in words, where it shows that the crawl knows the URL; empty if it does not."""
    if facts.known_in:
        return facts.known_in
    if facts.submitted is not None:
        return "among the links that wait to be looked up"
    if facts.place is not None:
        return "a queue"
    if facts.log_lines:
        return "the log"
    return "since the last checkpoint" if facts.is_known else ""


ANSWER_SECONDS = 5.0  # without the crawl's answer there is still the checkpoint's
# A command has at most 65,536 characters.
QUESTION_CHARS = 1 << 15  # of URLs in one question
QUESTION_URLS = 500  # some milliseconds of the crawl's time
NO_URL = "http://nobody.invalid/"  # asks whether the crawl runs


def ask_running_crawl(source: OpenedCrawl, urls: Sequence[str]) -> Live | None:
    """Return what the crawl says of these canonical URLs; None if it does not run.

    If it does not answer, that is noted, and nothing is said of some URLs.
    """
    client = Client(source.jobdir, ANSWER_SECONDS)
    answers: dict[str, dict[str, Any]] = {}
    try:
        for question in _questions(list(dict.fromkeys(urls))):
            answer = client.ask("about", *question)
            if isinstance(answer, Mapping):
                for url, about in answer.items():
                    if isinstance(about, Mapping):
                        answers[url] = dict(about)
        if any(about.get("in_flight") for about in answers.values()):
            _add_downloads(answers, client.ask("threads"))
    except NotRunning:
        return None
    except CommandError as error:
        source.notes.append(f"the running crawl did not answer: {error}")
    return answers


def _add_downloads(answers: Mapping[str, dict[str, Any]], threads: Mapping[str, Any]) -> None:
    """Add for how long downloads have been in flight, and what they wait for."""
    for row in threads["downloads"]:
        if row["url"] in answers:
            answers[row["url"]] |= {"seconds": row["seconds"], "phase": row["phase"]}


def _questions(urls: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the URLs in questions that the crawl takes; one without any of them if there is none.

    A URL that is longer than a question is not asked about.
    """
    question: list[str] = []
    chars = 0
    for url in urls:
        if len(url) > QUESTION_CHARS:
            continue
        is_full = chars + len(url) > QUESTION_CHARS or len(question) >= QUESTION_URLS
        if question and is_full:
            yield question
            question = []
            chars = 0
        question.append(url)
        chars += len(url)
    yield question or [NO_URL]
