"""What a stage of a page may take: the table of docs/performance.md is that of `python -m benchmarks --check`."""

import re

from benchmarks.support import profile
from benchmarks.support.budget import BUDGET, TIMES, over, table
from tests.support.places import ROOT

STAGES = {profile.FILES[name] for name in profile.FILES} - {profile.CALLER}
TEXT = (ROOT / "docs/performance.md").read_text(encoding="utf-8").partition("### A budget")[2].partition("\n## ")[0]


def test_every_stage_has_a_budget():
    """Those of the profiler, and no other."""
    assert BUDGET.keys() == STAGES | {profile.COMPRESSION, profile.START, profile.OTHER}


def test_the_page_has_the_same():
    """For both crawls; what was measured is below that."""
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", TEXT, re.MULTILINE)

    assert {name: (float(one), float(four)) for name, _, one, _, four in rows} == BUDGET
    assert all(float(took) <= float(most) for _, *pairs in rows for took, most in (pairs[:2], pairs[2:]))
    assert f"{TIMES:.2f} at most" in TEXT


def test_what_takes_too_much_is_named():
    """With what it takes and what it may take; a stage that nobody knows may take nothing."""
    stage, (archive, everything) = next(iter(BUDGET.items()))

    assert over({stage: archive}, 0) == {}
    assert over({stage: everything + 1, "new": 0.1}, 1) == {stage: (everything + 1, everything), "new": (0.1, 0.0)}


def test_all_stages_are_shown():
    """A line for each, whether a crawl had it or not."""
    assert [line[:30].rstrip() for line in table({}, {}).splitlines()[1:]] == list(BUDGET)
