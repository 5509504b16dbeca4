"""All targets by name."""

from tests.fuzzing import (
    addresses,
    answers,
    archives,
    cookies,
    earlier,
    formats,
    hubs,
    letters,
    lists,
    modules,
    owners,
    pages,
    records,
    talks,
    walls,
)
from tests.fuzzing.target import Target

ROOMS = (
    answers,
    cookies,
    pages,
    formats,
    hubs,
    talks,
    lists,
    addresses,
    records,
    archives,
    modules,
    letters,
    earlier,
    owners,
    walls,
)
TARGETS: dict[str, Target] = {target.name: target for room in ROOMS for target in room.TARGETS}
