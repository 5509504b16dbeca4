"""Hosts that never answer properly, not even for robots.txt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from webcrawl.simweb.answers import Answer, Ending

if TYPE_CHECKING:
    from webcrawl.simweb.world import World


def _hang(world: World) -> Answer:  # noqa: ARG001 -- the same answer in every world
    return Answer(script=(), ending=Ending.HANG, broken=True)


def _reset(world: World) -> Answer:  # noqa: ARG001 -- the same answer in every world
    return Answer(script=(), ending=Ending.RESET, broken=True)


def _overloaded(world: World) -> Answer:
    return Answer(503, b"<title>Overloaded</title>", retry_after=world.slow)


DOWN: dict[str, Callable[[World], Answer]] = {
    "host_hang": _hang,
    "host_reset": _reset,
    "host_503": _overloaded,
}
