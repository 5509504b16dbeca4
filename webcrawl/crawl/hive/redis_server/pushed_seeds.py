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

BATCH = 500
MOST_HELD = 200_000  # entries that no checkpoint has yet; more are not taken
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
    """Takes seeds from the server.

    Call `turn` again and again, and `committed` after each checkpoint.
    """

    def __init__(
        self, client: Client, source: str, own: str, hand_on: Callable[[bytes], None]
    ) -> None:
        """`source`: the user's key; `own`: the drone's, which in a cluster lies beside the former.

        `hand_on` takes an entry into the crawl, and never waits.
        """
        self._client: clients.AnyClient = client
        self._first: Client | None = client
        self._source = source
        self._own = own
        self._hand_on = hand_on
        self._held: deque[bytes] = deque()  # handed on and still in the drone's list
        self._safe = 0  # as many of them a checkpoint has
        self.stopped = False

    @property
    def is_full(self) -> bool:
        """Return whether no more seeds are taken before the next checkpoint."""
        return len(self._held) >= MOST_HELD

    async def turn(self) -> int:
        """Takes the next entries and hands them on; returns how many these were.

        May raise Away or HiveError.
        """
        with translate_redis_errors():
            if self._first is not None:
                self._client = await clients.reached(self._first)
                if self._client is not self._first:
                    self._own = clients.beside(self._source, self._own)
                self._first = None
            await self._remove()
            if self.is_full:
                return 0
            answer = await self._client.eval(TAKE, 2, self._source, self._own, BATCH)
            if isinstance(answer, bytes):
                kind = answer.decode()
                raise HiveError(
                    f"{self._source}: is a {kind} in the server; seeds must be in a list, set or sorted set"
                )
            found, length = answer
            # of a former run, of a lost drone, or the answer was lost
            if length != len(self._held) + len(found):
                found = await self._unknown()
        return self._hand(found)

    async def _unknown(self) -> list[bytes]:
        entries: Any = await self._client.lrange(self._own, 0, -1)
        return list((Counter(entries) - Counter(self._held)).elements())

    def _hand(self, found: list[bytes]) -> int:
        for number, entry in enumerate(found):
            if self.stopped:
                return number
            self._hand_on(entry)
            self._held.append(entry)
        return len(found)

    def committed(self) -> None:
        """Note that a checkpoint has all that was handed on."""
        self._safe = len(self._held)

    async def _remove(self) -> None:
        """Remove what is safe, by value: a command whose answer was lost may have been carried out."""
        done = self._safe
        if not done:
            return
        work = [("LREM", self._own, 1, entry) for entry in islice(self._held, done)]
        await clients.gathered(self._client, work, needed=done)
        for _ in range(done):
            self._held.popleft()
        self._safe -= done

    async def finish(self) -> None:
        """Removes what the last checkpoint has."""
        with translate_redis_errors():
            await self._remove()

    async def aclose(self) -> None:
        """Close the connections."""
        await clients.closed(self._client)
