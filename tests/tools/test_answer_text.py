"""Answers as lines that a terminal can show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.tools.answer_text import answer_lines, status_lines

FIGURES = {
    "state": "running",
    "seconds": 61.6,
    "pages": 1,
    "answers": 5,
    "failures": 2,
    "queued": 3,
}
FIGURES |= {"hosts": 4, "trouble": ""}


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        ("done", ["done"]),
        ({}, []),
        (
            {"a": 1, "long": None, "on": True, "off": False},
            ["a     1", "long  -", "on    yes", "off   no"],
        ),
        ({"a": [{"b": 1, "c": "x"}, {"b": 22}]}, ["a:", "  b   c", "  1   x", "  22  -"]),
        ({"a": ["x", "y"], "b": {"c": 0.5}}, ["a:", "  x", "  y", "b:", "  c  0.5"]),
        (["x", 1], ["x", "1"]),
        (
            [{"a": 0, "b": {"c": [{"d": 1}]}}, {"a": 1}],
            ["a  0", "b:", "  c:", "    d", "    1", "a  1"],
        ),
        ([{"a": 0, "b": {"c": []}}], ["a  0", "b:", "  c  -"]),
        ([{"a": [1, 2]}, {"a": "x" * 90}], ["a", "1,2", "x" * 57 + "..."]),
        ({"a": []}, ["a  -"]),
        ("a\x1b[31m\nb", ["a\\x1b[31m\\x0ab"]),
    ],
)
def test_each(answer, lines):
    """A mapping is a line for each key, a list of mappings a table, and nothing controls the
    terminal.
    """
    assert [*answer_lines(answer)] == lines


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_whatever_it_is(answer):
    """Any answer is lines without a character that a terminal takes for anything else."""
    assert all("\x1b" not in line and "\n" not in line for line in answer_lines(answer))


def test_status():
    """The state of a crawl is one line, and one for each thing that is in force."""
    found = [*status_lines({**FIGURES, "in_force": ["pause", "exclude \x1b"], "bytes": 2_500_000})]

    assert found == [
        "running, 62 s since the start: 1 page of 5 answers, 3 queued, 4 hosts, 2 failures, 2.5 MB",
        "in force by command:",
        "  pause",
        "  exclude \\x1b",
    ]


def test_trouble():
    """Why nothing is fetched stands beside the state, unless that says it."""
    assert next(status_lines({**FIGURES, "trouble": "no network"})).startswith(
        "running (no network), 62 s"
    )
    assert next(status_lines({**FIGURES, "state": "paused", "trouble": "paused"})).startswith(
        "paused, 62 s"
    )


def test_what_bounds_it():
    """A line says what bounds the crawl now; of a hive what has, in all."""
    assert [*status_lines({**FIGURES, "bound": "politeness \x1b"})][1:] == [
        "bound by politeness \\x1b"
    ]
    assert [*status_lines({**FIGURES, "bound/slots": 3, "bound/disk": 1})][1:] == [
        "bound by CONCURRENT_REQUESTS 75 %, the disk 25 %"
    ]


def test_a_hive_has_a_row_for_each_drone():
    """Of a hive there is a row for each drone besides."""
    found = [
        *status_lines({**FIGURES, "drones": [{"drone": 0, "pages": 1}, {"drone": 1, "pages": 0}]})
    ]

    assert found[1:] == ["drone  pages", "0      1", "1      0"]
