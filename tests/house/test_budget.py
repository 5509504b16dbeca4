"""What a stage of a page may take: `python -m benchmarks --check`."""

from benchmarks.support.budget import BUDGET, over


def test_what_takes_too_much_is_named():
    """With what it takes and what it may take; a stage that nobody knows may take nothing."""
    stage, (archive, everything) = next(iter(BUDGET.items()))

    assert over({stage: archive}, 0) == {}
    assert over({stage: everything + 1, "new": 0.1}, 1) == {
        stage: (everything + 1, everything),
        "new": (0.1, 0.0),
    }
