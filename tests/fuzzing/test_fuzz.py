"""A short campaign of every target, with the same inputs in every run; docs/testing.md has the long
one.
"""

import logging
from itertools import count
from random import Random

import pytest

from tests.fuzzing import campaign, sizes
from tests.fuzzing.mutator import Mutator
from tests.fuzzing.target import Target
from tests.fuzzing.targets import TARGETS

RUNS = {"client": 60, "robots": 80, "seeds": 80, "dns": 120}  # they cost some milliseconds each
USUAL = 250


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", TARGETS)
class TestTargets:
    def test_mutated_seeds(self, name):
        """Mutations of a target's own seeds break none of its rules."""
        target = TARGETS[name]
        mutated = Mutator(target.seeds, target.tokens, Random(f"short {name}"))

        for data in (*target.seeds, b"", *(mutated() for _ in range(RUNS.get(name, USUAL)))):
            target.run(data)

    def test_collected_seeds(self, name):
        """Some of what was kept, and collected where that is available, and their mutations break
        none either.
        """
        target = TARGETS[name]
        random = Random(f"collected {name}")
        collected = target.corpus()[len(target.seeds) :]
        if not collected:
            pytest.skip("nothing was kept or collected for this target")
        few = random.sample(collected, min(len(collected), RUNS.get(name, USUAL) // 4))
        mutated = Mutator(few, target.tokens, random)

        for data in (*few, *(mutated() for _ in few)):
            target.run(data)


class TestCampaign:
    def test_the_same_seed_makes_the_same_inputs(self):
        """A campaign's seed determines its inputs."""
        one, other, third = (Mutator([b"abc", b"def"], [b"x"], Random(seed)) for seed in (1, 1, 2))
        inputs = [one() for _ in range(50)]

        assert inputs == [other() for _ in range(50)]
        assert inputs != [third() for _ in range(50)]

    def test_a_finding_is_told_once_and_made_small(self, monkeypatch):
        """Of many inputs that fail at one place, one is kept, reduced to the bytes that matter."""
        found, noted = [], []
        # a second per look at the clock
        monkeypatch.setattr(campaign.time, "monotonic", count().__next__)

        def run(data):
            assert b"bad" not in data

        target = Target("x", run, [b"much before bad and much after"], [b"bad"])
        inputs = campaign.run(target, 1, seconds=50, told=found.append, note=noted.append)

        assert [(finding.kind, finding.data) for finding in found] == [("AssertionError", b"bad")]
        assert len(noted) == inputs > 1

    def test_an_input_that_takes_for_ever_is_a_finding(self, monkeypatch):
        """An input that hangs is aborted, whatever the reader catches."""
        monkeypatch.setattr(campaign, "HANG", 1)

        def run(_):
            while True:
                try:
                    sum(range(1000))
                except Exception:  # noqa: BLE001, S112 - just this must not help
                    continue

        finding = campaign.verdict(Target("x", run, [], []), b"")

        assert finding is not None
        assert finding.kind == "HangError"


class TestSizes:
    def test_every_shape_is_read(self):
        """Every slow shape is read at a small size."""
        for name, case in sizes.cases().items():
            seconds, memory = sizes.measured(case, 4096)

            assert seconds >= 0, name
            assert memory < 32 << 10, name
