"""Which tests share a process, so that what they share is made once: those of a file with an `xdist_group` mark.

pytest-xdist 3.8 notes the group in the test's name, in an attribute that pytest 9.2 no longer has: nothing fails, but
every test goes to any process.
"""

import re
from functools import cache

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.support.places import ROOT

MARK = re.compile(r'^pytestmark = .*\bxdist_group\("([^"]+)"\)', re.MULTILINE)


@cache
def group_of(file: str) -> str | None:
    """The group of all tests of a file, which is named as pytest names it."""
    found = MARK.search((ROOT / file).read_text(encoding="utf-8"))
    return found and found[1]


class ByGroup(LoadScopeScheduling):
    """Sends a group to one process, and any other test to the next that is free."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0]) or nodeid

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Forgets what the process has done, which would be looked through again after each of thousands of tests."""
        units = self.assigned_work[node]
        for name in [name for name, tests in units.items() if all(tests.values())]:
            del units[name]
        super()._assign_work_unit(node)
