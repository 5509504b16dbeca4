"""Tests that share what takes long to make share a process (tests/support/groups.py)."""

import pytest

from tests.support.groups import ByGroup, group_of


@pytest.fixture(name="scheduler")
def _scheduler(pytestconfig, monkeypatch):
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"])
    return ByGroup(pytestconfig)


def test_all_tests_of_a_marked_file_go_together(scheduler):
    """Whatever its class and parameters, a test of a marked file is of its group, which other files may share."""
    ids = ["test_imports.py::TestRings::test_arrows_point_inwards[webcrawl.base.model]", "test_privacy.py::test_x[a@b]"]

    assert {scheduler._split_scope(f"tests/house/{one}") for one in ids} == {"house"}


def test_other_tests_go_alone(scheduler):
    """A test of a file without a mark is a group of its own."""
    one = "tests/house/test_groups.py::test_other_tests_go_alone"

    assert group_of("tests/house/test_groups.py") is None
    assert scheduler._split_scope(one) == one
