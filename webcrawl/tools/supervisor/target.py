"""Which hive a command is for: that of a folder on this machine, or one in a server."""

from __future__ import annotations

from pathlib import Path

from scrapy.settings import BaseSettings

from webcrawl.adapter.redis_client import has_redis
from webcrawl.base.cannot_start import CannotStart
from webcrawl.crawl.hive.hive_folder import Founding, HiveFolder
from webcrawl.tools.supervisor import servers
from webcrawl.tools.supervisor.servers import MakeOperator

DEFAULT = "web"  # the name of a hive without HIVE_NAME is its spider's


class Target:
    """`folder` and `founding` are None for a hive that is known by its server only."""

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
        """Whether the folder's hive runs a server of its own, which keeps nothing if it is killed."""
        return self.folder is not None and bool(servers.url_of(self.folder.server))

    def url(self) -> str:
        """Of a server that is not in the settings of every command: that of the folder, or what the command named."""
        return self.text if self.folder is None else servers.url_of(self.folder.server)

    def server(self) -> MakeOperator | None:
        """None: the folder's hive has no server of its own now, nor do the settings name one."""
        if self.folder is not None and (url := self.url()):
            return servers.at(url, self.name)
        return servers.named(self._settings, self.name) if has_redis(self._settings) else None

    def running(self) -> MakeOperator:
        """The same; CannotStart if there is nobody to ask."""
        found = self.server()
        if found is None:
            raise CannotStart(f"{self.text}: the hive is not running, or has a server that -s REDIS_URL=… must name")
        return found
