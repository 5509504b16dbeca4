"""The comparison of Scrapy's own tests with and without the add-on (`python -m tests.scrapys_own`)."""

from tests.scrapys_own.__main__ import expected, node_id, outcomes, pinned, verdict

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a.TestA" name="test_x[1.5]"/>
<testcase classname="tests.test_a" name="test_y"><failure message="x"/></testcase>
<testcase classname="tests.test_a" name="test_z"><skipped/></testcase>
</testsuite></testsuites>"""


def test_every_expected_difference_has_a_reason():
    """The list names tests, each below the reason why it differs."""
    found = expected()

    assert found
    assert all(reason for reason in found.values())
    assert all(name.startswith("tests/test_") and "::" in name for name in found)


def test_a_report_says_which_tests_passed(tmp_path):
    """Skipped tests are left out."""
    (tmp_path / "report.xml").write_text(REPORT)

    assert outcomes(tmp_path / "report.xml") == {
        "tests/test_a.py::TestA::test_x[1.5]": True,
        "tests/test_a.py::test_y": False,
    }
    assert node_id("tests.test_a.TestA", "test_x") == "tests/test_a.py::TestA::test_x"


def test_what_differs_unexpectedly_is_named():
    """So is what is expected to differ and does not, or is no test any more; some differ only
    sometimes.
    """
    plain = {
        "same": True,
        "differs": True,
        "known": True,
        "mended": True,
        "odd": True,
        "broken": False,
    }
    forced = {"same": True, "known": False, "mended": True, "odd": True}
    reasons = {
        "known": "politeness",
        "mended": "politeness",
        "odd": "sometimes: a matter of load",
        "gone": "politeness",
    }

    assert verdict(plain, forced, reasons) == [
        "differs, and no reason is known: differs",
        "does not differ any more, take it out of expected.txt: mended",
        "is no test that crawls, take it out of expected.txt: gone",
    ]


def test_the_version_is_that_of_the_lock_file():
    """The sdist is that of the Scrapy that CI runs."""
    assert pinned().startswith("2.")
