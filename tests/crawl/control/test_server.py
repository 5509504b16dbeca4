"""The socket: who is answered, and what everybody else costs."""

import asyncio
import json
import os
import select
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import uvloop

from tests.support.crawling import wait_until
from webcrawl.base.system import socket_address
from webcrawl.crawl.control import client as asking
from webcrawl.crawl.control import server as module
from webcrawl.crawl.control.client import LONGEST_REQUEST, NAME, Client, folder_of
from webcrawl.crawl.control.command import CommandError, NoAnswer, NotRunning
from webcrawl.crawl.control.server import MOST_CONNECTIONS, ControlServer


async def echo(name, words):
    if name == "refuse":
        raise CommandError("two\nlines")
    if name == "break":
        raise ZeroDivisionError("by nothing")
    if name == "wait":
        await asyncio.sleep(float(words[0]))
    return {"name": name, "words": words}


def is_left(connection):
    """Whether the server has closed this connection, whatever is still to be read from it."""
    poller = select.poll()
    poller.register(connection, select.POLLHUP)
    return bool(poller.poll(0))


@contextmanager
def serving(jobdir, obey=echo, loop_of=uvloop.new_event_loop):
    """A server in a thread."""
    began, found = threading.Event(), []

    async def serve():
        ended = asyncio.Event()
        server = ControlServer(jobdir, obey)
        found.extend((server, asyncio.get_running_loop(), ended))
        server.start()
        began.set()
        await ended.wait()
        server.close()
        await asyncio.sleep(0.01)

    def run():
        with asyncio.Runner(loop_factory=loop_of) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(120)
    try:
        yield found[0]
    finally:
        found[1].call_soon_threadsafe(found[2].set)
        thread.join()


def connected(jobdir):
    connection = socket.socket(socket.AF_UNIX)
    with folder_of(jobdir) as folder, socket_address(folder, NAME) as address:
        connection.connect(address)
    connection.settimeout(20)
    return connection


def flood(connection):
    for _ in range(1000):
        connection.sendall(b"x" * LONGEST_REQUEST)


def said(connection):
    """The next line that comes, or nothing."""
    with connection.makefile("rb") as file:
        return file.readline()


