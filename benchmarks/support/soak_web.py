"""The web of `benchmarks.soak`: the synthetic web with all its kinds, FTP and gopher servers, and
attackers.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.support.processes import beside
from benchmarks.support.soak_attackers import attacking
from webcrawl.lab.simweb import World, hostile, running
from webcrawl.lab.simweb.request_log import Log

HTTPS_SHARE = 0.2  # of the hosts
SLOW_SECONDS = 0.05  # the unit of everything that takes time
SITES = 8  # FTP and gopher hosts each
FOLDERS, FILES = 40, 20  # of an FTP host
MENUS = 1500  # of a gopher host; each has one item of each kind


class Gopher:
    """A tree of menus, whose other items do all that a gopher server may do to a client."""

    def __init__(self, name: str) -> None:
        self._name, self.port = name, 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            await self._answer(line.strip().decode("latin-1"), writer)
        except (ConnectionError, ValueError):
            pass  # the crawler has had enough and left
        finally:
            writer.close()

    async def _answer(self, selector: str, writer: asyncio.StreamWriter) -> None:
        """Answer by the first word of the selector."""
        kind, _, number = selector.strip("/").partition("/")
        draw = random.Random(selector + self._name)
        match kind:
            case "" | "m":
                writer.write(self._menu(int(number or 0)))
            case "text":
                writer.write(
                    b"".join(b"..%x\r\n" % draw.getrandbits(64) for _ in range(100)) + b".\r\n"
                )
            case "endless":
                while True:
                    writer.write(b"1again\t/m/0\t\t70\r\n" * 2000)
                    await writer.drain()
            case "hang":
                await asyncio.sleep(30)
            case "line":
                writer.write(b"1" + b"x" * 100_000 + b"\t/m/0\r\n.\r\n")
            case "noise":
                writer.write(draw.randbytes(3000))
            case "error":
                writer.write(b"3nothing here\t\terror.host\t1\r\n.\r\n")
            case "reset":
                linger = struct.pack("ii", 1, 0)  # with a time of 0, closing sends a reset
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )

    def _menu(self, number: int) -> bytes:
        """Return a menu with one item of each kind, and two further menus."""
        kinds = {
            "0": "text",
            "9": "endless",
            "4": "hang",
            "1": "line",
            "I": "noise",
            "g": "error",
            "h": "reset",
        }
        items = [f"{kind}{word}\t/{word}/{number}" for kind, word in kinds.items()]
        items += [
            f"1more\t/m/{child}" for child in (2 * number + 1, 2 * number + 2) if child < MENUS
        ]
        lines = [f"{item}\t{self._name}\t{self.port}\r\n" for item in items]
        return f"i{self._name} {number}\t\tnone\t1\r\n{''.join(lines)}.\r\n".encode()


class Files:
    """FTP servers, each with a folder of its own: equal listings would count as the same
    content.
    """

    def __init__(self, folder: Path) -> None:
        """Fill the folders, and open a server for each."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # pyftpdlib uses asyncore
            from pyftpdlib.authorizers import DummyAuthorizer  # noqa: PLC0415
            from pyftpdlib.handlers import FTPHandler  # noqa: PLC0415
            from pyftpdlib.ioloop import IOLoop  # noqa: PLC0415
            from pyftpdlib.servers import FTPServer  # noqa: PLC0415
        self._loop = IOLoop()
        self.ports = []
        for site in range(SITES):
            _fill_folder(folder / f"ftp{site}", random.Random(site))
            authorizer = DummyAuthorizer()
            authorizer.add_anonymous(str(folder / f"ftp{site}"))
            about: dict[str, Any] = {"authorizer": authorizer, "banner": "ready.", "log_prefix": ""}
            handler = type("Handler", (FTPHandler,), {**about, "log": lambda *_, **__: None})
            self.ports.append(
                FTPServer((f"127.0.1.{site + 1}", 0), handler, ioloop=self._loop).address[1]
            )

    def start(self) -> None:
        """Serve until the process ends."""
        Thread(target=lambda: self._loop.loop(timeout=None, blocking=True), daemon=True).start()


def _fill_folder(folder: Path, draw: random.Random) -> None:
    """Fill the folder of an FTP server with files of random names and sizes."""
    for number in range(FOLDERS):
        inner = folder / f"folder {number}"
        inner.mkdir(parents=True)
        for _ in range(FILES):
            name = f"{draw.choice(['café', 'a#b', 'x%20y', 'plain'])}-{draw.getrandbits(32):x}.txt"
            (inner / name).write_bytes(draw.randbytes(draw.choice([0, 100, 10_000, 100_000])))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /folder%201/\n")


def _world(hosts: int, pages: int) -> dict[str, Any]:
    mix = hostile() | {"https": HTTPS_SHARE}
    sizes = {"size": (2000, 4000), "links": 20, "slow": SLOW_SECONDS}
    return {"hosts": hosts, "pages": pages, "port": 0, "tls_port": 0, "mix": mix, **sizes}


def _serve(ready: Connection, folder: Path, hosts: int, pages: int) -> None:
    """Serve all kinds of hosts in this process, and send the name server when they are ready."""
    world = World(**_world(hosts, pages))
    files, sites = Files(folder), [Gopher(f"gopher{site}.test") for site in range(SITES)]
    loop = asyncio.new_event_loop()

    async def listen() -> None:
        for site, menus in enumerate(sites):
            server = await asyncio.start_server(menus, f"127.0.2.{site + 1}", 0)
            menus.port = server.sockets[0].getsockname()[1]

    loop.run_until_complete(listen())
    Thread(target=loop.run_forever, daemon=True).start()
    files.start()
    with running(world, log=Log(folder / "asked.jsonl", keep=False)) as server:
        seeds = [
            *world.seeds(),
            *(f"ftp://ftp{site}.test:{port}/" for site, port in enumerate(files.ports)),
        ]
        seeds += [f"gopher://gopher{site}.test:{menus.port}/" for site, menus in enumerate(sites)]
        (folder / "seeds.txt").write_text("\n".join(reversed(seeds)))
        ready.send(server.nameserver)
        ready.recv()


@contextmanager
def served(folder: Path, hosts: int, pages: int, *, attacked: bool) -> Iterator[str]:
    """Serve the web in separate processes; yield its name server.

    Write seeds.txt, hosts and asked.jsonl to the folder.
    """
    names = [
        f"127.0.1.{site + 1} ftp{site}.test\n127.0.2.{site + 1} gopher{site}.test\n"
        for site in range(SITES)
    ]
    (folder / "hosts").write_text("".join(names))
    with ExitStack() as stack:
        nameserver = stack.enter_context(beside(_serve, folder, hosts, pages))
        if attacked:
            nameserver, seeds = stack.enter_context(attacking(**_world(hosts, pages)))
            with (folder / "seeds.txt").open("a") as file:
                file.write("".join(f"\n{url}" for url in seeds))
        yield nameserver
