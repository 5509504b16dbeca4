"""Plays a stranger who knows only README: its lines, copied by a parser, in a fresh copy and a
fresh environment.
"""

import gzip
import json
import os
import re
import shutil
from collections import Counter

import pytest

from benchmarks.support.shop import AWAY, BROKEN, CORNER, PAGES, WARES, open_shop
from tests.support.documents import checkout, run, section

pytestmark = pytest.mark.campaign  # it installs everything, from the package index


@pytest.fixture(name="shop", scope="module")
def _shop(tmp_path_factory):
    """What README's commands leave: the copy of the checkout, and all that they print."""
    with open_shop() as (site, _):
        folder = checkout(tmp_path_factory.mktemp("stranger") / "webcrawl", site)
        status, output, _ = run(section("README.md"), folder, site, os.environ["PATH"])
        assert status == 0, output
        yield folder, output, site


def texts(jobdir):
    """The rows of the text files."""
    files = sorted((jobdir / "text").glob("*.gz"))
    return [
        json.loads(line)
        for file in files
        for line in gzip.decompress(file.read_bytes()).splitlines()
    ]


def test_every_page_has_its_text(shop):
    """Each page that the site gives can be read in `text/`, once, with its title; what scripts make
    is not there.
    """
    folder, *_ = shop
    rows = texts(folder / "crawls/example-read")

    titles = Counter(row["title"] for row in rows)
    assert titles == Counter(f"Ware {number}" for number in WARES)
    assert all("is for sale" in row["text"] for row in rows)


def test_what_failed_is_named(shop):
    """crawl.log and the report have the URLs that always answer 503 and 500."""
    folder, *_ = shop
    lines = [
        line.split() for line in (folder / "crawls/example/logs/crawl.log").read_text().splitlines()
    ]
    failed = {
        int(words[3].rpartition("/")[2]): words[1] for words in lines if words[1] in ("500", "503")
    }

    assert failed == {**dict.fromkeys(AWAY, "503"), BROKEN: "500"}
    report = (folder / "crawls/example/report.html").read_text()
    assert all(re.search(rf"\b{status}\b", report) for status in (500, 503))


def test_all_is_whole(shop):
    """`verify` finds no damage, `why` knows the seed, and the archive is packed."""
    folder, output, _ = shop

    assert "crawls/example: no damage found" in output
    assert re.search(r"^\+ webcrawl why .*\n(?:.*\n)*?.*fetched", output, re.MULTILINE)
    assert (folder / "example.wacz").stat().st_size > PAGES * 100


@pytest.mark.skipif(shutil.which("chromium") is None, reason="scripts are run by Chromium")
def test_the_corner_made_by_scripts_has_its_text(shop):
    """The last lines name it, and by the tutorial's lines each of its pages can be read."""
    folder, output, site = shop
    guide = section("docs/sites-made-by-scripts.md")
    corner = guide._replace(script=guide.script.replace("example.org/", "example.org/corner/0"))
    corner = corner._replace(
        script=re.sub(r"https?://www\.example\.org/", f"{site}/", corner.script)
    )

    status, said, _ = run(corner, folder, site, os.environ["PATH"])

    assert "1 page of 1 host seems to need scripts: use -s RENDER=auto" in output
    assert status == 0, said
    assert {row["text"].strip() for row in texts(folder / "crawls/made")} == {
        f"Made by a script, {number}."
        + ("/corner/1 /corner/2 /corner/3 /corner/4" if not number else "")
        for number in range(CORNER)
    }
