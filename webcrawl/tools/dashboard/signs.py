"""Words for what an operator wants to know first: what a crawl is waiting for, and what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from webcrawl.base import numbers
from webcrawl.store.jobdir.history_line import Moment
from webcrawl.tools.dashboard.crawl_states import Sample

RECENT = 30.0  # seconds of which the present rate is
STILL = 60.0  # seconds without a page, with URLs queued, that are worth a word
UNREACHED = 0.5  # share of failures among what ended lately that is worth a word
FEW = 20  # ends that say nothing yet
LITTLE_DISK = 2 << 30  # bytes
ENDS = {
    "stopped": "Stopped by command; run the same command to resume.",
    "shutdown": "Stopped by a signal; run the same command to resume.",
}


def lately(moments: Sequence[Moment], seconds: float = RECENT) -> tuple[Moment, Moment] | None:
    """The last moment and one about so many seconds before it; None if there are no two."""
    if len(moments) < 2:
        return None
    last = moments[-1]
    before = next((one for one in reversed(moments[:-1]) if last.at - one.at >= seconds), moments[0])
    return (before, last) if 0 < last.at - before.at < 4 * seconds else None


def rate_of(moments: Sequence[Moment]) -> float:
    """Pages per second, lately."""
    pair = lately(moments)
    return max(pair[1].pages - pair[0].pages, 0) / (pair[1].at - pair[0].at) if pair else 0.0


def pages_per_second(moments: Sequence[Moment]) -> str:
    """The present rate in words."""
    return per_second(rate_of(moments))


def per_second(rate: float) -> str:
    """With as many digits as say something."""
    return f"{numbers.number(float(f'{rate:.3g}'))}/s"


def bytes_per_second(moments: Sequence[Moment]) -> str:
    """The same of what is received."""
    pair = lately(moments)
    if pair is None:
        return f"{numbers.size(0)}/s"
    before, after = pair
    return f"{numbers.size(max(after.bytes - before.bytes, 0) / (after.at - before.at))}/s"


def waits_for(sample: Sample, moments: Sequence[Moment]) -> str:
    """A sentence on what it does."""
    if sample.state in ("silent", "new", "killed", "gone"):
        return _sentence(sample.note)
    if sample.state == "stopped":
        return _end(sample.note, int(sample.number("queued")), folded=sample.number("over_budget/folded") > 0)
    if sample.state == "stopping":
        return f"Finishing {numbers.count(int(sample.number('in_flight')), 'download')} under way."
    if sample.state == "paused":
        return "Fetches nothing until somebody resumes it."
    trouble = sample.figures.get("trouble")
    return _sentence(str(trouble)) if trouble else _turns(sample, rate_of(moments))


def _end(reason: str, queued: int, *, folded: bool) -> str:
    """The reason why the last run ended."""
    if reason == "finished":
        alike = " or folded" if folded else ""
        left = f"{numbers.count(queued, 'URL')} of hosts set aside or over their domains' budgets{alike}"
        return f"Finished, but for {left}." if queued else "Finished: nothing is left to fetch."
    if reason.startswith("closespider_"):
        return f"Ended by {reason.upper()}; run the same command to resume."
    return ENDS.get(reason, f"Ended: {reason}.")


def _turns(sample: Sample, rate: float) -> str:
    """Whose turn it is, of a crawl that may fetch."""
    queued, aside = int(sample.number("queued")), int(sample.number("aside"))
    asked, ready = sample.asked, int(sample.number("ready"))
    waiting = max(int(sample.number("hosts")) - asked - ready, 0)
    if not queued and not asked:
        return "Nothing is queued: it looks for more, or is about to end."
    if not asked and queued == aside:
        later = "are tried again now and then" if sample.number("aside_due") else "wait until somebody resumes them"
        return f"All {numbers.number(queued)} queued URLs are of hosts set aside, which {later}."
    said = [f"asks {numbers.count(asked, 'host')}"] if asked else []
    said += [f"{numbers.count(ready, 'host')} could be asked"] if ready else []
    said += [f"{numbers.count(waiting, 'host')} {'waits' if waiting == 1 else 'wait'} their turn"] if waiting else []
    speed = f"{numbers.number(float(f'{rate:.2g}'))} pages per second" if rate else ""
    return _sentence("; ".join(filter(None, (speed, ", ".join(said)))))


def signs(sample: Sample, moments: Sequence[Moment], jobdir: Path) -> Iterator[str]:
    """Sentences on what is wrong, or may be."""
    if sample.note and sample.runs and sample.state != "silent":
        yield _sentence(sample.note)
    if errors := int(sample.number("errors")):
        yield f"{numbers.count(errors, 'unexpected error')}: logs/errors.log says which."
    if (free := _free(jobdir)) is not None and free < LITTLE_DISK:
        yield f"The disk has {numbers.size(free)} left."
    if sample.state != "running":
        return
    pair = lately(moments, STILL)
    if pair is not None and pair[1].pages == pair[0].pages and pair[1].queued:
        seconds = numbers.seconds(pair[1].at - pair[0].at)
        yield f"No page in {seconds}, though {numbers.number(pair[1].queued)} URLs are queued."
    if pair is not None:
        ended = [now - then for then, now in zip(pair[0].mix, pair[1].mix, strict=True)]
        if sum(ended) >= FEW and ended[4] > UNREACHED * sum(ended):
            share = numbers.percent(ended[4], sum(ended))
            yield f"{share} of what ended lately got no answer: the hosts are away, or our own network is."


def _free(jobdir: Path) -> int | None:
    try:
        return shutil.disk_usage(jobdir).free
    except OSError:
        return None


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""
