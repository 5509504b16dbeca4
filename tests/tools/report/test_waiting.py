"""The section on what waits says why."""

from collections import Counter

from webcrawl.base.model import Status
from webcrawl.record.statistics import Statistics
from webcrawl.tools.report.report_source import CrawlHosts, ReportSource, WaitingHost
from webcrawl.tools.report.waiting import waiting


def test_a_host_that_reports_errors(tmp_path):
    """A host set aside for its answers is said to answer so, and not to be given up."""
    state = CrawlHosts(hosts=1, aside=[WaitingHost("a.test", 2, 5, Status.HOST_RETIRED, 1e9)])
    source = ReportSource(
        jobdir=tmp_path,
        key=bytes(16),
        statistics=Statistics(bytes(16)),
        complete=True,
        counters=Counter(),
        filtered=Counter(),
        frontier=Counter(),
        terms={},
        seeds={},
        outputs={},
        state=state,
        aside=(2, 1),
    )

    section = str(waiting(source))

    assert "answers 408, 429 or 5xx" in section
    assert "host given up" not in section
    assert "No host was given up." in section
