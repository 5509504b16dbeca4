"""Crawls of a gopher server that others wrote."""

import hashlib
from base64 import b32encode
from urllib.parse import quote

import pytest

from tests.support.crawling import Crawl
from tests.support.net_gopher import real

MENU = "text/x-gopher-menu"
TEXT = b"one\n.two\n..three\n.\nfour\n"  # the server neither doubles its dots nor adds a final one
FILES = {
    "plain.txt": ("0", TEXT, "text/plain"),
    "page.html": ("h", b"<title>A page</title><a href='/0/plain.txt'>a text</a>", "text/html"),
    "below/caf\u00e9 #1?.gif": ("g", b"GIF89a\r\n.\r\n" + bytes(range(256)), "image/gif"),
    "below/far/100%.bin": ("9", bytes(70_000), "application/octet-stream"),
    "below/far/empty.txt": ("0", b"", "text/plain"),
}


@pytest.fixture(name="folder")
def _folder(tmp_path):
    root = tmp_path / "root"
    (root / "below/far").mkdir(parents=True)
    (root / "nothing").mkdir()
    return root


class TestPygopherd:
    def test_all_of_it_is_reached(self, tmp_path, folder):
        """Every menu, text, page and file of the tree is found through its menus and equals the
        file, byte for byte.
        """
        for name, (_, data, _) in FILES.items():
            (folder / name).write_bytes(data)
        (folder / ".links").write_text(
            "Name=The web\nType=h\nPath=URL:http://127.9.9.9/\n\nName=Gone\nType=1\nPath=/gone\n\n"
            "Name=Search\nType=7\nPath=/search\n\nName=Old\nType=8\nPath=/\n"
        )
        (tmp_path / "hosts").write_text("127.0.0.4 g.test\n")
        with real(folder, tmp_path, "g.test", "127.0.0.4") as port:
            (tmp_path / "seeds.txt").write_text(f"gopher://g.test:{port}/1\n")
            settings = {"HOSTS_FILE": tmp_path / "hosts", "PORTS_ALLOWED": port}
            crawl = Crawl(tmp_path / "job", {"seeds": tmp_path / "seeds.txt"}, settings)
            assert crawl.run() == 0, crawl.output.read_text()

        rows = [line.split() for line in (crawl.jobdir / "logs/crawl.log").read_text().splitlines()]
        found = {
            row[3].removeprefix(f"gopher://g.test:{port}/"): (int(row[1]), row[6], row[9])
            for row in rows
        }
        menus = {"", "1/below", "1/below/far", "1/nothing"}
        files = {
            f"{kind}/{quote(name)}": (200, mime, data) for name, (kind, data, mime) in FILES.items()
        }
        assert found.keys() == menus | files.keys() | {
            "1/gone",
            "http://127.9.9.9/",
            "http://127.9.9.9/robots.txt",
        }
        assert {name: row[:2] for name, row in found.items() if name in menus} == dict.fromkeys(
            menus, (200, MENU)
        )
        assert found["1/gone"][:2] == (404, MENU)
        assert found["http://127.9.9.9/robots.txt"][0] == -5001
        for name, (status, mime, data) in files.items():
            assert found[name] == (
                status,
                mime,
                f"sha1:{b32encode(hashlib.sha1(data).digest()).decode()}",  # noqa: S324
            ), name
        assert crawl.stats["errors"] == 0
