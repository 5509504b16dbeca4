"""Whoever reads the archive of a crawl is told of the files that are no longer in its folder."""

import shutil

import pytest

from tests.support.commands import command


@pytest.fixture(name="moved")
def _moved(copy, tmp_path):
    """A crawl whose first archive file was moved away with its index, as the documents allow."""
    first, *_ = sorted((copy / "warc").glob("*.warc.gz"))
    second = first.with_name(first.name.replace("00000", "00099"))
    shutil.copy(first, second)  # something is left to read
    first.rename(tmp_path / first.name)
    return copy, first.name


@pytest.mark.parametrize("words", [("diff",), ("export", "wet"), ("export", "wat"), ("process",)])
def test_a_file_that_was_moved(moved, tmp_path, words):
    """Comparing, exporting and processing say that it is left out: its pages seem to be gone."""
    job, name = moved
    more = {
        "diff": [],
        "export": ["-o", tmp_path / "out"],
        "process": ["-s", "OUTPUTS=text", "-s", f"JOBDIR={tmp_path / 'read'}"],
    }

    done = command("webcrawl", *words, job, *more[words[0]])

    assert (
        f"{job}: 1 finished archive file no longer here, and left out (warc/{name})\n"
        in done.stderr
    )


def test_nothing_is_away(copy, tmp_path):
    """Of a crawl that has all of its files nothing is said."""
    done = command("webcrawl", "export", "wet", copy, "-o", tmp_path / "out")

    assert "no longer here" not in done.stderr
