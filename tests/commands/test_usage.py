"""Arguments that a command does not take."""

import subprocess
import sys

import pytest

from tests.support.places import ROOT


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["verify"], "one folder: scrapy verify JOBDIR"),
        (["verify", "a", "b"], "one folder: scrapy verify JOBDIR"),
        (["demo", "extra"], "unexpected argument: extra"),
        (["simweb", "extra"], "unexpected argument: extra"),
    ],
)
def test_wrong_arguments_end_with_one_line(words, line):
    """The usage comes first, what is wrong last, on standard error, and the exit status is 2."""
    command = [sys.executable, "-m", "scrapy", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    first, *_, last = done.stderr.splitlines()
    assert first == "Usage"
    assert last.endswith(f": error: {line}")
