"""Whether a drone's server is there, and which epoch both follow."""

from __future__ import annotations

import asyncio
import logging
import time

from webcrawl.hive.errors import Away
from webcrawl.hive.member import Post
from webcrawl.hive.places import BEGINNING
from webcrawl.hive.server import Server

logger = logging.getLogger(__name__)

REMIND = 600.0  # seconds between two lines about a server that stays away


class Contact:
    """`there` is set while the server answers."""

    def __init__(self, post: Post, server: Server) -> None:
        self._post, self._server = post, server
        self.there = asyncio.Event()
        self._acknowledged = ""
        self._away_since, self._told_at = 0.0, 0.0

    def __repr__(self) -> str:
        return f"<Contact there={self.there.is_set()}>"

    def begin(self, epoch: str) -> None:
        """The streams begin anew."""
        self._post.outbox.new_epoch(epoch)
        self._post.inbox.new_epoch(epoch)
        self._server.follow(epoch)
        self._acknowledged = ""

    def lost(self, error: Away) -> None:
        """The server does not answer."""
        now = time.monotonic()
        if self.there.is_set() or not self._told_at:
            self._away_since = self._told_at = now
            logger.warning("the hive's server is away (%s): going on with our own hosts", error)
        elif now - self._told_at >= REMIND:
            self._told_at = now
            logger.warning("the hive's server is away for %.0f s now (%s)", now - self._away_since, error)
        self.there.clear()

    def found(self) -> None:
        """It answers."""
        self.there.set()
        if self._told_at:
            logger.info("the hive's server is back after %.0f s", time.monotonic() - self._away_since)
            self._told_at = 0.0

    async def acknowledge(self) -> None:
        """Tells the others how far our last checkpoint has what they sent."""
        place = self._post.inbox.committed_place
        if place not in (self._acknowledged, BEGINNING):
            await self._server.acknowledge(place)
            self._acknowledged = place
