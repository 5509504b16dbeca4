"""How a crawl is at this moment: what it says itself or, if it does not run, what it left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from webcrawl.control.errors import CommandError, NotRunning
from webcrawl.dashboard.finding import Known
from webcrawl.dashboard.locked import is_locked
from webcrawl.dashboard.past import Moment
from webcrawl.hive.merging import merged
from webcrawl.statistics.history import KINDS, PLAIN
from webcrawl.store.regular import regular

Ask = Callable[..., Any]  # of a JOBDIR, a command, its words, `written` for `-`: an answer; CommandError, NotRunning
LARGEST = 1 << 24  # bytes of stats.json
NESTED = ("mix", "milliseconds", "levels", "in_force", "statistics", "state", "trouble", "bound")


@dataclass(frozen=True)
class Sample:
    """`state`: running, paused, stopping; stopped, killed, new, gone; silent: it runs and does not answer."""

    at: float
    state: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # why it is so, in a few words
    drones: Mapping[str, Sample] = field(default_factory=dict)  # by id

    @property
    def runs(self) -> bool:
        return self.state in ("running", "paused", "stopping", "silent")

    @property
    def answers(self) -> bool:
        return self.runs and self.state != "silent"

    def number(self, name: str) -> float:
        """A figure, if it is a number."""
        value = self.figures.get(name, 0)
        return value if isinstance(value, (int, float)) and value == value else 0  # noqa: PLR0124 - not a number


def look(known: Known, ask: Ask) -> Sample:
    """Asks a crawl, or each drone of a hive; it takes as long as the slowest of them."""
    if not known.drones:
        sample = _look(known.jobdir, ask)
        if sample.state == "new" and not known.jobdir.is_dir():  # of a hive it may be on another machine
            return replace(sample, state="gone", note="its folder is no longer there")
        return sample
    drones = {drone.id: _look(drone.jobdir, ask) for drone in known.drones}
    return together(drones)


def _look(jobdir: Path, ask: Ask) -> Sample:
    try:
        figures = ask(jobdir, "status")
        if not isinstance(figures, Mapping):
            raise CommandError("an answer of another form")  # noqa: TRY301 - as one that cannot be read
    except NotRunning:
        return _left(jobdir, time.time())
    except CommandError as error:
        return Sample(time.time(), "silent", saved(jobdir), str(error))
    state = figures.get("state")
    return Sample(time.time(), state if state in ("paused", "stopping") else "running", figures)


def _left(jobdir: Path, now: float) -> Sample:
    """Of a crawl that nobody answers for."""
    figures = saved(jobdir)
    if is_locked(jobdir):
        return Sample(
            now, "silent", figures, "it runs, and does not listen to commands: these are its last saved figures"
        )
    if not figures:
        return Sample(now, "new", figures, "it has saved no figures yet")
    reason = figures.get("reason")
    if reason is None:
        return Sample(
            now, "killed", figures, "its last run was killed: run the same command to resume from its last checkpoint"
        )
    return Sample(now, "stopped", figures, f"{reason}")


def saved(jobdir: Path) -> Mapping[str, Any]:
    """What stats.json has; nothing if it cannot be read."""
    try:
        with regular(jobdir / "stats.json") as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def together(drones: Mapping[str, Sample]) -> Sample:
    """A hive: the sums of its drones, and the state that most concerns an operator."""
    samples = [*drones.values()]
    plain = [{name: value for name, value in one.figures.items() if name not in NESTED} for one in samples]
    figures: dict[str, Any] = dict(merged(plain))
    figures["mix"] = {kind: sum(_part(one, "mix", {}).get(kind, 0) for one in samples) for kind in KINDS}
    for name in ("milliseconds", "levels"):
        figures[name] = added([_part(one, name, []) for one in samples])
    figures["in_force"] = [*dict.fromkeys(line for one in samples for line in _part(one, "in_force", []))]
    troubles = [one.figures["trouble"] for one in samples if one.figures.get("trouble")]
    figures["trouble"] = f"{troubles[0]} ({len(troubles)} of {len(samples)} drones)" if troubles else ""
    states = [one.state for one in samples]
    state = next(
        (one for one in ("silent", "running", "stopping", "paused", "killed", "new") if one in states), "stopped"
    )
    away = [one for one in samples if one.runs]
    note = f"{len(away)} of {len(samples)} drones run here" if 0 < len(away) < len(samples) else ""
    if not away:
        note = next((one.note for one in samples if one.state == state), "")
    return Sample(max((one.at for one in samples), default=time.time()), state, figures, note, drones)


def _part(sample: Sample, name: str, nothing: Any) -> Any:
    value = sample.figures.get(name, nothing)
    return value if isinstance(value, type(nothing)) else nothing


def added(lists: Sequence[Sequence[int]]) -> list[int]:
    """Lists of any lengths, number by number."""
    longest = max(map(len, lists), default=0)
    return [sum(one[at] for one in lists if at < len(one)) for at in range(longest)]


def saved_at(sample: Sample) -> float | None:
    """When stats.json was written, of a sample that comes from there."""
    try:
        return datetime.fromisoformat(str(sample.figures["at"])).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None


def since_saved(sample: Sample, moment: Moment) -> Sample:
    """With the figures of the history, which is written more often than stats.json, if they are newer."""
    if moment.at <= (saved_at(sample) or 0.0):
        return sample
    newer = {theirs: getattr(moment, ours) for ours, theirs in PLAIN.items()}
    return replace(sample, figures={**sample.figures, **newer})
