"""Files of Scrapy's media pipelines, when the crawl is killed or the disk is full meanwhile."""

import json
import signal
from hashlib import md5

import pytest

from tests.support.crawling import Crawl
from tests.support.media_spider import Torn
from tests.support.plain_site import Site, serving

SPIDERS = "tests.support.media_spider"
LARGE = b"large" * Torn.most_bytes


class Large(Site):
    """A page, and a file that is larger than the first run can write."""

    def answer(self):
        body = LARGE if self.path == "/large" else b"<title>page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(name="crawl_of")
def _crawl_of(tmp_path):
    """A crawl of that site by one of the spiders, with one of the pipelines."""
    with serving(Large) as here:

        def crawl_of(spider, pipeline):
            settings = {
                "SPIDER_MODULES": SPIDERS,
                "ROBOTSTXT_OBEY": False,
                "ITEM_PIPELINES": json.dumps({pipeline: 1, f"{SPIDERS}.Noting": 9}),
                "FILES_STORE": tmp_path / "files",
                "DOWNLOAD_TRUNCATE": 2 * len(LARGE),
                "DOWNLOAD_TIMEOUT": 60,
            }
            arguments = {"here": here, "notes": tmp_path / "notes"}
            return Crawl(tmp_path / "job", arguments, settings, spider)

        yield crawl_of


def check_delivered(folder):
    """Assert that the last item has the file, newly downloaded, and that the file is whole."""
    *_, (item,) = map(json.loads, (folder / "notes").read_text().splitlines())
    (file,) = item["files"]
    assert (file["status"], file["checksum"]) == ("downloaded", md5(LARGE).hexdigest())  # noqa: S324 - Scrapy's
    assert (folder / "files" / file["path"]).read_bytes() == LARGE


def test_a_file_is_whole_or_absent(tmp_path, crawl_of):
    """If a run is killed in the middle of a file, the next run downloads the file again, and does
    not deliver the piece.
    """
    crawl = crawl_of("torn", "scrapy.pipelines.files.FilesPipeline")

    assert crawl.run() == -signal.SIGXFSZ
    assert crawl.run() == 0, crawl.output.read_text()
    check_delivered(tmp_path)


def test_a_full_disk_costs_no_item_its_file(tmp_path, crawl_of):
    """If a file cannot be written because the disk is full, the crawl ends with status 1 and names
    the file; the next run delivers the item with it.
    """
    crawl = crawl_of("single", f"{SPIDERS}.FullAtFirst")

    assert crawl.run() == 1
    assert f"No space left on device: '{tmp_path}/files/full/file'" in crawl.output.read_text()
    assert crawl.run() == 0, crawl.output.read_text()
    check_delivered(tmp_path)
