"""Lists that cannot be read raise one clear line each."""

import errno
import gzip
import os
import random
import re
import struct
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.seedlists import write
from webcrawl.urls.seeds import SeedError, Seeds
from webcrawl.urls.seeds.seed_source import BLOCK, SeedFile

LONG = b"".join(b"%d,site%d.example\n" % (n, n * 7919) for n in range(20_000))


def complaint(path) -> str:
    """The error for a list that cannot be opened."""
    with pytest.raises(SeedError) as error:
        Seeds(str(path))
    return str(error.value)


def encrypted(path) -> None:
    """A zip whose flags say that its file is encrypted, in the local and in the central header."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("s.txt", b"a.example\n")
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        struct.pack_into("<H", data, data.index(magic) + at, 1)
    path.write_bytes(data)


class TestBeforeTheFirstRequest:
    def test_a_missing_list(self, tmp_path):
        """A missing list is reported by its path, whatever its position among the others."""
        here, missing = write(tmp_path / "1.txt", b"a.example\n"), tmp_path / "2.txt"

        assert complaint(f"{here},{missing}") == f"{missing}: No such file or directory"

    def test_an_impossible_path(self):
        """A path with a NUL is reported like a missing one."""
        # Python's words, by version
        assert re.fullmatch("s\0.txt: .*embedded null .*", complaint("s\0.txt"))

    @pytest.mark.parametrize("src", ["", " ", ",", " , "])
    def test_no_list(self, src):
        """SRC without a path is an error."""
        assert complaint(src) == f"{src!r} does not name a list of seeds"

    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_limit_below_one(self, tmp_path, limit):
        """A limit below 1 is an error."""
        path = write(tmp_path / "s.txt", b"a.example\n")

        with pytest.raises(SeedError, match=f"limit {limit}: must be a whole number from 1"):
            Seeds(str(path), limit)

    def test_a_directory(self, tmp_path):
        """A directory is not a list, whatever its name."""
        path = tmp_path / "s.csv"
        path.mkdir()

        assert complaint(path) == f"{path}: is a directory"

    def test_a_pipe(self, tmp_path):
        """A pipe is rejected without being opened: reading it could not be resumed."""
        path = tmp_path / "s.txt"
        os.mkfifo(path)

        assert complaint(path) == f"{path}: is not a regular file"

    @pytest.mark.skipif(os.geteuid() == 0, reason="everything is readable to root")
    def test_an_unreadable_list(self, tmp_path):
        """A list without read permission is an error."""
        path = write(tmp_path / "s.txt", b"a.example\n")
        path.chmod(0)

        assert complaint(path) == f"{path}: Permission denied"

    @pytest.mark.parametrize("name", ["s.xml", "s", "s.gz", "s.xml.gz", "s.txt.bz2"])
    def test_a_kind_that_is_not_known(self, tmp_path, name):
        """A name that ends in neither .csv nor .txt is an error."""
        path = write(tmp_path / name, b"a.example\n")

        assert (
            complaint(path)
            == f"{path}: must end in .csv or .txt, optionally followed by .gz or .zip"
        )

    @pytest.mark.parametrize("name", ["s.txt", "s.csv", "s.txt.gz", "s.csv.zip"])
    @pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\xff\xfe"])
    def test_an_empty_list(self, tmp_path, name, data):
        """A list without a byte, or with a byte order mark alone, is an error."""
        path = write(tmp_path / name, data)

        assert complaint(path) == f"{path}: is empty"

    def test_an_empty_file_is_no_zip(self, tmp_path):
        """A packed list of zero bytes is an error."""
        path = tmp_path / "s.csv.zip"
        path.touch()

        assert complaint(path) == f"{path}: File is not a zip file"

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(random.Random(1).randbytes(100_000), id="random"),
            pytest.param(b"\x00" * 100_000, id="zeros"),
            pytest.param(gzip.compress(LONG), id="gzip without its name"),
            pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", id="png"),
            pytest.param("a.example\nb.example\n".encode("utf-16-le"), id="utf-16 without a mark"),
        ],
    )
    @pytest.mark.parametrize("name", ["s.txt", "s.csv", "s.txt.gz"])
    def test_a_binary_list(self, tmp_path, name, data):
        """A list with control characters in most of its first lines is rejected at once."""
        path = write(tmp_path / name, data)

        assert complaint(path) == f"{path}: is binary; a list of seeds must be text"

    def test_no_gzip(self, tmp_path):
        """A file with gzip's name and other content is an error that quotes nothing of it."""
        path = tmp_path / "s.txt.gz"
        path.write_bytes(b"a.example\n")

        assert complaint(path) == f"{path}: is damaged, or is not compressed as its name says"

    @pytest.mark.parametrize("names", [[], ["1.txt", "2.txt"]])
    def test_a_zip_of_none_or_many(self, tmp_path, names):
        """A zip must hold exactly one file: there is no way to choose among several."""
        path = tmp_path / "s.txt.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, b"a.example\n")

        assert complaint(path) == f"{path}: holds {len(names)} files instead of one"

    def test_a_zip_that_promises_more(self, tmp_path):
        """A zip whose file ends before the length in its directory is an error."""
        path = tmp_path / "s.txt.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("s.txt", b"a.example\n")
        data = bytearray(path.read_bytes())
        struct.pack_into("<II", data, data.index(b"PK\1\2") + 20, 5000, 5000)
        path.write_bytes(data)

        said = (
            "ends in the middle",
            # What its directory says overlaps, which late releases of each Python see
            "is damaged, or is not compressed as its name says",
        )
        assert complaint(path) in [f"{path}: {words}" for words in said]

    def test_an_encrypted_zip(self, tmp_path):
        """An encrypted zip is an error."""
        path = tmp_path / "s.txt.zip"
        encrypted(path)

        assert complaint(path) == f"{path}: is encrypted"

    @pytest.mark.parametrize(
        ("magic", "at", "written", "why"),
        [
            pytest.param(
                b"PK\1\2",
                10,
                b"\x63",
                "That compression method is not supported",
                id="unknown method",
            ),
            pytest.param(b"PK\5\6", 19, b"\xff", "Invalid argument", id="misplaced directory"),
            pytest.param(b"PK\3\4", 45, b"\xff\xff", "Corrupt input data", id="bad lzma"),
        ],
    )
    def test_a_damaged_zip(self, tmp_path, magic, at, written, why):
        """Damage for which the zip reader raises other errors is reported in the same way."""
        path = tmp_path / "s.txt.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("s.txt", b"a.example\n" * 99)
        data = bytearray(path.read_bytes())
        start = data.index(magic) + at
        data[start : start + len(written)] = written
        path.write_bytes(data)

        assert complaint(path).startswith(f"{path}: {why}")

    @settings(deadline=None)
    @given(st.sampled_from([".gz", ".zip"]), st.binary(max_size=4), st.integers(0), st.booleans())
    def test_damage_is_one_line(self, tmp_path_factory, packing, written, place, ends_there):
        """Changing or cutting off any bytes of a packed list raises SeedError with one line, or
        nothing.
        """
        path = write(tmp_path_factory.getbasetemp() / f"damaged.csv{packing}", LONG[:3000])
        data = path.read_bytes()
        place %= len(data)
        path.write_bytes(
            data[:place] + written + (b"" if ends_there else data[place + len(written) :])
        )

        said = f"{path}: nothing"
        try:
            with closing(Seeds(str(path))) as seeds:
                list(seeds)
        except SeedError as error:
            said = str(error)

        assert said.startswith(f"{path}: ")
        assert "\n" not in said


