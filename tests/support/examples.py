"""How many examples Hypothesis tries: as many as fit into every run of the tests, into another one, or a campaign."""

from typing import Any

from hypothesis import settings

SHORT, MORE, LONG = 30, 100, 2000  # where a test gives no number; Hypothesis alone would take 100


def examples(number: int, **others: Any) -> settings:
    """Settings for a test that needs more or fewer examples than the others: `number` for each 100 of theirs."""
    return settings(max_examples=max(1, number * settings.default.max_examples // 100), deadline=None, **others)
