"""Addresses of stores, and what fsspec reaches: folders, and others."""

import logging
import os
import sys

import pytest

from webcrawl.crawl.checks import SettingError
from webcrawl.crawl.checks.check import read
from webcrawl.record.objectstore.store_folder import (
    BadAddress,
    StoreFolder,
    address_below,
    read_address,
)
from webcrawl.record.objectstore.upload import FileChecksums, upload
from webcrawl.store.disk import Disk

NAME = "warc/a.warc.gz"


class TestAddresses:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("s3://bucket", "s3://bucket"),
            ("s3://bucket/crawls/one/", "s3://bucket/crawls/one"),
            ("file:///mnt/archive", "file:///mnt/archive"),
            ("sftp://user@host/archive", "sftp://user@host/archive"),
        ],
    )
    def test_what_an_address_is(self, text, address):
        """A scheme and what follows it; a slash at the end makes no difference."""
        assert read_address(text) == address

    @pytest.mark.parametrize(
        "text",
        [
            "bucket",
            "/mnt/archive",
            "s3:/bucket",
            "s3://",
            "file://mnt/archive",
            "s3://a b",
            "s3://a/../b",
            "memory://a",
        ],
    )
    def test_what_it_is_not(self, text):
        """A path alone is none, for it may be meant as a bucket; nor is what leads out, or ends
        with us.
        """
        with pytest.raises(BadAddress):
            read_address(text)

    @pytest.mark.parametrize(
        "text",
        [
            "ftp://user:hunter2@127.0.0.1/x",
            "s3://key:hunter2@bucket",
            "s3://bucket/x?secret=hunter2",
            "s3://b#hunter2",
        ],
    )
    def test_credentials_are_refused_and_not_shown(self, text):
        """The line that refuses the setting goes to logs and screens."""
        with pytest.raises(SettingError) as raised:
            read("OUTPUT_STORE", text)

        assert "hunter2" not in str(raised.value)
        assert "into the environment" in str(raised.value)

    @pytest.mark.parametrize("text", [None, "", "none", " None "])
    def test_without_an_address_nothing_is_stored(self, text):
        """Without an address nothing is stored."""
        assert read("OUTPUT_STORE", text) is None

    def test_a_missing_package_is_named(self, monkeypatch):
        """In the line that refuses the setting, with what to install."""
        monkeypatch.setattr("webcrawl.record.objectstore.store_folder.find_spec", lambda _: None)
        with pytest.raises(
            SettingError,
            match=r"fsspec is not installed: pip install 'fsspec>=2025.3' 's3fs>=2025.3'",
        ):
            read("OUTPUT_STORE", "s3://bucket")

    def test_folders_below(self):
        """Each drone of a hive has its own."""
        assert address_below("s3://bucket", "drone-3") == "s3://bucket/drone-3"


class TestFolder:
    @pytest.fixture(name="place")
    def _place(self, tmp_path):
        return StoreFolder(f"file://{tmp_path}")

    def test_a_file_there_and_back(self, place, tmp_path):
        """A folder is a store as others are: sent, read back, removed."""
        place.check()
        place.put(NAME, 6, iter([b"one", b"two"]), new=True)

        assert (tmp_path / NAME).read_bytes() == b"onetwo"
        assert (place.size(NAME), [*place.read(NAME)], place.etag(NAME)) == (6, [b"onetwo"], "")
        place.remove(NAME)
        assert place.size(NAME) is None

    def test_whatever_fails_leaves_no_half_file(self, place, tmp_path):
        """An upload that is given up leaves nothing under the file's name, and the next one
        succeeds.
        """

        def pieces():
            yield b"rec"
            raise OSError("no more")

        with pytest.raises(OSError, match="no more"):
            place.put(NAME, 6, pieces(), new=True)
        assert place.size(NAME) is None
        place.put(NAME, 6, iter([b"record"]), new=True)

        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.warc.gz"]

    def test_a_file_is_on_the_disk_before_it_counts(self, place, monkeypatch):
        """The file in JOBDIR may be removed after it: a power cut must not take both."""
        synced = []
        monkeypatch.setattr(Disk, "sync", lambda _, fd: synced.append(os.fstat(fd).st_size))
        place.put(NAME, 6, iter([b"record"]), new=True)

        assert synced == [6]

    def test_a_file_that_is_there_is_not_replaced(self, place, tmp_path):
        """Another crawl with the same address has written it since its absence was looked at."""
        (tmp_path / "warc").mkdir()
        (tmp_path / NAME).write_bytes(b"another's")

        with pytest.raises(FileExistsError):
            place.put(NAME, 6, iter([b"record"]), new=True)
        assert (tmp_path / NAME).read_bytes() == b"another's"

    def test_the_folder_is_not_created(self, tmp_path):
        """A disk that is not mounted is away; it must not be taken for an empty one."""
        place = StoreFolder(f"file://{tmp_path}/mnt")
        for call in (
            place.check,
            lambda: place.size(NAME),
            lambda: place.put(NAME, 0, iter(()), new=True),
            lambda: place.remove(NAME),
        ):
            with pytest.raises(FileNotFoundError, match="create it first"):
                call()
        assert not (tmp_path / "mnt").exists()

    def test_the_folder_of_a_drone_is_created(self, tmp_path):
        """In that of the hive, which must exist."""
        place = StoreFolder(f"file://{tmp_path}/drone-3")
        place.check()
        assert place.size(NAME) is None
        place.put(NAME, 6, iter([b"record"]), new=True)

        assert (tmp_path / "drone-3" / NAME).read_bytes() == b"record"
        with pytest.raises(FileNotFoundError, match="create it first"):
            StoreFolder(f"file://{tmp_path}/mnt/drone-3").check()


