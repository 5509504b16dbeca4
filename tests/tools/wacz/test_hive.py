"""`scrapy export wacz` of a hive: the archives of all drones in one file."""

import gzip
import json
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.support.commands import command
from tests.support.hive_jobs import named
from tests.support.warc_crawl import NOW, Archive, exchange, files
from webcrawl.base.model import Link
from webcrawl.tools.wacz.pack import pack
from webcrawl.tools.wacz.packable_archives import CannotPack


@pytest.fixture(name="hive")
def _hive(tmp_path):
    """Two drones with a seed and ten pages each, in several files."""
    root = tmp_path / "hive"
    for drone in range(2):
        archive = filled(root / f"drone-{drone}", drone)
        archive.stop()
    named(root, range(2))
    return root


def filled(folder, drone, prefix=None):
    archive = Archive(folder, max_size=2000, seed=drone, prefix=prefix or f"drone{drone}")
    for number in range(11):
        link = Link(f"http://d{drone}.test/{number}", "L" if number else "")
        archive.write(exchange(link.url, b"<p>%d %d" % (drone, number)), link)
    return archive


def packed(hive):
    """The package, open; what was said; the figures."""
    found = Counter()
    said = list(pack(hive, hive / "hive.wacz", NOW, found))
    return zipfile.ZipFile(hive / "hive.wacz"), said, found


def test_the_archives_of_all_drones(hive):
    """All files, one index with the lines of all in order, and the pages of all."""
    wacz, said, found = packed(hive)

    assert said == []
    both = [path.name for drone in range(2) for path in files(hive / f"drone-{drone}")]
    assert [name for name in wacz.namelist() if name.startswith("archive/")] == [
        f"archive/{name}" for name in both
    ]
    lines = gzip.decompress(wacz.read("indexes/index.cdx.gz")).splitlines()
    assert lines == sorted(lines)
    assert {json.loads(line.split(b" ", 2)[2])["filename"] for line in lines} == set(both)
    assert (found["records"], found["seeds"], found["others"]) == (22, 2, 20)
    assert json.loads(wacz.read("datapackage.json"))["title"] == "hive"


def test_the_file_lies_in_the_hives_folder(hive):
    """The file lies in the hive's folder and has its name."""
    done = command("scrapy", "export", "wacz", hive)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{hive}/hive.wacz: archive files ")
    assert zipfile.ZipFile(hive / "hive.wacz").testzip() is None


def test_a_drone_without_an_archive(hive):
    """A drone that has finished no file, or that is not here, is named; the others are packed."""
    named(hive, range(4))
    (hive / "drone-2/warc").mkdir(parents=True)
    _, said, found = packed(hive)

    assert said == [
        f"left out: {hive}/drone-2/warc: no finished archive file",
        f"left out: {hive}/drone-3: not a crawl with an archive: warc/ is missing",
    ]
    assert found["records"] == 22


def test_nothing_to_pack(tmp_path):
    """Drones that have nothing at all make no file."""
    named(tmp_path, (0, 1))

    with pytest.raises(CannotPack, match="no drone has a finished archive file"):
        packed(tmp_path)
    assert not list(tmp_path.glob("*.wacz*"))


def test_files_that_were_taken_away(hive):
    """They are named with their drone."""
    path = files(hive / "drone-1")[0]
    path.unlink()

    assert packed(hive)[1] == [f"drone-1/warc/{path.name}: left out, because it is no longer here"]


def test_names_that_two_drones_have(tmp_path):
    """In a package each archive file has its own name: two of the same name are refused."""
    for drone in range(2):
        filled(tmp_path / f"drone-{drone}", drone, prefix="same").stop()

    with pytest.raises(
        CannotPack,
        match=r"drone-1/warc/same-.*\.warc\.gz: has the same name as .*drone-0/warc/same-",
    ):
        packed(tmp_path)
    assert not list(tmp_path.glob("*.wacz*"))


def test_a_running_hive(hive):
    """Of a drone that runs the finished files are packed; one that was killed is refused."""
    shutil.rmtree(hive / "drone-1")
    archive = filled(hive / "drone-1", 1)
    archive.checkpoint()
    archive.checkpoint()
    archive.write(exchange("http://d1.test/last"))
    (begun,) = [path for path in files(hive / "drone-1") if path.name.endswith(".open")]
    try:
        _, said, found = packed(hive)
    finally:
        archive.close()

    assert said == [f"drone-1/warc/{begun.name}: left out, because it is not finished yet"]
    assert found["records"] == 22
    (hive / "hive.wacz").unlink()
    with pytest.raises(CannotPack, match="not finished: start"):
        packed(hive)


def test_a_drone_that_is_started_meanwhile(hive):
    """A package has what was finished when its making began, though the crawl goes on, and more is
    finished.
    """
    path = files(hive / "drone-0")[0]
    path.unlink()
    before = [path.name for drone in range(2) for path in files(hive / f"drone-{drone}")]
    work = pack(hive, hive / "hive.wacz", NOW, Counter())
    assert next(work) == f"drone-0/warc/{path.name}: left out, because it is no longer here"

    archive = Archive(hive / "drone-1")
    archive.write(exchange("http://d1.test/later"))
    archive.stop()
    assert [*work] == []

    with zipfile.ZipFile(hive / "hive.wacz") as package:
        assert sorted(
            Path(name).name for name in package.namelist() if name.startswith("archive/")
        ) == sorted(before)


def test_a_damaged_hive_file(hive):
    """One line, and no package."""
    (hive / "hive.json").write_text("[]")
    done = command("scrapy", "export", "wacz", hive)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{hive}/hive.json: damaged at byte 0: not a mapping\n"
