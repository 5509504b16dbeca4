"""Refuses every call of ours in turn, in whole crawls: `python -m tests.torture --quick`; see
docs/checkpoints-and-crashes.md.
"""

import argparse
import sys
import time
from collections import Counter
from functools import partial
from random import Random

from tests.campaign.programs import say, workshop
from tests.campaign.programs import tell as write
from tests.torture.drawing import every_fault, sample
from tests.torture.fault import Fault
from tests.torture.limits import LIMITS
from tests.torture.scenarios import DROPPED, strokes
from tests.torture.subject import Subject

QUICK = 40


def tell(case, verdict, ends):
    """A line for each thing that is wrong or untidy, and the count of all."""
    ends["tried"] += 1
    ends["did not happen"] += not verdict.happened
    ends["ended" if verdict.status == 0 else "stopped"] += 1
    for kind, lines in (("WRONG", verdict.wrong), ("untidy", verdict.untidy)):
        ends[kind] += bool(lines)
        for line in lines:
            say(f"{kind} {case}: {line}")


def parsed():
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"a sample of {QUICK} faults")
    parser.add_argument("--most", type=int, help="a sample of so many")
    parser.add_argument(
        "--only", help="a family (sockets, names, files, disk, …), a call, or the start of a label"
    )
    parser.add_argument(
        "--every", action="store_true", help="each call, not each kind of call in each way"
    )
    parser.add_argument(
        "--limits", action="store_true", help="limits of the process instead, each at ten values"
    )
    parser.add_argument(
        "--strokes", action="store_true", help="files moved or removed instead, connections dropped"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--case", help="one of them, as a line of output names it; prints all that the crawl said"
    )
    parser.add_argument("--list", action="store_true", help="the calls and how often each occurs")
    return parser.parse_args()


def drawn(options, subject):
    """The faults to be tried."""
    if options.case:
        return [Fault.parse(options.case)]
    chance = Random(options.seed)
    faults = list(every_fault(subject.found, chance, options.only, every=options.every))
    most = QUICK if options.quick else options.most
    return sample(faults, chance, most) if most else faults


def subject_and_cases(options, simweb, folder):
    if options.limits or options.strokes:
        cases = LIMITS if options.limits else [*strokes(), *DROPPED]
        cases = [
            case
            for case in cases
            if str(case).startswith(options.only or "") and options.case in (None, str(case))
        ]
        longer = {"pages": 60, "latency": 0.02, "HOST_MAX_FAILURES": 20} if options.strokes else {}
        return Subject(simweb, folder, **longer), cases
    subject = Subject(simweb, folder)
    return subject, drawn(options, subject)


def main():
    options, begun, ends = parsed(), time.monotonic(), Counter()
    with workshop("torture") as (folder, simweb):
        subject, cases = subject_and_cases(options, partial(simweb, addresses=4), folder)
        if options.list:
            for label, count in sorted(subject.found.items()):
                say(f"{count:6} {label}")
            return 0
        say(
            f"seed {options.seed}: {subject.found.total()} calls of {len(subject.found)} kinds, {len(cases)} cases"
        )
        for case in cases:
            verdict = subject.suffer(case)
            tell(case, verdict, ends)
            if options.case:
                say(verdict.said)
    write(**ends, seconds=round(time.monotonic() - begun))
    return bool(ends["WRONG"])


if __name__ == "__main__":
    sys.exit(main())
