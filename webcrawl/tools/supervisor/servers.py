"""The hive that a command is for, and its server: of the settings, or the hive's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path

from scrapy.settings import BaseSettings, Settings

from webcrawl.adapter.server_settings import has_server, transport_maker
from webcrawl.base.readable import url_without_credentials
from webcrawl.crawl.control.command import NotRunning
from webcrawl.crawl.hive.errors import Away, HiveError, reading
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.operator import HiveLook, Operator
from webcrawl.crawl.hive.redis_server.embedded_server import UNIX, EmbeddedServer
from webcrawl.crawl.hive.transport import Transport

URL = "url"  # the file that tells other commands on this machine where the server is
PATIENCE = 5.0  # seconds until a server must answer
MakeOperator = Callable[[], Operator]


def named(settings: BaseSettings, name: str, folder: HiveFolder | None = None) -> MakeOperator:
    """Return operators of this hive in the server of the settings.

    HiveError: it cannot carry a hive, or does not answer.
    """
    make_transport = transport_maker(settings, name)
    asyncio.run(_reached(make_transport(), settings))

    def is_meant(look: HiveLook) -> bool:
        return folder is None or folder.is_of(look.key, look.states)

    return lambda: Operator(make_transport(), name, is_meant)


def at(url: str, name: str) -> MakeOperator:
    """Return operators of this hive in a server on this machine."""
    make_transport = transport_maker(Settings({"REDIS_URL": url}), name)
    return lambda: Operator(make_transport(), name)


@contextmanager
def own(folder: Path, memory: int) -> Iterator[EmbeddedServer]:
    """Run a server as long as it is needed. `memory`: bytes for links on their way."""
    server = EmbeddedServer(folder, memory)
    with reading(folder):
        server.start()
    file = folder / URL
    try:
        with reading(file):
            file.write_text(f"{server.url}\n", encoding="utf-8")
        yield server
    finally:
        file.unlink(missing_ok=True)
        server.stop()


def url_of(folder: Path) -> str:
    """Return the address of a hive's own server, by what lies in its folder; empty without one.

    The copy of a running hive has the file, too, which leads to the original: a command to one is
    not for the other.
    """
    with reading(folder), suppress(FileNotFoundError):
        url = (folder / URL).read_text(encoding="utf-8").strip()
        return url if Path(url.removeprefix(UNIX)).parent.samefile(folder) else ""
    return ""


async def _reached(transport: Transport, settings: BaseSettings) -> None:
    where = url_without_credentials(str(settings.get("REDIS_URL") or settings.get("REDIS_HOST")))
    try:
        async with asyncio.timeout(PATIENCE):
            await transport.open()
    except (Away, TimeoutError) as error:
        raise HiveError(
            f"REDIS_URL = {where}: {str(error) or f'no answer within {PATIENCE:g} s'}"
        ) from error
    finally:
        await transport.close()


DEFAULT = "web"  # the name of a hive without HIVE_NAME is its spider's


class HiveTarget:
    """The hive of a command. `folder` and `founding` are None if only its server is known."""

    def __init__(self, settings: BaseSettings, text: str) -> None:
        self.text = text
        self.folder: HiveFolder | None = None
        self.founding: Founding | None = None
        self._settings = settings.copy()
        if "://" in text:
            self.name = settings.get("HIVE_NAME") or DEFAULT
            self._settings.set("REDIS_URL", text, "cmdline")
        else:
            self.folder = HiveFolder(Path(text))
            self.founding = self.folder.known()
            self.name = self.founding.name

    @property
    def has_own_server(self) -> bool:
        """Return whether the hive runs a server of its own, which a kill makes empty."""
        return self.folder is not None and bool(url_of(self.folder.server))

    def url(self) -> str:
        """Return the server's URL, if other commands need to name it: the folder's, or as named."""
        return self.text if self.folder is None else url_of(self.folder.server)

    def server(self) -> MakeOperator | None:
        """Return the server, or None if neither the folder's hive nor the settings have one now."""
        if self.folder is not None and (url := self.url()):
            return at(url, self.name)
        return named(self._settings, self.name, self.folder) if has_server(self._settings) else None

    def look(self) -> HiveLook:
        """Return what the server knows now. Raise NotRunning if there is none to ask."""
        return asyncio.run(_looked(self.running()))

    def running(self) -> MakeOperator:
        """Return the server that runs. Raise NotRunning if there is none to ask."""
        found = self.server()
        if found is None:
            raise NotRunning(
                f"{self.text}: the hive is not running, or has a server that -s REDIS_URL=… must name"
            )
        return found


async def _looked(make_operator: MakeOperator) -> HiveLook:
    async with aclosing(make_operator()) as operator:
        return await operator.look()
