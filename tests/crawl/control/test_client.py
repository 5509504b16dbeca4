"""Lines of the control socket: whatever they are, they are read or refused."""

import asyncio
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.crawl.control.test_server import connected, serving
from webcrawl.crawl.control.client import LONGEST, Client, answer, read_answer, read_request, refusal, request
from webcrawl.crawl.control.command import CommandError
from webcrawl.crawl.control.commands import checked

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["command", "words"]), inner),
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
        assert len(said) < LONGEST


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
    """Whatever bytes come, in whatever pieces, the next client is answered; the crawl logs no mistake."""

    async def answering(name, words):
        await asyncio.sleep(0)
        return checked(name, *words).usage

    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), answering):

        @given(st.lists(LINES | st.just(b"\n") | st.just(b"x" * LONGEST), max_size=8))
        def send(pieces):
            with connected(Path(folder)) as connection:
                try:
                    for piece in pieces:
                        connection.sendall(piece)
                except OSError:
                    pass  # it has heard enough
            assert Client(Path(folder)).ask("pause")

        send()
