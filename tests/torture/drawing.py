"""Which faults are tried: all, or a seeded sample."""

from tests.torture.calls import CALLS
from tests.torture.fault import HOWS, Fault

_ERRORS = {call.name: call.errors for call in CALLS}
_FAMILIES = {call.name: call.family for call in CALLS}


def every_fault(found, chance, only=None, *, every=False):
    """All faults at these calls: each label with each of its errors in each way, at a number drawn
    by chance.

    `every`: at each number instead, with one of the errors in one of the ways.
    """
    for label, count in sorted(found.items()):
        name = label.partition(" ")[0]
        if only is not None and only not in (_FAMILIES[name], name) and not label.startswith(only):
            continue
        errors = _ERRORS[name]
        if every:
            for number in range(1, count + 1):
                yield Fault(label, number, chance.choice(HOWS), chance.choice(errors))
            continue
        for error in errors:
            for how in HOWS:
                yield Fault(label, chance.randint(1, count), how, error)


def sample(faults, chance, most):
    """At most so many, from as many families, then from as many labels, as there are."""
    faults = list(faults)
    chance.shuffle(faults)
    labels, families, ranked = {}, {}, []
    for fault in faults:
        rank = labels[fault.label] = labels.get(fault.label, -1) + 1
        place = families[_FAMILIES[fault.name], rank] = (
            families.get((_FAMILIES[fault.name], rank), -1) + 1
        )
        ranked.append((rank, place, len(ranked), fault))
    return [fault for *_, fault in sorted(ranked, key=lambda one: one[:3])[:most]]
