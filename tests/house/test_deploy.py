"""docs/deploy/ and the units of docs/deploy.md."""

import re
import shutil
import subprocess

import pytest

from tests.support.places import ROOT

UNITS = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs/deploy").glob("*.service"))
}
PAGE = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
UNITS["webcrawl.service"] = re.search(
    r"^```ini\n(\[Unit\].*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)[1]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_no_fault(name, tmp_path):
    """`systemd-analyze verify` has nothing to say of a unit, where what it starts is installed."""
    (tmp_path / name).write_text(
        re.sub(r"(?<=^ExecStart=)\S+", "/bin/true", UNITS[name], flags=re.MULTILINE)
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / name], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_image_has_what_is_copied():
    """The Dockerfile copies only what .dockerignore lets through."""
    copied = re.findall(
        r"^COPY (\S+)", (ROOT / "docs/deploy/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    passing = re.findall(
        r"^!(\S+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert copied == passing
