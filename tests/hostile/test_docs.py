"""docs/hostile.md names exactly the outcomes that exist, and docs/security.md files and tests that
exist.
"""

import re
from pathlib import Path

import pytest

from tests.support.hostile import rows
from tests.support.places import ROOT
from webcrawl.base.model import Status
from webcrawl.net import errors
from webcrawl.net.errors import FetchError
from webcrawl.net.ftp_session import NotFtp, ReplyTooLong

NET = Path(errors.__file__).parent


def kinds(error=FetchError):
    """The error and all its subclasses."""
    return {error}.union(*map(kinds, error.__subclasses__()))


def test_every_error_has_its_line():
    """The table of errors has the name and status of each error, and no other."""
    assert {NotFtp, ReplyTooLong} <= kinds()
    made = sorted(
        (kind.name, int(kind.status)) for kind in kinds() if kind.__module__.startswith("webcrawl.")
    )

    assert sorted((name, int(status)) for name, status, _ in rows("Errors")) == made
    assert len({name for name, _ in made}) == len(made)


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
def test_every_flaw_has_its_line(group, written):
    """The table of flaws has every flaw that `net` and the browser's handler record, and no other."""
    browser = NET.parent / "adapter/browser.py"
    sources = "".join(path.read_text(encoding="utf-8") for path in (*NET.glob("*.py"), browser))
    found = {
        "".join(match) if isinstance(match, tuple) else match
        for match in re.findall(written, sources)
    }

    assert {name for name, counted, _ in rows("Flaws") if counted == group} == found


THREATS = re.compile(
    r"^\| (?P<what>[^|]+) \| (?P<stops>[^|]+) \| (?P<tests>`tests/[^|]+) \|$", re.MULTILINE
)
ACTORS = (
    "Hostile pages",
    "Hostile hosts",
    "Hostile neigh",
    "Whoever reaches",
    "Whoever writes",
    "Hostile archives",
)


def threats():
    """The rows of docs/security.md, as pytest's cases."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    return [
        pytest.param(row["stops"], row["tests"], id=row["what"][:50])
        for row in THREATS.finditer(text)
    ]


@pytest.mark.parametrize(("stops", "tests"), threats())
def test_every_threat_has_its_code_and_its_test(stops, tests):
    """What a row of the threat model names is there: a file or setting that stops it, and each
    test.
    """
    named = re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", stops)
    assert named or re.search(r"`[A-Z_]+`|`rediss://`", stops)
    assert [name for name in named if not (ROOT / "webcrawl" / name).exists()] == []
    for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests):
        assert re.search(
            rf"^ *(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        ), name
    assert re.sub(r"`tests/[\w/]+\.py::\w+`(, )?", "", tests) == ""


def test_every_actor_has_threats():
    """Each chapter of the threat model has rows of its own, and no row of them is without a test."""
    chapters = (ROOT / "docs/security.md").read_text(encoding="utf-8").split("\n## ")
    for actor in ACTORS:
        (chapter,) = (one for one in chapters if one.startswith(actor))
        lines = re.findall(r"^\| .*", chapter, re.MULTILINE)[1:]
        assert len(lines) >= 4
        assert len(THREATS.findall(chapter)) == len(lines), actor