class TestAsking:
    @pytest.mark.parametrize("loop_of", [uvloop.new_event_loop, asyncio.new_event_loop])
    def test_an_answer(self, tmp_path, loop_of):
        """A question gets its answer, whatever the event loop is."""
        with serving(tmp_path, loop_of=loop_of):
            assert Client(tmp_path).ask("a", "b", "ü\n") == {"name": "a", "words": ["b", "ü\n"]}

    def test_line_by_line(self, tmp_path):
        """One connection may ask again, also before it has its answers; they come in order."""
        with serving(tmp_path), connected(tmp_path) as connection:
            connection.sendall(b'{"command": "a"}\n{"command": "b", "words": []}\n{"comm')
            with connection.makefile("rb") as file:
                first, second = file.readline(), file.readline()
                connection.sendall(b'and": "c"}\n')
                third = file.readline()

        assert [json.loads(line)["answer"]["name"] for line in (first, second, third)] == [
            "a",
            "b",
            "c",
        ]

    def test_a_refusal_is_one_line(self, tmp_path):
        """A refusal is one line."""
        with serving(tmp_path), pytest.raises(CommandError) as refusal:
            Client(tmp_path).ask("refuse")

        assert str(refusal.value) == "two lines"

    def test_a_mistake(self, tmp_path, caplog):
        """A command with a mistake in it is answered and logged, without a traceback, and the next
        one is heard.
        """
        with serving(tmp_path):
            with pytest.raises(
                CommandError,
                match=r"^the command failed because of a bug; see the crawl's log: ZeroDivisionError",
            ):
                Client(tmp_path).ask("break")
            assert Client(tmp_path).ask("a")["name"] == "a"

        assert "by nothing" in caplog.text
        assert [record.exc_info for record in caplog.records] == [None]

    def test_patience(self, tmp_path):
        """Who gets no answer in time is told so, and another is answered meanwhile."""
        with serving(tmp_path):
            with pytest.raises(CommandError, match="did not answer within 0 seconds"):
                Client(tmp_path, 0.05).ask("wait", "0.5")
            assert Client(tmp_path).ask("a")["name"] == "a"

    def test_a_loop_that_stands_still(self, tmp_path, monkeypatch):
        """It is told of before one's patience is over, with the process to end; what it was told,
        it does later.
        """
        monkeypatch.setattr(asking, "SILENCE", 0.05)
        monkeypatch.setattr(asking, "ALIVE", 0.05)
        goes_on, told = threading.Event(), []

        async def block(name, words):
            told.append(name)
            return {"went on": goes_on.wait(60)}

        with serving(tmp_path, block):
            with pytest.raises(
                NoAnswer, match=f"process {os.getpid()} has not answered for .* its event loop"
            ):
                Client(tmp_path, 60).ask("stop")
            goes_on.set()
            assert Client(tmp_path).ask("a") == {"went on": True}
        assert told.count("stop") == 1

    def test_an_answer_that_takes_long(self, tmp_path, monkeypatch):
        """It is waited for as long as the crawl says how it is meanwhile."""
        monkeypatch.setattr(asking, "SILENCE", 0.05)
        requested = []

        async def slow(name, words):
            requested.append(name)
            return await echo(name, words)

        with serving(tmp_path, slow):
            assert Client(tmp_path).ask("wait", "0.3")["name"] == "wait"
        assert {*requested} == {"wait", "status"}

    def test_a_crawl_that_ends_meanwhile(self, tmp_path, monkeypatch):
        """Who asked it is told so: nothing stands still there."""
        monkeypatch.setattr(asking, "SILENCE", 0.01)
        heard = threading.Event()

        async def slow(name, words):
            if name == "wait":
                heard.set()
            return await echo(name, words)

        with ThreadPoolExecutor(1) as pool:
            with serving(tmp_path, slow):
                requested = pool.submit(Client(tmp_path, 60).ask, "wait", "60")
                assert heard.wait(60)
            with pytest.raises(
                NoAnswer,
                match="the crawl ended before it answered: see its log, or repeat the command",
            ):
                requested.result()

    def test_too_long(self, tmp_path):
        """A request that no line holds is not sent."""
        with serving(tmp_path), pytest.raises(CommandError, match="longer than"):
            Client(tmp_path).ask("a", "x" * LONGEST_REQUEST)

    def test_an_answer_that_is_none(self, tmp_path):
        """What JSON cannot say is a mistake of the command's."""

        async def strange(*_):
            return {"a": object()}

        with serving(tmp_path, strange), pytest.raises(CommandError, match="because of a bug"):
            Client(tmp_path).ask("a")


