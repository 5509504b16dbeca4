"""Seeds that a client names or pipes in, as the crawl can open them."""

import io

import pytest

from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.seed_sources import forget, named, spooled
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR


class Broken(io.BytesIO):
    def read(self, size=-1):
        raise OSError(5, "Input/output error")


class TestNamed:
    def test_whole_paths(self, tmp_path, monkeypatch):
        """A file is named by its whole path, for the crawl runs in another folder; a URL stays as it is."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.txt").write_text("http://a.test/\n")

        assert named("a.txt, http://b.test/x") == f"{tmp_path}/a.txt,http://b.test/x"

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("missing.txt", "missing.txt: No such file"),
            ("example.com", "a host needs its scheme: http://example.com"),
            ("http://", "http://"),
            (",", "names no list of seeds"),
        ],
    )
    def test_what_is_no_list_of_seeds_is_refused_at_once(self, source, why):
        """What is no list of seeds is refused before the crawl hears of it."""
        with pytest.raises(CommandError, match=why):
            named(source)


class TestSpooled:
    def test_whole(self, tmp_path):
        """All of the stream is in a file of the crawl's folder, known by its place below that; it can be forgotten."""
        name = spooled(tmp_path, io.BytesIO(b"http://a.test/\n" * 10_000))
        (path,) = (tmp_path / "seeds").iterdir()

        assert name == f"{BELOW_JOBDIR}seeds/{path.name}"
        assert path.read_bytes() == b"http://a.test/\n" * 10_000
        forget(tmp_path, name)
        assert [*(tmp_path / "seeds").iterdir()] == []

    @pytest.mark.parametrize(("stream", "why"), [(io.BytesIO(), "no seeds"), (Broken(), "Input/output error")])
    def test_nothing_is_left(self, tmp_path, stream, why):
        """Nothing, and a stream that breaks, leave no file."""
        with pytest.raises(CommandError, match=why):
            spooled(tmp_path, stream)

        assert [*(tmp_path / "seeds").iterdir()] == []

    def test_no_link_is_followed(self, tmp_path):
        """Whoever may write to JOBDIR does not lead an operator with more rights elsewhere."""
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "job").mkdir()
        (tmp_path / "job/seeds").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(CommandError, match="seeds: "):
            spooled(tmp_path / "job", io.BytesIO(b"x"))

        assert [*(tmp_path / "elsewhere").iterdir()] == []
