"""Seeds that users push into the server: each is taken by one drone, and never lost.

What is taken goes into a list of the drone's own, in the same step, and leaves it only when a
checkpoint has it. After a kill all that stands there is handed on again; the seen store knows what
it has.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from webcrawl.crawl.hive.errors import HiveError
from webcrawl.crawl.hive.redis_server import clients
from webcrawl.crawl.hive.redis_server.clients import Client, translate_redis_errors

BATCH_ENTRIES = 500  # taken in one call
MAX_UNSAVED = 200_000  # entries that no checkpoint has yet; more are not taken
TAKE = """-- Moves the next entries to the end of the drone's own list, whatever they stand in.
local kind, found = redis.call('TYPE', KEYS[1]).ok, {}
if kind == 'list' then found = redis.call('LPOP', KEYS[1], ARGV[1])
elseif kind == 'set' then found = redis.call('SPOP', KEYS[1], ARGV[1])
elseif kind == 'zset' then
  local flat = redis.call('ZPOPMAX', KEYS[1], ARGV[1])
  for i = 1, #flat, 2 do found[#found + 1] = flat[i] end
elseif kind ~= 'none' then return kind end
if #found > 0 then redis.call('RPUSH', KEYS[2], unpack(found)) end
return {found, redis.call('LLEN', KEYS[2])}
"""


class SeedTaker:
    """Takes the seeds that users push into the server.

    Call `take_batch` again and again, and `committed` after each checkpoint.
    """

    def __init__(
        self, client: Client, source: str, own: str, hand_on: Callable[[bytes], None]
    ) -> None:
        """`source` is the user's key, and `own` that of the drone's list.

        In a cluster the list lies on the node of the user's key. `hand_on` takes an entry into the
        crawl, and never waits.
        """
        self._client: clients.AnyClient = client
        # None once it is known whether the server is part of a cluster
        self._first: Client | None = client
        self._source = source
        self._own = own
        self._hand_on = hand_on
        self._handed_on: deque[bytes] = deque()  # entries that are still in the drone's list
        self._saved = 0  # how many of them, from the first, a checkpoint has
        self.stopped = False

    @property
    def is_full(self) -> bool:
        """Return whether no more seeds are taken before the next checkpoint."""
        return len(self._handed_on) >= MAX_UNSAVED

    async def take_batch(self) -> int:
        """Take the next entries and hand them on; return how many these were.

        Raise Away if the server does not answer, and HiveError if the user's key has no seeds in it.
        """
        with translate_redis_errors():
            if self._first is not None:
                self._client = await clients.cluster_or_same(self._first)
                if self._client is not self._first:
                    self._own = clients.key_beside(self._source, self._own)
                self._first = None
            await self._remove_saved()
            if self.is_full:
                return 0
            answer = await self._client.eval(TAKE, 2, self._source, self._own, BATCH_ENTRIES)
            if isinstance(answer, bytes):
                kind = answer.decode()
                raise HiveError(
                    f"{self._source}: is a {kind} in the server; seeds must be in a list, set or sorted set"
                )
            entries, list_length = answer
            # Other entries in the list are of a former run or a lost drone, or an answer was lost.
            if list_length != len(self._handed_on) + len(entries):
                entries = await self._entries_not_handed_on()
        return self._hand_on_all(entries)

    async def _entries_not_handed_on(self) -> list[bytes]:
        entries: Any = await self._client.lrange(self._own, 0, -1)
        return list((Counter(entries) - Counter(self._handed_on)).elements())

    def _hand_on_all(self, entries: list[bytes]) -> int:
        """Hand entries on until this is stopped; return how many were handed on."""
        for number, entry in enumerate(entries):
            if self.stopped:
                return number
            self._hand_on(entry)
            self._handed_on.append(entry)
        return len(entries)

    def committed(self) -> None:
        """Note that a checkpoint has all that was handed on."""
        self._saved = len(self._handed_on)

    async def _remove_saved(self) -> None:
        """Remove from the drone's list what a checkpoint has.

        By value, and not by number: a command whose answer was lost may have been carried out.
        """
        count = self._saved
        if not count:
            return
        work = [("LREM", self._own, 1, entry) for entry in islice(self._handed_on, count)]
        await clients.execute_all(self._client, work, needed=count)
        for _ in range(count):
            self._handed_on.popleft()
        self._saved -= count

    async def finish(self) -> None:
        """Remove from the drone's list what the last checkpoint has."""
        with translate_redis_errors():
            await self._remove_saved()

    async def aclose(self) -> None:
        """Close the connections."""
        await clients.close(self._client)
