"""All targets by name."""

from tests.fuzzing import addresses, answers, cookies, lists, pages, records, talks
from tests.fuzzing.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for room in (answers, cookies, pages, talks, lists, addresses, records)
    for target in room.TARGETS
}
