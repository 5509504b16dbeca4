"""Reading can be resumed, reads no further than needed, and takes little memory."""

import json
import tracemalloc
from contextlib import closing
from unittest import mock

import pytest

from tests.support.examples import in_campaign
from tests.support.seedlists import after, read, write
from webcrawl.urls.seeds import Seed, SeedError, Seeds, seed_source


class TestResuming:
    def test_the_position_is_small(self, tmp_path):
        """A position is one line of JSON."""
        path = write(tmp_path / "s.txt", b"a.example\n" * 10_000)

        position = after(9_000, path)

        assert json.loads(position)["place"]["line"] == 9_000
        assert len(position) < 400

    def test_lines_added_later_are_found(self, tmp_path):
        """Lines added to the last list after it was read are read by the next run."""
        path = write(tmp_path / "s.txt", b"a.example\nb.example\n")
        position = after(2, path)
        with path.open("ab") as file:
            file.write(b"c.example\n")

        assert [Seed("http://c.example/", 3)] == read(path, position=position)

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param(b"a.example\n", id="shrunk"),
            pytest.param(b"x.example\nb.example\nc.example\n", id="another beginning"),
            pytest.param(b"a.example\nbb.example\nc.example\n", id="another last line"),
            pytest.param(b"a.example\nb.example.org\n", id="a last line continued"),
        ],
    )
    @pytest.mark.parametrize("packing", ["", ".gz", ".zip"])
    def test_a_changed_list_is_read_again(self, tmp_path, changed, packing, caplog):
        """If the part that was read has changed, the list is read again from the beginning, with a
        warning.
        """
        path = write(tmp_path / f"s.txt{packing}", b"a.example\nb.example")
        position = after(2, path)
        write(path, changed)

        assert read(path) == read(path, position=position)
        assert [
            f"{path}: changed since it was last read; reading it again from the beginning"
        ] == caplog.messages

    def test_a_change_far_behind_the_first_block_is_seen(self, tmp_path):
        """The last line read is compared too, so removing a line in the middle does not split
        another one.
        """
        lines = [b"%05d.example\n" % n for n in range(9_000)]
        path = write(tmp_path / "s.txt", b"".join(lines))
        position = after(9_000, path)
        write(path, b"".join(lines[:7000] + lines[7001:]))

        assert len(read(path, position=position)) == 8_999

    def test_other_lists_are_read_from_the_beginning(self, tmp_path):
        """A position in other lists than those named now is ignored."""
        one, two = (
            write(tmp_path / "1.txt", b"a.example\n"),
            write(tmp_path / "2.txt", b"b.example\nc.example\n"),
        )

        assert len(read(one, two, position=after(1, two))) == 3

    @pytest.mark.parametrize(
        "position", [b"", b"\xff", b"[]", b"{}", b'{"place": {}}', b'{"src": 1, "place": {"x": 1}}']
    )
    def test_an_invalid_position_is_an_error(self, tmp_path, position):
        """Bytes that are not a position raise one clear line."""
        path = write(tmp_path / "s.txt", b"a.example\n")

        with (
            closing(Seeds(str(path))) as seeds,
            pytest.raises(SeedError, match="position in the seeds is unreadable"),
        ):
            seeds.resume(position)


class TestLimit:
    def test_the_first_seeds_are_taken(self, tmp_path):
        """`limit` takes the first N seeds of all lists; bad lines do not count."""
        one, two = (
            write(tmp_path / "1.txt", b"a.example\nno url\n"),
            write(tmp_path / "2.txt", b"b.example\nc.example\n"),
        )

        assert [seed.url for seed in read(one, two, limit=2)] == [
            "http://a.example/",
            "http://b.example/",
        ]

    def test_the_limit_counts_all_runs(self, tmp_path):
        """After a resume, seeds taken by earlier runs count."""
        path = write(tmp_path / "s.txt", b"a.example\nb.example\nc.example\n")

        assert [Seed("http://b.example/", 2)] == read(
            path, limit=2, position=after(1, path, limit=2)
        )
        assert read(path, limit=2, position=after(3, path)) == []

    def test_a_list_may_be_bad_beyond_the_limit(self, tmp_path):
        """Nothing is read beyond the limit."""
        path = write(tmp_path / "s.txt", b"a.example\n" + b"no url\n" * 9)

        with closing(Seeds(str(path), limit=1)) as seeds:
            list(seeds)

        assert seeds.bad == 0


class TestLaziness:
    def test_the_first_seed_needs_one_block(self, tmp_path):
        """The first seed of a long list takes two blocks: one that the constructor checks, and one
        that is read.
        """
        path = write(
            tmp_path / "s.csv", b"".join(b"%d,site%d.example\n" % (n, n) for n in range(50_000))
        )
        given = []

        def counted(*arguments):
            for block in blocks(*arguments):
                given.append(len(block))
                yield block

        blocks = seed_source._blocks
        with mock.patch.object(seed_source, "_blocks", counted), closing(Seeds(str(path))) as seeds:
            next(seeds)

        assert given == [seed_source.BLOCK, seed_source.BLOCK]

    @pytest.mark.parametrize("packing", [*in_campaign("", ".gz"), ".zip"])
    def test_memory_does_not_grow_with_the_list(self, tmp_path, packing):
        """Reading or resuming a list of any length takes less than two mebibytes, Python's own
        buffers included.
        """
        data = b"".join(b"%d,site%d.example\n" % (n, n) for n in range(200_000))
        path = write(tmp_path / f"s.csv{packing}", data)
        far = data.index(b"199000,")

        tracemalloc.start()
        try:
            with closing(Seeds(str(path))) as seeds:
                for _ in range(10_000):
                    next(seeds)
                list(seed_source.SeedFile(str(path)).blocks(far))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

        assert peak < 2 << 20
