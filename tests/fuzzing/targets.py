"""All targets by name."""

from tests.fuzzing import addresses, answers, lists, pages, records, talks
from tests.fuzzing.target import Target

TARGETS: dict[str, Target] = {
    target.name: target for room in (answers, pages, talks, lists, addresses, records) for target in room.TARGETS
}
