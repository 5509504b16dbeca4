"""Files of Scrapy's media pipelines, when the crawl is killed while one is written."""

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


@pytest.fixture(name="crawl")
def _crawl(tmp_path):
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1, f"{SPIDERS}.Noting": 9}
    settings = {
        "SPIDER_MODULES": SPIDERS,
        "ROBOTSTXT_OBEY": False,
        "ITEM_PIPELINES": json.dumps(pipelines),
        "FILES_STORE": tmp_path / "files",
        "DOWNLOAD_TRUNCATE": 2 * len(LARGE),
        "DOWNLOAD_TIMEOUT": 60,
    }
    with serving(Large) as here:
        arguments = {"here": here, "notes": tmp_path / "notes"}
        yield Crawl(tmp_path / "job", arguments, settings, "torn")


def test_a_file_is_whole_or_absent(tmp_path, crawl):
    """If a run is killed in the middle of a file, the next run downloads the file again, and does
    not deliver the piece.
    """
    assert crawl.run() == -signal.SIGXFSZ
    assert crawl.run() == 0, crawl.output.read_text()

    *_, (item,) = map(json.loads, (tmp_path / "notes").read_text().splitlines())
    (file,) = item["files"]
    assert (file["status"], file["checksum"]) == ("downloaded", md5(LARGE).hexdigest())  # noqa: S324 - Scrapy's
    assert (tmp_path / "files" / file["path"]).read_bytes() == LARGE
