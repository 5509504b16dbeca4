"""Ctrl-C in the first second, while modules are loaded."""

import subprocess
import sys

import pytest

from tests.support.places import ROOT

CODE = """
import sys

class Interrupting:
    at = sys.argv.pop(1)

    def find_spec(self, name, *_):
        if name == self.at:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from {module} import {call}
{call}()
"""
WEBCRAWL = CODE.format(module="webcrawl.__main__", call="main")
SCRAPY = CODE.format(module="scrapy.cmdline", call="execute")


@pytest.mark.parametrize(
    ("code", "at", "words"),
    [
        (WEBCRAWL, "webcrawl.tools.tool_command", ["verify", "nowhere"]),
        (WEBCRAWL, "scrapy.cmdline", ["crawl", "http://127.0.0.1:1/"]),
        (SCRAPY, "webcrawl.crawl.finished_crawl", ["crawl", "http://127.0.0.1:1/"]),
    ],
)
def test_it_is_no_traceback(code, at, words, tmp_path):
    """It ends a command without a word, with the exit status of a program that Ctrl-C has ended."""
    done = subprocess.run(
        [sys.executable, "-c", code, at, *words, "-s", f"JOBDIR={tmp_path / 'job'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
