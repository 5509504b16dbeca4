"""Arguments that a command does not take."""

import subprocess
import sys

import pytest

from tests.support.places import ROOT
from webcrawl.spiders.web import WebSpider


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


def test_the_arguments_of_the_spider_are_in_its_help():
    """`scrapy crawl -h` says what may follow -a."""
    command = [sys.executable, "-m", "scrapy", "crawl", "-h"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)

    said = " ".join(done.stdout.split())
    assert all(f"-a {name}=" in said for name in WebSpider.known_arguments())