class TestPlace:
    def test_a_long_path(self, tmp_path):
        """A folder's path may be longer than a socket's address."""
        folder = tmp_path / ("x" * 100) / ("y" * 100)
        folder.mkdir(parents=True)
        with serving(folder):
            assert Client(folder).ask("a")["name"] == "a"

    def test_nobody(self, tmp_path):
        """Where no crawl is, none runs: in no folder, in an empty one, behind a socket that was
        left.
        """
        with serving(tmp_path):
            os.link(tmp_path / NAME, tmp_path / "left")
        assert not (tmp_path / NAME).exists()
        (tmp_path / "left").rename(tmp_path / NAME)

        for folder in (tmp_path, tmp_path / "missing", tmp_path / NAME):
            with pytest.raises(NotRunning, match="no running crawl accepts commands there"):
                Client(folder).ask("a")

    def test_what_was_left_is_replaced(self, tmp_path):
        """A socket that a killed crawl left is replaced."""
        with serving(tmp_path):
            os.link(tmp_path / NAME, tmp_path / "left")
        (tmp_path / "left").rename(tmp_path / NAME)

        with serving(tmp_path):
            assert Client(tmp_path).ask("a")["name"] == "a"

    @pytest.mark.parametrize("there", ["file", "folder"])
    def test_what_is_no_socket_stays(self, tmp_path, there):
        """A file or folder of that name is nobody's to remove."""
        path = tmp_path / NAME
        path.write_text("mine") if there == "file" else path.mkdir()

        with pytest.raises(FileExistsError, match="a file that is not a socket is in the way"):
            ControlServer(tmp_path, echo)

        assert path.exists()

    def test_a_link_is_not_followed(self, tmp_path):
        """A symbolic link of that name does not lead the crawl elsewhere."""
        (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")

        with pytest.raises(FileExistsError):
            ControlServer(tmp_path, echo)

        assert not (tmp_path / "elsewhere").exists()

    def test_a_folder_that_moves(self, tmp_path):
        """In a folder that is moved the crawl still listens, and takes its file away there."""
        (tmp_path / "old").mkdir()
        with serving(tmp_path / "old"):
            (tmp_path / "old").rename(tmp_path / "new")
            assert Client(tmp_path / "new").ask("a")["name"] == "a"

        assert list((tmp_path / "new").iterdir()) == []

    def test_anothers_file_stays(self, tmp_path):
        """A file that somebody put in the socket's place is not taken away at the end."""
        with serving(tmp_path):
            (tmp_path / NAME).unlink()
            (tmp_path / NAME).write_text("theirs")

        assert (tmp_path / NAME).read_text() == "theirs"


class TestStrangers:
    def test_the_mode_is_never_wider(self, tmp_path, monkeypatch):
        """The file has the mode 0600 when it comes into being, whatever the umask is."""
        before = os.umask(0)
        modes = []

        class Noted(socket.socket):
            def bind(self, place):
                super().bind(place)
                modes.append((tmp_path / NAME).stat().st_mode)

        monkeypatch.setattr(socket, "socket", Noted)
        try:
            with serving(tmp_path):
                mode = (tmp_path / NAME).stat().st_mode
        finally:
            os.umask(before)

        assert {stat.S_IMODE(one) for one in (mode, *modes)} == {0o600}

    def test_a_file_system_without_modes(self, tmp_path, monkeypatch):
        """Where the file gets a wider mode all the same, the crawl does not listen."""
        monkeypatch.setattr(os, "fchmod", lambda *_: None)
        with pytest.raises(
            PermissionError, match="the file system gives other users access to the socket"
        ):
            ControlServer(tmp_path, echo)
        assert not (tmp_path / NAME).exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    @pytest.mark.parametrize("opened", [False, True])
    def test_another_user(self, tmp_path, opened):
        """Another user of the machine cannot connect; nor, if the mode was changed by hand, command
        anything.
        """
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_mode & 0o005 != 0o005 and folder.owner() == "root":
                folder.chmod(folder.stat().st_mode | 0o055)
        with serving(tmp_path):
            if opened:
                (tmp_path / NAME).chmod(0o666)
            answer = as_nobody(lambda: Client(tmp_path).ask("a"))

        assert answer.split(": ")[-1] == "only the user who started a crawl may control it"
        assert ("Permission denied" in answer) != opened


class TestTheCostOfOthers:
    @pytest.mark.parametrize(
        "sent",
        [
            b"\n",
            b"{}\n",
            b"[]\n",
            b"null\n",
            b"\xff\xfe\n",
            b"[" * 60_000 + b"\n",
            b'{"command": ' + b"9" * 10_000 + b"}\n",
            b'{"command": "a", "words": [' + b'"",' * 1000 + b'""]}\n',
            b'{"command": "a", "words": "b"}\n',
            b'{"command": ["a"]}\n',
            b'{"command": "a", "more": 1}\n',
        ],
    )
    def test_other_lines(self, tmp_path, sent):
        """A line that is no request is refused in a short line, and the connection goes on."""
        with serving(tmp_path), connected(tmp_path) as connection:
            connection.sendall(sent)
            refused = said(connection)
            connection.sendall(b'{"command": "a"}\n')
            heard = said(connection)

        assert json.loads(refused)["ok"] is False
        assert len(refused) < 200
        assert json.loads(heard)["ok"] is True

    def test_half_a_line(self, tmp_path):
        """Who goes in the middle of a line is told so; who goes between two is told nothing."""
        with serving(tmp_path):
            for sent, heard in (
                (b"{", f"or has more than {LONGEST_REQUEST} bytes"),
                (b"", ""),
            ):
                with connected(tmp_path) as connection:
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    assert heard in said(connection).decode()

    def test_a_line_without_end(self, tmp_path):
        """Of a line that is too long only the beginning is read; then the connection is closed."""
        with serving(tmp_path), connected(tmp_path) as connection:
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                flood(connection)
            assert Client(tmp_path).ask("a")["name"] == "a"

    def test_silence(self, tmp_path, monkeypatch):
        """Who sends nothing, or no whole line, is left after some seconds."""
        monkeypatch.setattr(module, "SILENCE", 0.05)
        with serving(tmp_path), connected(tmp_path) as silent, connected(tmp_path) as half:
            half.sendall(b'{"command"')
            assert (silent.recv(1), half.recv(1)) == (b"", b"")

    def test_no_wish_for_the_answer(self, tmp_path, monkeypatch):
        """Who takes no answers gets no more of them, and is left."""
        monkeypatch.setattr(module, "SILENCE", 0.05)
        requested = []

        async def long(name, words):
            requested.append(name)
            return "x" * 1_000_000

        with serving(tmp_path, long), connected(tmp_path) as deaf:
            deaf.sendall(b'{"command": "a"}\n' * 1000)
            wait_until(lambda: is_left(deaf))

        assert len(requested) == 1

    def test_gone_in_the_middle(self, tmp_path):
        """Who goes before the answer comes, or in the middle of a line, costs nothing."""
        with serving(tmp_path):
            for sent in (
                b"",
                b'{"comm',
                b'{"command": "wait", "words": ["0.01"]}\n',
                b'{"command": "a"}\n' * 100,
            ):
                with connected(tmp_path) as connection:
                    connection.sendall(sent)
            assert Client(tmp_path).ask("a")["name"] == "a"

    def test_many(self, tmp_path, monkeypatch):
        """Any number of connections may be there: those that are silent make room."""
        monkeypatch.setattr(module, "SILENCE", 3600.0)  # none is left for its silence alone
        with serving(tmp_path):
            kept = [connected(tmp_path) for _ in range(5 * MOST_CONNECTIONS)]
            assert Client(tmp_path).ask("a")["name"] == "a"
            wait_until(lambda: sum(map(is_left, kept)) >= 4 * MOST_CONNECTIONS)
            assert not is_left(kept[-1])
            for connection in kept:
                connection.close()

    def test_many_that_are_busy(self, tmp_path):
        """While so many commands take their time, one more is not taken; afterwards it is."""
        begun, over = [], threading.Event()

        async def long(name, words):
            begun.append(name)
            while name == "long" and not over.is_set():  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(0.01)
            return await echo(name, words)

        with serving(tmp_path, long):
            kept = [connected(tmp_path) for _ in range(MOST_CONNECTIONS)]
            for connection in kept:
                connection.sendall(b'{"command": "long"}\n')
            wait_until(lambda: len(begun) == MOST_CONNECTIONS)
            with pytest.raises(CommandError, match="ended before it answered"):
                Client(tmp_path).ask("a")
            over.set()
            assert all(said(connection) for connection in kept)
            assert Client(tmp_path).ask("a")["name"] == "a"
            for connection in kept:
                connection.close()

    def test_no_descriptor_left(self, tmp_path, monkeypatch):
        """Without a free descriptor a client waits; the crawl is asked when there is one."""
        monkeypatch.setattr(module, "RETRY", 0.05)
        failures = [OSError(24, "Too many open files")] * 2

        class Loop(asyncio.SelectorEventLoop):
            async def sock_accept(self, sock):
                if failures:
                    raise failures.pop()
                return await super().sock_accept(sock)

        with serving(tmp_path, loop_of=Loop):
            assert Client(tmp_path).ask("a")["name"] == "a"

    def test_nobody_waits_at_the_end(self, tmp_path):
        """A crawl that ends leaves who is connected, asks or waits."""
        with connected_later() as kept:
            with serving(tmp_path):
                for _ in range(3):
                    kept.append(connected(tmp_path))
                kept[0].sendall(b'{"command": "wait", "words": ["60"]}\n')
                assert Client(tmp_path).ask("a")["name"] == "a"
            assert [connection.recv(1) for connection in kept] == [b""] * 3


@contextmanager
def connected_later():
    kept = []
    yield kept
    for connection in kept:
        connection.close()


def as_nobody(call):
    """What a call says when another user of the machine makes it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            try:
                text = f"{call()}"
            except (CommandError, NotRunning, OSError) as error:
                text = f"{error}"
            os.write(writing, text.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        return file.read().decode()
