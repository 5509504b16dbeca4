"""Histories of pages that others have watched become a web to simulate."""

import numpy as np
import pytest

from benchmarks.support.changing import DAY
from benchmarks.support.histories import HISTORIES, IMPORTANCE, rate, replayed


def test_a_folder_is_a_world(tmp_path):
    """The first pages of the histories have their rates, and the importance that the other file
    gives them.
    """
    rows = ["5\t5.5\t[[1.0, 0], [1.0, 1]]", "7\t0.1\t[[2.0, 1]]", "9\t0.2\t[[1.0, 1]]"]
    (tmp_path / HISTORIES).write_text("\n".join(rows) + "\n")
    (tmp_path / IMPORTANCE).write_text("9\t100\n7\t3\n5\t1\n")
    world = replayed(tmp_path, 2, 1)

    assert world.weights.tolist() == [0.25, 0.75]
    assert (world.rates * DAY).tolist() == pytest.approx([np.log(2), np.log(3) / 2])


@pytest.mark.parametrize("row", ["5\t5.5", "5\t5.5\t[[1.0, 0], [1.0]]", "5\t5.5\tnone", ""])
def test_a_line_of_another_form(tmp_path, row):
    """Its number is told."""
    (tmp_path / HISTORIES).write_text(f"5\t5.5\t[[1.0, 0]]\n{row}\n")

    with pytest.raises(ValueError, match=f"{HISTORIES}:2: "):
        replayed(tmp_path, 2, 1)


def test_histories_of_other_pages(tmp_path):
    """Files that have no page in common are not a web."""
    (tmp_path / HISTORIES).write_text("5\t5.5\t[[1.0, 0]]\n")
    (tmp_path / IMPORTANCE).write_text("6\t1\n")

    with pytest.raises(ValueError, match="no page"):
        replayed(tmp_path, 2, 1)


def test_the_most_likely_rate():
    """It is that of the pages whose visits are so; one that never changed has the slowest."""
    random = np.random.default_rng(1)
    gaps = random.exponential(1.0, 20_000)
    changed = random.random(len(gaps)) < -np.expm1(-0.3 * gaps)

    assert rate(np.column_stack((gaps, changed))) == pytest.approx(0.3, rel=0.05)
    assert rate(np.array([[1.0, 0.0]])) < 1e-3
