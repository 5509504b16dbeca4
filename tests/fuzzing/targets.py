"""All targets by name."""

from tests.fuzzing import addresses, answers, archives, cookies, lists, pages, records, talks
from tests.fuzzing.target import Target

ROOMS = (answers, cookies, pages, talks, lists, addresses, records, archives)
TARGETS: dict[str, Target] = {target.name: target for room in ROOMS for target in room.TARGETS}
