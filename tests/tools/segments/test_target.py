"""Where `scrapy segments build -o` may put the segment."""

import os
import stat

from tests.support.commands import command
from tests.tools.segments.crawls import crawled, urls_of

A, B = "http://a.test/", "http://b.test/"


def test_no_file_takes_the_place_of_a_device(tmp_path):
    """It is refused before anything is built: a file is put in place by its name, and the pipe would be gone."""
    crawl, pipe = crawled(tmp_path / "job", asked=[A], found=[[B]]), tmp_path / "pipe"
    os.mkfifo(pipe)

    done = command("scrapy", "segments", "build", crawl, "-o", pipe)

    assert (done.returncode, done.stderr) == (1, f"-o {pipe}: is no file\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not (crawl / "segments").exists()


def test_a_link_stays_one(tmp_path):
    """The file that it names becomes the segment."""
    crawl, link = crawled(tmp_path / "job", asked=[A], found=[[B]]), tmp_path / "segment.csv"
    (tmp_path / "other").mkdir()
    link.symlink_to(tmp_path / "other/segment.csv")

    assert command("scrapy", "segments", "build", crawl, "-o", link).returncode == 0

    assert link.is_symlink()
    assert urls_of(tmp_path / "other/segment.csv") == [B]