class TestOnTheWay:
    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (
                b"# all\n" + b"no url\n" * 3,
                "bad lines: 3; line 2 contains a space or a control character",
            ),
            (b"m\xfcnchen.example\n", "bad lines: 1; line 1 is not UTF-8"),
            (b"# a.example\n\n", "only blank lines, comments and headers"),
        ],
    )
    def test_a_list_without_a_seed(self, tmp_path, data, why):
        """A list without a seed raises at its end, and says what is wrong with the first bad line."""
        path = write(tmp_path / "s.txt", data)

        with closing(Seeds(str(path))) as seeds, pytest.raises(SeedError) as error:
            next(seeds)

        assert str(error.value) == f"{path}: contains no seed ({why})"

    @pytest.mark.parametrize("wrong", ["truncated", "damaged"])
    @pytest.mark.parametrize("packing", [".gz", ".zip"])
    def test_a_broken_list_gives_what_it_can(self, tmp_path, packing, wrong):
        """A list damaged in the middle gives its seeds up to there, SeedError, then the next list's
        seeds.

        The next run comes back to the damage, which may be mended.
        """
        path = write(tmp_path / f"1.csv{packing}", LONG)
        after = write(tmp_path / "2.txt", b"a.example\n")
        data = bytearray(path.read_bytes())
        if wrong == "truncated" and packing == ".gz":
            del data[-5000:]
        else:  # a zip that is truncated cannot be opened at all: its directory is at the end
            data[len(data) * 3 // 4] ^= 255
        path.write_bytes(data)

        with closing(Seeds(f"{path},{after}")) as seeds:
            with pytest.raises(SeedError, match=str(path)):
                list(seeds)
            broken_at = seeds.position
            taken = seeds.taken
            rest = [seed.url for seed in seeds]
            assert seeds.unread == 1
            later = seeds.position
        resumed = []
        with closing(Seeds(f"{path},{after}")) as seeds:
            seeds.resume(broken_at)
            while len(resumed) < 1:  # the error comes now, or came while the place was looked for
                with suppress(SeedError):
                    resumed.append(next(seeds).url)
            assert (seeds.unread, seeds.taken, seeds.position) == (1, taken + 1, later)
        write(path, LONG)
        with closing(Seeds(f"{path},{after}")) as seeds:
            seeds.resume(later)
            mended = [seed.url for seed in seeds]

        assert len(LONG) > BLOCK
        assert 1000 < taken < 20_000
        assert rest == resumed == ["http://a.example/"]
        assert len(mended) >= len(LONG.splitlines()) - taken + 1

    def test_a_list_that_went_away(self, tmp_path):
        """A list that disappears before its turn comes is an error."""
        path = write(tmp_path / "s.txt", b"a.example\n")
        seeds = Seeds(str(path))
        path.unlink()

        with pytest.raises(SeedError, match="No such file or directory"):
            next(seeds)

    def test_a_list_that_comes_back(self, tmp_path):
        """What could not be read of a list is read by the next run, though other lists were read
        meanwhile.
        """
        first, after = (
            write(tmp_path / "1.txt", b"a.example\nb.example\n"),
            write(tmp_path / "2.txt", b"c.example\n"),
        )
        away = tmp_path / "away.txt"
        with closing(Seeds(f"{first},{after}")) as seeds:
            first.rename(away)
            with pytest.raises(SeedError, match=str(first)):
                next(seeds)
            assert [seed.url for seed in seeds] == ["http://c.example/"]
            position = seeds.position
        away.rename(first)
        with closing(Seeds(f"{first},{after}")) as seeds:
            seeds.resume(position)
            assert [seed.url for seed in seeds] == [f"http://{name}.example/" for name in "abc"]

    def test_no_file_stays_open(self, tmp_path):
        """A source that fails to open closes its files; a ResourceWarning would fail this test."""
        path = tmp_path / "s.txt.gz"
        path.write_bytes(gzip.compress(LONG)[:4])

        with pytest.raises(SeedError):
            SeedFile(str(path))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("taken", [0, 2])
def test_reading_continues_where_it_ended(tmp_path, monkeypatch, number, taken):
    """Without a descriptor reading fails with OSError, and when there is one no seed was lost and
    none comes twice.
    """
    names = [f"http://host{number}.test/" for number in range(5)]
    lists = [
        write(tmp_path / f"{at}.txt", "\n".join(names[at:end]).encode())
        for at, end in ((0, 2), (2, 5))
    ]
    failing = False
    opened = Path.open

    def opens(self, *arguments, **options):
        if failing:
            raise OSError(number, os.strerror(number))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    with closing(Seeds(",".join(map(str, lists)))) as seeds:
        found = [next(seeds).url for _ in range(taken)]
        failing = True
        for _ in range(3):
            with pytest.raises(OSError, match=os.strerror(number)):
                next(seeds)
        failing = False

        assert found + [seed.url for seed in seeds] == names
