"""A client of the control socket, and the seeds that it hands over."""

import asyncio
import io
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.crawl.control.test_server import connected, serving
from webcrawl.crawl.control.client import (
    LONGEST_REQUEST,
    Client,
    answer,
    forget_spooled,
    read_answer,
    read_request,
    refusal,
    request,
    source_named,
    spooled,
)
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked
from webcrawl.urls.seeds.seed_source import BELOW_JOBDIR

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["command", "words"]), inner)
    ),
    max_leaves=10,
)
LINES = st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode())


@given(LINES)
@example(b"[" * 60_000)
@example(b'{"a":' * 10_000)
@example(b'{"command": ' + b"1" * 50_000 + b"}")
@example(b'{"command": "\\ud800", "words": ["\\ud800"]}')
@example(b'{"command": "exclude", "words": ["\\u0000"]}')
def test_a_request(line):
    """It is a command and words, or refused; what is refused is one short line."""
    try:
        command, words = read_request(line)
        checked(command, *words)
    except CommandError as error:
        said = refusal(str(error))
        assert said.count(b"\n") == 1
        assert len(said) < LONGEST_REQUEST


@given(LINES)
def test_an_answer(line):
    """It is what was answered, or a CommandError; another program may sit behind the socket."""
    with suppress(CommandError):
        read_answer(line)


@given(st.text(), st.lists(st.text()))
def test_there_and_back(command, words):
    """A request that was written can be read."""
    assert read_request(request(command, tuple(words))) == (command, words)


@given(JSON)
def test_answers_there_and_back(value):
    """So can an answer."""
    assert json.dumps(read_answer(answer(value))) == json.dumps(value)


def test_too_long_an_answer():
    """An answer that no line holds is refused, with its size."""
    with pytest.raises(CommandError, match="the answer has 20000027 bytes"):
        answer("x" * 20_000_000)


def test_bytes_on_the_socket():
    """Whatever bytes come, in whatever pieces, the next client is answered; the crawl logs no
    mistake.
    """

    async def answering(name, words):
        await asyncio.sleep(0)
        return checked(name, *words).usage

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), answering):

        @given(st.lists(LINES | st.just(b"\n") | st.just(b"x" * LONGEST_REQUEST), max_size=8))
        def send(pieces):
            with connected(Path(folder)) as connection:
                try:
                    for piece in pieces:
                        connection.sendall(piece)
                except OSError:
                    pass  # it has heard enough
            assert Client(Path(folder)).ask("pause")

        send()


class Broken(io.BytesIO):
    def read(self, size=-1):
        raise OSError(5, "Input/output error")


class TestNamed:
    def test_whole_paths(self, tmp_path, monkeypatch):
        """A file is named by its whole path, for the crawl runs in another folder; a URL stays as
        it is.
        """
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.txt").write_text("http://a.test/\n")

        assert source_named("a.txt, http://b.test/x") == f"{tmp_path}/a.txt,http://b.test/x"

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("missing.txt", "missing.txt: No such file"),
            ("example.com", "a host needs its scheme: http://example.com"),
            ("http://", "http://"),
            (",", "does not name a list of seeds"),
        ],
    )
    def test_what_is_no_list_of_seeds_is_refused_at_once(self, source, why):
        """What is no list of seeds is refused before the crawl hears of it."""
        with pytest.raises(CommandError, match=why):
            source_named(source)


class TestSpooled:
    def test_whole(self, tmp_path):
        """All of the stream is in a file of the crawl's folder, known by its place below that; it
        can be forgotten.
        """
        name = spooled(tmp_path, io.BytesIO(b"http://a.test/\n" * 10_000))
        (path,) = (tmp_path / "seeds").iterdir()

        assert name == f"{BELOW_JOBDIR}seeds/{path.name}"
        assert path.read_bytes() == b"http://a.test/\n" * 10_000
        forget_spooled(tmp_path, name)
        assert [*(tmp_path / "seeds").iterdir()] == []

    @pytest.mark.parametrize(
        ("stream", "why"), [(io.BytesIO(), "no seeds"), (Broken(), "Input/output error")]
    )
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
