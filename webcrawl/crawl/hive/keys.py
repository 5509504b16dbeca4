"""What the server has of a hive: the names of all keys, places in streams, and steps that it does as one.

In a sharded server the keys of the registry lie on one shard, and each drone's stream on any: `{…}` is what decides.

The steps are short Lua scripts, sent whole each time, so that none is missing after a restart. A server that is full
refuses the first write of a script if that takes memory, and no later one. What must work then, too, so that the server
can be emptied, begins with a write that frees something.
"""

from __future__ import annotations

BEGINNING = "0-0"  # before the first entry


class Keys:
    """The keys of the hive of this name."""

    def __init__(self, name: str) -> None:
        self._name = name
        registry = f"webcrawl:{{{name}}}:"
        self.epoch = registry + "epoch"  # "<run_id of the server>:<random>"
        self.hive = registry + "hive"  # what all drones share (drone_registry.Record)
        self.map = registry + "map"  # generation, slots
        self.drones = registry + "drones"  # drone: who it is (drone_registry.Member.identity)
        self.gone = registry + "gone"  # ids of states that are not to come back
        self.queen = registry + "queen"  # drone
        self.reports = registry + "reports"  # drone: what it said last
        self.commands = registry + "commands"  # by their numbers
        self.rest = registry + "rest"  # there while no drone has anything left but hosts set aside
        self.bytes = registry + "bytes"  # of all streams
        self.leases = registry + "lease:"  # and the drone: its state's id
        self._acks = registry + "acks:"
        self._streams = registry + "streams:"
        self._taken = registry + "taken:"

    def stream(self, drone: int, epoch: str) -> str:
        """The letters for a drone."""
        return f"webcrawl:{{{self._name}:{drone}}}:{epoch}"

    def acks(self, epoch: str) -> str:
        """For each drone the place up to which its checkpoint has its stream."""
        return self._acks + epoch

    def streams(self, epoch: str) -> str:
        """The streams of this epoch, by their keys: one that is missing was lost."""
        return self._streams + epoch

    def taken(self, crawl: int | str) -> str:
        """Seeds from a list of the user's that no checkpoint has yet, of a drone, or of a crawl of its own."""
        return f"{self._taken}{crawl}"


def place_in(data: bytes) -> str:
    """A place as the server keeps it; ValueError if it is none."""
    place = data.decode()
    order(place)
    return place


def order(place: str) -> int:
    """A number by which places compare."""
    milliseconds, _, sequence = place.partition("-")
    return int(milliseconds) << 64 | int(sequence)


AGREE = """-- The epoch of this server process: the one that stands there, or if it is another process's, a new one.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local epoch = redis.call('GET', KEYS[1])
if epoch and string.sub(epoch, 1, #run + 1) == run .. ':' then return epoch end
if epoch then -- restored from a copy: what was on the way is sent again, and what drones said was another time
  local old = string.match(epoch, ':(%x+)$') or ''
  for _, stream in ipairs(redis.call('SMEMBERS', ARGV[2] .. old)) do redis.call('UNLINK', stream) end
  redis.call('UNLINK', ARGV[2] .. old, ARGV[3] .. old, ARGV[4])
end
epoch = run .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], epoch)
return epoch
"""

OPEN = """-- Makes a drone's stream, once in an epoch. Whoever removed one has removed letters: then a new epoch is due.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return 1 end
if redis.call('SISMEMBER', KEYS[2], KEYS[3]) == 1 then
  redis.call('DEL', KEYS[1])
  return 0
end
redis.call('SADD', KEYS[2], KEYS[3])
redis.call('XADD', KEYS[3], '0-1', 'd', '')
redis.call('XTRIM', KEYS[3], 'MAXLEN', '0')
return 1
"""

ACKNOWLEDGE = """-- Publishes a drone's checkpointed place, and forgets the letters up to it.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XTRIM', KEYS[3], 'MINID', '=', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return 1
"""

BEAT = """-- A drone's sign of life, and what it is told.
local epoch, me = redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[2])
if epoch ~= ARGV[1] or me ~= ARGV[3] then return {me} end
redis.call('HDEL', KEYS[6], ARGV[2])
redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
redis.call('HSET', KEYS[6], ARGV[2], ARGV[6])
local queen = redis.call('GET', KEYS[5]) or ARGV[2]
local reports = {}
if queen == ARGV[2] then
  redis.call('SET', KEYS[5], queen, 'PX', ARGV[5])
  if ARGV[9] ~= '' then redis.call('SET', KEYS[9], ARGV[9]) end
  for _, key in ipairs({1, 2, 3, 6, 7, 8, 9, 11, 13, 14}) do redis.call('PEXPIRE', KEYS[key], ARGV[11]) end
  reports = redis.call('HGETALL', KEYS[6])
end
local drones, alive = redis.call('HGETALL', KEYS[2]), {}
for i = 1, #drones, 2 do
  if redis.call('EXISTS', ARGV[10] .. drones[i]) == 1 then alive[#alive + 1] = drones[i] end
end
local map = false
if redis.call('HGET', KEYS[3], 'generation') ~= ARGV[7] then map = redis.call('HGET', KEYS[3], 'slots') end
local commands = redis.call('ZRANGEBYSCORE', KEYS[8], '(' .. ARGV[8], '+inf')
local bytes, open = redis.call('GET', KEYS[9]), redis.call('EXISTS', KEYS[10])
local acks, gone = redis.call('HGETALL', KEYS[7]), redis.call('SMEMBERS', KEYS[11])
local rest = redis.call('EXISTS', KEYS[12])
return {epoch, map, acks, reports, drones, alive, queen, commands, bytes, open, gone, rest}
"""

LEAVE = """-- Gives up a drone's leases, if they are still its own.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
return 1
"""

ADOPT = """-- Appends one list to another.
local found = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
for _, entry in ipairs(found) do redis.call('RPUSH', KEYS[2], entry) end
return #found
"""

PUBLISH = """-- Replaces the slot map by a later one.
if tonumber(redis.call('HGET', KEYS[1], 'generation') or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'generation', ARGV[1], 'slots', ARGV[2])
return 1
"""

COMMAND = """-- Gives a command the next number: a time in milliseconds, so that numbers ascend after a loss, too.
-- What is not for drones that come later has a zero before its number, and is forgotten some time after it was given.
local given, time = redis.call('ZRANGE', KEYS[1], 0, -1), redis.call('TIME')
local last = tonumber(string.match(given[#given] or '0', '^%d+'))
local number = math.max(tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000), last + 1)
redis.call('ZREMRANGEBYRANK', KEYS[1], 1, 0) -- nothing, but with it a full server lets pass what follows
for i = #given, 1, -1 do
  local passing = string.match(given[i], '^0%d+')
  if passing and tonumber(passing) < number - tonumber(ARGV[3]) then
    redis.call('ZREMRANGEBYRANK', KEYS[1], i - 1, i - 1)
  end
end
local text = string.format('%.0f', number)
redis.call('ZADD', KEYS[1], text, ARGV[2] .. text .. ' ' .. ARGV[1])
return text
"""
