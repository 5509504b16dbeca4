"""All targets by name."""

from tests.fuzzing import (
    addresses,
    answers,
    archives,
    batches,
    block_pages,
    cookies,
    earlier,
    formats,
    hubs,
    lists,
    modules,
    owners,
    pages,
    records,
    talks,
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
    batches,
    earlier,
    owners,
    block_pages,
)
TARGETS: dict[str, Target] = {target.name: target for room in ROOMS for target in room.TARGETS}
