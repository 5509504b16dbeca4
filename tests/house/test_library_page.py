"""Each program of docs/library.md runs as it stands there."""

import re

import pytest

from tests.library.test_crawl import Tree
from tests.support.commands import command
from tests.support.places import ROOT
from tests.support.plain_site import serving

PROGRAMS = re.findall(
    r"^```python\n(.*?)^```$", (ROOT / "docs/library.md").read_text(), re.MULTILINE | re.DOTALL
)
QUICK = """
import warnings
warnings.simplefilter("error")
from webcrawl import settings
settings.PRIVATE_NETWORKS_ALLOWED, settings.PORTS_ALLOWED = ["127.0.0.0/8"], ["{port}"]
settings.POLITENESS_MIN_DELAY = settings.POLITENESS_FACTOR = settings.MIN_FREE_DISK = 0
settings.DNS_NAMESERVERS = ["127.0.0.1:9"]
"""


@pytest.fixture(name="address", scope="module")
def _address():
    with serving(Tree) as address:
        yield address


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_it_runs(program, address, tmp_path):
    """It ends well, and prints something.

    Only the site, politeness and name servers are the test's.
    """
    text = QUICK.format(port=address.rpartition(":")[2]) + program.replace(
        "https://example.org", address
    )
    (tmp_path / "program.py").write_text(text)
    run = command("program", cwd=tmp_path)

    assert run.returncode == 0, run.stderr
    assert run.stdout
