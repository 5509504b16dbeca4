"""Words for what an operator wants to know first: what a crawl is waiting for, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from webcrawl.base import numbers
from webcrawl.base.readable import as_sentence
from webcrawl.crawl.progress import stopped_by, waits_for
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawls import Sample
from webcrawl.tools.report.report_source import free_bytes

RECENT = 30.0  # seconds of which the present rate is
STILL = 60.0  # seconds without a page, with URLs queued, that are worth a word
UNREACHED = 0.5  # share of failures among what ended lately that is worth a word
FEW = 20  # ends that say nothing yet
LITTLE_DISK = 2 << 30  # bytes


def lately(moments: Sequence[Moment], seconds: float = RECENT) -> tuple[Moment, Moment] | None:
    """The last moment and one about so many seconds before it; None if there are no two."""
    if len(moments) < 2:
        return None
    last = moments[-1]
    before = next((one for one in reversed(moments[:-1]) if last.at - one.at >= seconds), moments[0])
    return (before, last) if 0 < last.at - before.at < 4 * seconds else None


def rate_of(moments: Sequence[Moment]) -> float:
    """Pages per second, lately."""
    return _growth(moments, "pages") or 0.0


def _growth(moments: Sequence[Moment], name: str) -> float | None:
    """Return by how much a figure grows per second, lately; None if it is not known yet."""
    pair = lately(moments)
    if pair is None:
        return None
    before, last = pair
    return max(last.figures[name] - before.figures[name], 0) / (last.at - before.at)


def pages_per_second(moments: Sequence[Moment]) -> str:
    """The present rate in words."""
    return per_second(rate_of(moments))


def per_second(rate: float) -> str:
    """With as many digits as say something."""
    return f"{numbers.number(float(f'{rate:.3g}'))}/s"


def bytes_per_second(moments: Sequence[Moment]) -> str | None:
    """The same of what is received; None if it is not known yet."""
    rate = _growth(moments, "bytes")
    return None if rate is None else f"{numbers.size(rate)}/s"


def does(sample: Sample, moments: Sequence[Moment]) -> str:
    """Return a sentence on what a crawl does, or waits for."""
    match sample.state:
        case "silent" | "new" | "killed" | "gone":
            said = sample.note
        case "stopped":
            said = _end(sample)
        case "stopping":
            said = f"finishing {numbers.count(int(sample.number('in_flight')), 'download')} under way"
        case "paused":
            said = "fetches nothing until somebody resumes it"
        case _:
            said = str(sample.figures.get("trouble") or "") or _turns(sample, rate_of(moments))
    return as_sentence(said)


def _end(sample: Sample) -> str:
    """Return how the last run ended."""
    reason, queued = sample.note, int(sample.number("queued"))
    if reason != "finished":
        return stopped_by(reason) or f"ended: {reason}"
    alike = " or folded" if sample.number("over_budget/folded") else ""
    left = f"{numbers.count(queued, 'URL')} of hosts set aside or over their domains' budgets{alike}"
    return f"finished, but for {left}" if queued else "finished: nothing is left to fetch"


def _turns(sample: Sample, rate: float) -> str:
    """Return whose turn it is, of a crawl that may fetch."""
    queued, turns = int(sample.number("queued")), sample.turns
    if not queued and not turns.asked:
        return "nothing is queued: it looks for more, or is about to end"
    if not turns.asked and queued == int(sample.number("aside")):
        later = "are tried again now and then" if sample.number("aside_due") else "wait until somebody resumes them"
        return f"all {numbers.number(queued)} queued URLs are of hosts set aside, which {later}"
    speed = f"{numbers.number(float(f'{rate:.2g}'))} pages per second" if rate else ""
    return "; ".join(filter(None, (speed, waits_for(sample.figures) or str(turns))))


def signs(sample: Sample, moments: Sequence[Moment], jobdir: Path) -> Iterator[str]:
    """Sentences on what is wrong, or may be."""
    if sample.note and sample.runs and sample.state != "silent":
        yield as_sentence(sample.note)
    if errors := int(sample.number("errors")):
        yield f"{numbers.count(errors, 'unexpected error')}: logs/errors.log says which."
    if (free := free_bytes(jobdir)) is not None and free < LITTLE_DISK:
        yield f"The disk has {numbers.size(free)} left."
    pair = lately(moments, STILL) if sample.state == "running" else None
    if pair is None:
        return
    before, last = pair
    queued = last.figures["queued"]
    if last.figures["pages"] == before.figures["pages"] and queued:
        seconds = numbers.seconds(last.at - before.at)
        yield f"No page in {seconds}, though {numbers.number(queued)} URLs are queued."
    ended = sum(last.mix.values()) - sum(before.mix.values())
    unreached = last.mix["unreachable"] - before.mix["unreachable"]
    if ended >= FEW and unreached > UNREACHED * ended:
        share = numbers.percent(unreached, ended)
        yield f"{share} of what ended lately got no answer: the hosts are away, or our own network is."
