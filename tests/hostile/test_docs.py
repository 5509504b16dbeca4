"""What docs/errors.md is made of has a word for every error and flaw, and no other."""

import re
from pathlib import Path

import pytest

from webcrawl.base.model import Status
from webcrawl.net import errors
from webcrawl.net.errors import FetchError
from webcrawl.net.ftp_session import NotFtp, ReplyTooLong
from webcrawl.store.jobdir.counter_words import WRONG

NET = Path(errors.__file__).parent


def kinds(error=FetchError):
    """The error and all its subclasses."""
    return {error}.union(*map(kinds, error.__subclasses__()))


def test_no_two_errors_have_one_name():
    """A counter of stats.json is of one error alone."""
    assert {NotFtp, ReplyTooLong} <= kinds()
    names = [kind.name for kind in kinds() if kind.__module__.startswith("webcrawl.")]

    assert len(names) == len(set(names))


def test_no_error_is_an_unknown_status():
    """The status of each error is one of the crawl log's own codes."""
    assert all(kind.status in set(Status) for kind in kinds())


@pytest.mark.parametrize(
    ("group", "written"),
    [
        ("truncated", r'(?:stop\(|truncated = |_end\()"([a-z]+)"'),
        (
            "flaw",
            (
                r'flaws\.append\("([a-z_]+)"\)|_FLAW = "([a-z_]+)"'
                r'|yield "(certificate_[a-z_]+)"|return \("(certificate_[a-z_]+)",\)'
            ),
        ),
    ],
)
def test_every_flaw_has_its_words(group, written):
    """The report has words for every flaw that `net` and the browser's handler record, and for no
    other.
    """
    browser = NET.parent / "adapter/browser.py"
    sources = "".join(path.read_text(encoding="utf-8") for path in (*NET.glob("*.py"), browser))
    found = {
        "".join(match) if isinstance(match, tuple) else match
        for match in re.findall(written, sources)
    }
    words = {name.partition("/")[::2] for names in WRONG.values() for name in names}

    assert {name for kind, name in words if kind == group} == found
