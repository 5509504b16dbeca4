"""The figures of revisits, as the report and the last lines tell them."""

from tests.support.reports import Report
from tests.support.revisited import COUNTS, revisited
from webcrawl.store.jobdir.revisit_figures import RevisitFigures, in_words
from webcrawl.tools.report.report_page import report

UNCHANGED = COUNTS["unchanged_304"] + COUNTS["unchanged_digest"]
CHANGED = COUNTS["changed_digest"] + COUNTS["changed_text"]


def test_the_share_that_found_a_change(tmp_path):
    """Of the revisits with a finding: pages that are gone are none that have changed."""
    page = Report(report(revisited(tmp_path / "job"), {}, 0.0))
    share = 100 * CHANGED / (UNCHANGED + CHANGED + COUNTS["gone"])

    assert f"{share:.1f} % found a change" in page.section("revisits").replace("\xa0", " ")


def test_in_words():
    """What came of revisits is said by what was found, however it was known; nothing is said of copies unseen."""
    found = {"unchanged_304": 3, "unchanged_digest": 4, "changed_digest": 5, "changed_text": 6, "gone": 7}
    said = in_words(RevisitFigures(taken=25, records=9, **found))

    assert "25 revisits of 9 pages" in said
    assert "7 unchanged, 11 changed, 7 gone" in said
    assert "fresh" not in said
    assert "80%" in in_words(RevisitFigures(taken=1, records=9, sampled=9, freshness=0.8))
