"""How many examples the tests try: as many as fit into every run of them, into another one, or a
campaign.
"""

from typing import Any

import pytest
from hypothesis import settings

SHORT, MORE, LONG = 20, 100, 2000  # where a test gives no number; Hypothesis alone would take 100


def examples(number: int, **others: Any) -> settings:
    """Settings for a test that needs more or fewer examples than the others: `number` for each 100
    of theirs.
    """
    return settings(
        max_examples=max(1, number * settings.default.max_examples // 100), deadline=None, **others
    )


def in_campaign(*cases: Any) -> list[Any]:
    """Cases of a parametrised test that the campaign tries: the default run has others of the same
    rule.
    """
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.campaign)
        for case in cases
    ]