class TestRemote:
    @pytest.fixture(name="place")
    def _place(self):
        fsspec = pytest.importorskip("fsspec")
        yield StoreFolder("memory://store/crawl")
        fsspec.filesystem("memory").store.clear()

    def test_a_file_there_and_back(self, place, tmp_path):
        """Through fsspec: sent, verified, found again, removed."""
        path, begun = tmp_path / "a", set()
        path.write_bytes(b"record" * 1000)
        place.check()
        assert place.size(NAME) is None
        sums, by = upload(place, path, NAME, None, begun, lambda: None)

        assert (sums.length, by, place.size(NAME)) == (6000, "read back", 6000)
        assert upload(place, path, NAME, sums.crc, set(), lambda: None)[0].sha256 == sums.sha256
        place.remove(NAME)
        place.remove(NAME)
        assert place.size(NAME) is None

    def test_an_upload_that_ends_early_is_discarded(self, place, monkeypatch):
        """Closing such a file would complete it: a part of the file under its whole name."""
        told = []

        class Buffered:
            closed = False

            def write(self, data):
                told.append(data)

            def close(self):
                told.append("closed")

            def discard(self):
                told.append("discarded")

        monkeypatch.setattr(place._fs, "open", lambda *_, **__: Buffered())

        def pieces():
            yield b"one"
            raise OSError("no more")

        with pytest.raises(OSError, match="no more"):
            place.put(NAME, 6, pieces(), new=True)
        assert told == [b"one", "discarded"]

    def test_s3_is_asked_not_to_replace(self, place, monkeypatch):
        """Of two crawls with the same address, the one that comes second learns of it, and the file
        stays as it is.
        """
        monkeypatch.setattr(place, "_is_exclusive", True)
        place.put(NAME, 9, iter([b"another's"]), new=True)
        with pytest.raises(FileExistsError):
            place.put(NAME, 6, iter([b"record"]), new=True)

        assert b"".join(place.read(NAME)) == b"another's"

    def test_its_packages_say_little(self, place):
        """At DEBUG they would log requests with their signatures."""
        assert logging.getLogger("botocore").level == logging.WARNING

    def test_an_unknown_scheme_is_refused(self):
        """Before the crawl starts."""
        pytest.importorskip("fsspec")
        with pytest.raises(SettingError, match="is not known to fsspec"):
            read("OUTPUT_STORE", "nosuch://store")

    def test_the_package_of_a_scheme_is_named(self, monkeypatch):
        """The package fsspec alone does not reach S3."""
        pytest.importorskip("fsspec")
        monkeypatch.setitem(sys.modules, "s3fs", None)
        with pytest.raises(SettingError, match=r"pip install 'fsspec>=2025.3' 's3fs>=2025.3'"):
            read("OUTPUT_STORE", "s3://bucket")


def test_etags():
    """S3's of one piece, and of several: the MD5 of their MD5s, and how many there were."""
    sums = FileChecksums()
    sums.add(b"one")
    assert "f97c5d29941bfb1b2fdab0874906ab82" in sums.etags
    sums.add(b"two")

    assert {etag.partition("-")[2] for etag in sums.etags} == {"", "2"}
