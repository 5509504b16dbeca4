"""A file of a pipeline's own: a page whose line the disk does not take is not done."""

import pytest

from webcrawl.crawl.outputs.output import Dropped, PipelineOutput, open_output
from webcrawl.crawl.run import Run
from webcrawl.store.errors import StoreError


class Full:
    """An output on a full disk."""

    def write(self, data):
        raise StoreError(f"no room for {data!r}")


def test_what_is_written_is_in_the_file():
    """`write` hands the bytes on."""
    lines = []
    PipelineOutput(
        type("Open", (), {"write": lambda self, data: lines.append(data)})(), pytest.fail
    ).write(b"a line\n")

    assert lines == [b"a line\n"]


def test_a_full_disk_ends_the_crawl_and_drops_the_page():
    """A write that fails ends the crawl with its reason, and no later pipeline gets the page."""
    failures = []
    with pytest.raises(Dropped, match="no room for b'x'"):
        PipelineOutput(Full(), failures.append).write(b"x")

    assert [str(error) for error in failures] == ["no room for b'x'"]


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "/x",
        "state/crawl.db",
        "stats.json",
        "",
        "./stats.json",
        "logs/errors.log",
        "logs/requests.log",
    ],
)
def test_a_file_of_the_crawls_own_is_no_output(path):
    """A pipeline may write neither outside JOBDIR nor over that by which the crawl is resumed."""
    with pytest.raises(
        ValueError, match="an output must be a file below JOBDIR, and not one of the crawl's own"
    ):
        open_output(Run(pytest.fail), path)
