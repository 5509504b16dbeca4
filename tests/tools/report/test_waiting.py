"""The section on what waits says why."""

from collections import Counter

from webcrawl.base.model import Status
from webcrawl.record.statistics import Statistics
from webcrawl.tools.report.report_source import CrawlHosts, ReportSource, WaitingHost
from webcrawl.tools.report.waiting import waiting


def section_of(tmp_path, state):
    """The section of a crawl with these hosts."""
    source = ReportSource(
        jobdir=tmp_path,
        key=bytes(16),
        statistics=Statistics(bytes(16)),
        has_full_statistics=True,
        counters=Counter(),
        filtered=Counter(),
        frontier=Counter(),
        terms={},
        seeds={},
        outputs={},
        state=state,
        deferred=(2, 1),
    )
    return str(waiting(source))


def test_a_host_that_reports_errors(tmp_path):
    """A host that is deferred for its answers is said to answer so, and not to be given up."""
    state = CrawlHosts(hosts=1, deferred=[WaitingHost("a.test", 2, 5, Status.HOST_RETIRED, 1e9)])

    section = section_of(tmp_path, state)

    assert "answers 408, 429 or 5xx" in section
    assert "host given up" not in section
    assert "No host was given up." in section


def test_a_host_that_is_paused(tmp_path):
    """A host that a command has paused did not ask to wait, and has no next try."""
    paused = WaitingHost("a.test", 2, 0, 0, 1e9)

    section = section_of(tmp_path, CrawlHosts(hosts=1, deferred=[paused], paused={"a.test"}))

    assert "<td>paused by command</td>" in section
    assert "asked to wait" not in section
    assert "2001-09-09" not in section


def test_a_host_with_a_long_wait(tmp_path):
    """A host that has not failed may wait by the operator's own settings: both causes are named."""
    host = WaitingHost("a.test", 2, 0, 0, 1e9)

    section = section_of(tmp_path, CrawlHosts(hosts=1, deferred=[host]))

    assert "it asked to wait, or your settings make it wait long" in section
    assert "2001-09-09" in section
