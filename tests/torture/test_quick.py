"""A sample of what `python -m tests.torture` tries: whatever is refused, limited or taken away,
nothing is lost.
"""

from collections import Counter
from random import Random

import pytest

from tests.torture.calls import CALLS
from tests.torture.drawing import every_fault, sample
from tests.torture.fault import HOWS, Fault
from tests.torture.limits import VALUES, Limit
from tests.torture.scenarios import DROPPED, FILES, strokes
from tests.torture.subject import Subject

# times as many faults: one shard is one test; `python -m tests.torture` has thousands
SHARDS, FAULTS = 2, 5
# so long that something can happen half-way
LATE = {"pages": 60, "latency": 0.02, "HOST_MAX_FAILURES": 20}


def wrong(subject, cases):
    """What is wrong with these cases, a line for each."""
    return "\n".join(f"{case}: {line}" for case in cases for line in subject.suffer(case).wrong)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_calls_that_are_refused(simweb, tmp_path, shard):
    """Whatever call the system refuses, once or for a while, the truth is reached, by a second run
    at the latest.
    """
    subject = Subject(simweb, tmp_path)
    faults = sample(every_fault(subject.found, Random(1)), Random(1), SHARDS * FAULTS)

    assert wrong(subject, faults[shard::SHARDS]) == ""


def test_limits_of_the_process(simweb, tmp_path):
    """With few descriptors, little memory, few threads or small files a crawl ends, and a resumed
    one lacks nothing.
    """
    subject = Subject(simweb, tmp_path)

    assert wrong(subject, [Limit(what, values[4]) for what, values in VALUES.items()]) == ""


def test_files_that_are_taken_away(simweb, tmp_path):
    """A crawl whose files are moved or removed under way ends well with all there is, or says that
    it does not.
    """
    subject = Subject(simweb, tmp_path, **LATE)
    cases = [
        stroke
        for stroke in strokes()
        if stroke.how in ("moved", "removed") and stroke.what.endswith("crawl.log")
    ]

    assert wrong(subject, [*cases, DROPPED[0]]) == ""


def test_a_fault_is_read_as_it_is_printed():
    """The name of a fault in a line of output is all that its repetition needs."""
    fault = Fault("open store/log.Log._sync", 3, "while", "EMFILE")

    assert Fault.parse(str(fault)) == fault


def test_a_sample_has_every_family():
    """A sample takes one fault of each family before it takes two of one."""
    found = Counter({f"{call.name} some/where.work": 5 for call in CALLS})
    families = {call.name: call.family for call in CALLS}

    drawn = sample(every_fault(found, Random(0)), Random(0), len(set(families.values())))

    assert sorted(families[fault.name] for fault in drawn) == sorted(set(families.values()))


def test_every_way_of_failing_is_drawn():
    """Each kind of call fails with each of its errors, in each way."""
    found = Counter({"write a.b": 3})
    (call,) = (call for call in CALLS if call.name == "write")

    drawn = {(fault.error, fault.how) for fault in every_fault(found, Random(0))}

    assert drawn == {(error, how) for error in call.errors for how in HOWS}


def test_what_is_finished_may_be_taken():
    """A finished archive file may be moved; what else befalls it is its owner's affair."""
    assert [stroke.how for stroke in strokes() if stroke.what == FILES[-2]] == ["moved"]
