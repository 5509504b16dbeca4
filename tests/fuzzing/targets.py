"""All targets by name."""

from tests.fuzzing import addresses, answers, cookies, lists, modules, pages, records, talks
from tests.fuzzing.target import Target

ROOMS = (answers, cookies, pages, talks, lists, addresses, records, modules)
TARGETS: dict[str, Target] = {target.name: target for room in ROOMS for target in room.TARGETS}
