"""The states of a host and the events that move it, read from webcrawl/frontier/host_state.py."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import NamedTuple

from docs.pictures.draw import Picture
from webcrawl.frontier import host_state
from webcrawl.store.jobdir.host_row import HostState

WIDE, HIGH = 150, 66
UPPER, LOWER = 40, 290
# left and upper edges, and what the state means, in fewer words than the docstring has
BOXES = {
    HostState.IDLE: (24, UPPER, "has no URLs"),
    HostState.ACTIVE: (324, UPPER, "has a place"),
    HostState.DEFERRED: (24, LOWER, "far turn, paused"),
    HostState.PARKED: (324, LOWER, "waits for a place"),
    HostState.MOVING: (586, UPPER, "between crawls"),
}


class Arrow(NamedTuple):
    """The place of an arrow, and of its label: the first line, and the characters that fit."""

    points: tuple[tuple[float, float], ...]
    label: tuple[float, float]
    anchor: str = "middle"
    fitting: int = 17


ARROWS = {
    ("IDLE", "ACTIVE"): Arrow(((174, 60), (324, 60)), (249, 52)),
    ("ACTIVE", "IDLE"): Arrow(((324, 86), (174, 86)), (249, 104), fitting=15),
    ("IDLE", "DEFERRED"): Arrow(((70, 106), (70, 290)), (80, 152), "start", 12),
    ("ACTIVE", "DEFERRED"): Arrow(
        ((348, 106), (348, 220), (110, 220), (110, 290)), (229, 212), fitting=32
    ),
    ("ACTIVE", "PARKED"): Arrow(((446, 106), (446, 290)), (456, 170), "start", 12),
    ("PARKED", "ACTIVE"): Arrow(((400, 290), (400, 106)), (392, 262), "end"),
    ("PARKED", "DEFERRED"): Arrow(((324, 310), (174, 310)), (249, 302)),
    ("DEFERRED", "PARKED"): Arrow(((174, 336), (324, 336)), (249, 354)),
    ("ACTIVE", "MOVING"): Arrow(((474, 76), (586, 76)), (530, 51), fitting=9),
}
HIVE = (550, 136)  # where the events between the crawls of a hive are listed
HIVE_FITTING = 26  # characters that fit into a line of this list
EVENT = re.compile(r"^ {4}([A-Z][A-Za-z, ]*) -- (.+) --> ([A-Z][A-Za-z, ]*)$", re.MULTILINE)
METHOD = re.compile(r"(?:^|, |; )([a-z_]+)")


def drawn() -> str:
    """Return the picture.

    Raise ValueError if it has no place for an event, and AttributeError if an event has no method.
    """
    picture = Picture("The states of a host, and the events that move it", 390)
    for state in HostState:
        x, y, meaning = BOXES[state]
        look = "kept" if state is HostState.ACTIVE else ""
        picture.box(x, y, WIDE, HIGH, state.name, meaning, look=look)
    x, y = HIVE
    picture.text(x, y, "In a hive only:", "quiet")
    for source, event, target in EVENT.findall(host_state.__doc__ or ""):
        for method in METHOD.findall(event):
            getattr(host_state.HostStates, method)
        if arrow := ARROWS.get((source, target)):
            _draw(picture, arrow, event)
        elif HostState.MOVING.name in (source, target):
            y += 26
            picture.text(x, y, event)
            leads_in = target == HostState.MOVING.name
            states = f"from {source}" if leads_in else f"to {target}"
            for line in wrap(states, HIVE_FITTING):
                y += 18
                picture.text(x, y, line, "quiet")
        else:
            raise ValueError(f"{source} to {target} by {event!r} has no place in the picture")
    return picture.svg()


def _draw(picture: Picture, arrow: Arrow, label: str) -> None:
    picture.arrow(*arrow.points)
    x, y = arrow.label
    for at, line in enumerate(wrap(label, arrow.fitting)):
        picture.text(x, y + 18 * at, line, anchor=arrow.anchor)
