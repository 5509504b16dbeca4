"""docs/hostile.md names every outcome there is, and none that there is not."""

import re
from pathlib import Path

import pytest

from tests.support.hostile import rows
from webcrawl.model import Status
from webcrawl.net import errors
from webcrawl.net.errors import FetchError
from webcrawl.net.ftp_reply import NotFtp, ReplyTooLong

NET = Path(errors.__file__).parent


def kinds(error=FetchError):
    """The error and all that are made of it."""
    return {error}.union(*map(kinds, error.__subclasses__()))


def test_every_error_has_its_line():
    """The table of errors has the name and the status of each, no other, and no name twice."""
    assert {NotFtp, ReplyTooLong} <= kinds()
    made = sorted((kind.name, int(kind.status)) for kind in kinds() if kind.__module__.startswith("webcrawl."))

    assert sorted((name, int(status)) for name, status, _ in rows("Errors")) == made
    assert len({name for name, _ in made}) == len(made)


def test_no_error_is_an_unknown_status():
    """The status of each error is one of the crawl log's own numbers."""
    assert all(kind.status in set(Status) for kind in kinds())


@pytest.mark.parametrize(
    ("group", "written"),
    [
        ("truncated", r'(?:stop\(|truncated = |_end\()"([a-z]+)"'),
        ("flaw", r'flaws\.append\("([a-z_]+)"\)|yield "(certificate_[a-z_]+)"|return \("(certificate_[a-z_]+)",\)'),
    ],
)
def test_every_flaw_has_its_line(group, written):
    """The table of flaws has all that the room `net` notes of an answer, and no other."""
    sources = "".join(path.read_text(encoding="utf-8") for path in NET.glob("*.py"))
    found = {"".join(match) if isinstance(match, tuple) else match for match in re.findall(written, sources)}

    assert {name for name, counted, _ in rows("Flaws") if counted == group} == found
