"""seeds/top1m.csv is downloaded when it is named and missing; the servers here are on loopback."""

import gzip
import io
import socket
import zipfile
from contextlib import contextmanager

import pytest

from tests.support.crawling import Crawl
from tests.support.plain_site import Site, serving
from webcrawl.urls.seeds.top1m import CannotProvide, provide

ROWS = b"".join(b"%d,site%d.test\r\n" % (rank, rank) for rank in range(1, 5001))
HINT = "; put a list there, or try the crawler without a network: scrapy demo"


def zipped(content=ROWS, names=("top-1m.csv",)):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


@contextmanager
def served(body, *, status=200, missing=0):
    """The address of a server with this answer, of which the last `missing` bytes are never sent."""

    class Handler(Site):
        def answer(self):
            self.say(status, body[: len(body) - missing], length=len(body))
            self.close_connection = True

    with serving(Handler) as address:
        yield f"{address}/top-1m.csv.zip"


@pytest.fixture(name="path")
def _path(tmp_path):
    return tmp_path / "seeds" / "top1m.csv"


def files(path):
    return sorted(file.name for file in path.parent.iterdir()) if path.parent.exists() else []


class TestGood:
    @pytest.mark.parametrize(
        "body", [zipped(), gzip.compress(ROWS), ROWS], ids=["zip", "gzip", "plain"]
    )
    def test_it_is_moved_into_place_whole(self, path, body):
        """The list ends up unpacked under the name given, and nothing else is left."""
        with served(body) as url:
            provide(f"other.txt, {path}", url)

        assert path.read_bytes() == ROWS
        assert files(path) == ["top1m.csv"]

    def test_one_that_is_there_is_left_alone(self, path):
        """An existing list is not downloaded again."""
        path.parent.mkdir()
        path.write_bytes(b"1,mine.test\n")

        provide(str(path), "http://127.0.0.1:9/")

        assert path.read_bytes() == b"1,mine.test\n"

    def test_other_lists_are_not_fetched(self, tmp_path):
        """Only this name is downloaded: any other missing list is an error."""
        provide(f"{tmp_path}/seeds/top2m.csv,{tmp_path}/top1m.csv", "http://127.0.0.1:9/")

        assert list(tmp_path.iterdir()) == []

    def test_a_crawl_begins_with_it(self, tmp_path, path, simweb):
        """A crawl that names the missing list takes its seeds from it."""
        server = simweb(3, 6)
        rows = "".join(f"{rank},{url[7:-1]}\n" for rank, url in enumerate(server.world.seeds(), 1))
        with served(zipped(rows.encode())) as url:
            settings = {"DNS_NAMESERVERS": server.nameserver, "TOP1M_URL": url}
            crawl = Crawl(tmp_path / "job", {"seeds": path, "limit": 2}, settings)
            assert crawl.run() == 0

        assert (crawl.stats["seeds"], crawl.stats["reason"]) == (2, "finished")
        assert "\x1b" not in crawl.output.read_text()


class TestBad:
    @pytest.mark.parametrize(
        ("body", "options", "why"),
        [
            (zipped(), {"missing": 100}, "cannot be downloaded: URL: ended after "),
            (b"not here", {"status": 404}, "cannot be downloaded: URL: HTTP Error 404: Not Found"),
            (
                b"<html><p>Welcome\n",
                {},
                "URL is not a list of rank,domain (line 1: b'<html><p>Welcome\\n')",
            ),
            (
                zipped(b"1,a.test\n2 b.test\n"),
                {},
                "URL is not a list of rank,domain (line 2: b'2 b.test\\n')",
            ),
            (b"1,a.test\n2" + b"2" * 5000, {}, "URL is not a list of rank,domain (line 2: "),
            (b"", {}, "URL is empty"),
            (zipped()[:-50], {}, "URL cannot be unpacked (File is not a zip file)"),
            (gzip.compress(ROWS)[:-50], {}, "URL cannot be unpacked ("),
            (zipped(names=("a.csv", "b.csv")), {}, "URL holds 2 files instead of one"),
        ],
        ids=["truncated", "404", "html", "row", "line", "empty", "zip", "gzip", "files"],
    )
    def test_what_is_no_list(self, path, body, options, why):
        """A download that is truncated, missing, empty or not a list is reported in one line, and
        leaves nothing behind.
        """
        with served(body, **options) as url, pytest.raises(CannotProvide) as told:
            provide(str(path), url)

        assert str(told.value).startswith(f"{path} is missing, and {why}".replace("URL", url))
        assert str(told.value).endswith(HINT)
        assert "\n" not in str(told.value)
        assert files(path) == []

    @pytest.mark.parametrize(
        "url", ["http://127.0.0.1:{}/", "nonsense", "http://[bad/", "http://127.0.0.1:{}x/"]
    )
    def test_an_address_that_gives_nothing(self, path, url):
        """A server that refuses and an invalid address are reported."""
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))  # and not listening
            with pytest.raises(CannotProvide, match="is missing, and cannot be downloaded: "):
                provide(str(path), url.format(bound.getsockname()[1]))

        assert files(path) == []

    def test_a_list_that_unpacks_to_too_much_is_left(self, path, monkeypatch):
        """A file that unpacks to more than any list has is not unpacked to its end."""
        monkeypatch.setattr("webcrawl.urls.seeds.top1m.MOST", 1 << 20)
        with (
            served(zipped(bytes(50 << 20))) as url,
            pytest.raises(CannotProvide, match="is larger than 1048576 bytes"),
        ):
            provide(str(path), url)

        assert files(path) == []

    def test_a_folder_that_takes_nothing(self, tmp_path):
        """A list that cannot be written is reported with the reason."""
        (tmp_path / "seeds").touch()
        with (
            served(ROWS) as url,
            pytest.raises(CannotProvide, match=r"seeds/top1m.csv: cannot be written \("),
        ):
            provide(str(tmp_path / "seeds" / "top1m.csv"), url)

    def test_the_command_says_it_in_one_line(self, tmp_path, path):
        """Without a network the command prints one line that names scrapy demo, with exit status 1."""
        crawl = Crawl(
            tmp_path / "job", {"seeds": path}, {"TOP1M_URL": "http://127.0.0.1:9/top-1m.csv.zip"}
        )

        assert crawl.run() == 1
        (line,) = crawl.output.read_text().splitlines()
        assert line.startswith(
            f"{path} is missing, and cannot be downloaded: http://127.0.0.1:9/top-1m.csv.zip: "
        )
        assert line.endswith(HINT)
