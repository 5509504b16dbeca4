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
from webcrawl.crawl.hive.errors import Away, HiveError, translate_os_errors
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.crawl.hive.operator import HiveView, Operator
from webcrawl.crawl.hive.redis_server.embedded_server import UNIX, EmbeddedServer
from webcrawl.crawl.hive.transport import Transport

URL_FILE = "url"  # the file that tells other commands on this machine where the server is
ANSWER_SECONDS = 5.0  # in which a server must answer
MakeOperator = Callable[[], Operator]  # opens one more connection to the server of a hive


def operator_maker_by_settings(
    settings: BaseSettings, name: str, folder: HiveFolder | None = None
) -> MakeOperator:
    """Return what makes operators of this hive, for the server that the settings name.

    With `folder` the operators take no other hive of this name for the hive of that folder. Raise
    HiveError if the server cannot carry a hive, or does not answer.
    """
    make_transport = transport_maker(settings, name)
    asyncio.run(_check_answers(make_transport(), settings))

    def is_meant(hive: HiveView) -> bool:
        return folder is None or folder.is_of(hive.key, hive.states)

    return lambda: Operator(make_transport(), name, is_meant)


def operator_maker_at(url: str, name: str) -> MakeOperator:
    """Return what makes operators of this hive, for a server on this machine."""
    make_transport = transport_maker(Settings({"REDIS_URL": url}), name)
    return lambda: Operator(make_transport(), name)


@contextmanager
def own_server(folder: Path, memory: int) -> Iterator[EmbeddedServer]:
    """Run a server of the hive's own in this folder, and yield it.

    The server may use so many bytes of `memory` for links in transit.
    """
    server = EmbeddedServer(folder, memory)
    with translate_os_errors(folder):
        server.start()
    file = folder / URL_FILE
    try:
        with translate_os_errors(file):
            file.write_text(f"{server.url}\n", encoding="utf-8")
        yield server
    finally:
        file.unlink(missing_ok=True)
        server.stop()


def own_server_url(folder: Path) -> str:
    """Return the address of the hive's own server, which its folder notes; empty without one.

    The copy of a running hive's folder has the note, too. That leads to the original, and a command
    to the copy must not reach it.
    """
    with translate_os_errors(folder), suppress(FileNotFoundError):
        url = (folder / URL_FILE).read_text(encoding="utf-8").strip()
        is_original = Path(url.removeprefix(UNIX)).parent.samefile(folder)
        return url if is_original else ""
    return ""


async def _check_answers(transport: Transport, settings: BaseSettings) -> None:
    """Raise HiveError if the server cannot be opened. The transport is closed in any case."""
    where = url_without_credentials(str(settings.get("REDIS_URL") or settings.get("REDIS_HOST")))
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await transport.open()
    except (Away, TimeoutError) as error:
        raise HiveError(
            f"REDIS_URL = {where}: {str(error) or f'no answer within {ANSWER_SECONDS:g} s'}"
        ) from error
    finally:
        await transport.close()


DEFAULT_NAME = "web"  # the name of a hive without HIVE_NAME is its spider's


class HiveTarget:
    """The hive of a command. `folder` and `founding` are None if only its server is known."""

    def __init__(self, settings: BaseSettings, text: str) -> None:
        """`text`: the folder of the hive, or the URL of its server, as the user has typed it."""
        self.text = text
        self.folder: HiveFolder | None = None
        self.founding: Founding | None = None
        self._settings = settings.copy()
        if "://" in text:
            self.name = settings.get("HIVE_NAME") or DEFAULT_NAME
            self._settings.set("REDIS_URL", text, "cmdline")
        else:
            self.folder = HiveFolder(Path(text))
            self.founding = self.folder.founding()
            self.name = self.founding.name

    @property
    def has_own_server(self) -> bool:
        """Return whether the hive runs a server of its own, which a kill makes empty."""
        return self.folder is not None and bool(own_server_url(self.folder.server))

    def url(self) -> str:
        """Return the server's URL, or an empty text if the hive's folder notes none of its own."""
        return self.text if self.folder is None else own_server_url(self.folder.server)

    def known_operator_maker(self) -> MakeOperator | None:
        """Return what makes operators of this hive; None if no server of it is known now."""
        if self.folder is not None:
            url = self.url()
            if url:
                return operator_maker_at(url, self.name)
        if not has_server(self._settings):
            return None
        return operator_maker_by_settings(self._settings, self.name, self.folder)

    def operator_maker(self) -> MakeOperator:
        """Return what makes operators of this hive. Raise NotRunning if no server is known."""
        make_operator = self.known_operator_maker()
        if make_operator is None:
            raise NotRunning(
                f"{self.text}: the hive is not running, or has a server that -s REDIS_URL=… must name"
            )
        return make_operator

    def ask_server(self) -> HiveView:
        """Return what the server knows of the hive now. Raise NotRunning if no server is known."""
        return asyncio.run(_ask_once(self.operator_maker()))


async def _ask_once(make_operator: MakeOperator) -> HiveView:
    async with aclosing(make_operator()) as operator:
        return await operator.read_hive()
