"""What the supervisor learns once a second: the figures of all drones, and whether their server is there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from webcrawl.hive.embedded import EmbeddedServer
from webcrawl.hive.errors import Away, HiveError
from webcrawl.hive.figures import saved, total
from webcrawl.hive.folder import Founding, HiveFolder
from webcrawl.hive.operator import Look, Operator
from webcrawl.supervisor.servers import MakeOperator

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds


class Watching:
    """`figures` are those of the drones' last signs of life; while the server is away, of their last checkpoints."""

    def __init__(self, folder: HiveFolder, make_operator: MakeOperator, server: EmbeddedServer | None) -> None:
        self._folder, self._make_operator, self._server = folder, make_operator, server
        self.drones = list(folder.known().drones)
        self.figures: Mapping[str, Any] = saved(folder)
        self._told = False
        self.trouble: Exception | None = None  # why it does not watch any more

    async def run(self) -> None:
        """Until it is cancelled, or in trouble."""
        operator = self._make_operator()
        try:
            while True:
                await asyncio.sleep(INTERVAL)
                self._check_server()
                founding = self._folder.known()
                self.drones = list(founding.drones)  # `scrapy hive resize` may have added some
                await self._look(operator, founding)
        except Exception as error:
            self.trouble = error
            logger.critical("%s", error, exc_info=None if isinstance(error, HiveError) else error)
        finally:
            await operator.close()

    def _check_server(self) -> None:
        try:
            if self._server is not None and self._server.check():
                logger.warning("the hive's server died, and was started again")
        except OSError as error:  # no memory, no processes, no descriptors: the drones go on without it
            logger.warning("the hive's server died, and cannot be started: %s", error.strerror or error)

    async def _look(self, operator: Operator, founding: Founding) -> None:
        try:
            look = await operator.look()
            await repeat_change(operator, look, founding)
            reports = look.reports
            self.figures = total(
                reports[drone].stats() if drone in reports else {"drone": drone, **self._folder.figures(drone)}
                for drone in self._folder.all_drones()
            )
        except (Away, HiveError) as error:
            if isinstance(error, HiveError) and not self._told:  # a right is missing, perhaps: the drones go on
                logger.warning("the drones' signs of life cannot be read: %s", error)
                self._told = True
            self.figures = saved(self._folder)


async def repeat_change(operator: Operator, look: Look, founding: Founding) -> None:
    """Says who shall share the web to a server that has lost it: a drone that is to come is let in by that alone."""
    if founding.wanted and not look.wanted:
        await operator.resize(founding.wanted)
