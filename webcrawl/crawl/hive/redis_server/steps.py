"""A hive's keys on a Redis or Valkey server, and the atomic steps that change them.

In a cluster the keys of the registry lie on one node, and each drone's stream on any: `{…}` is what
decides. So a step is of the registry, or of one stream, and never of both.

The steps are short Lua scripts, sent whole each time, so that none is missing after a restart. A
server that is full refuses the first write of a script if that takes memory, and no later one. What
must work then, too, so that the server can be emptied, begins with a write that frees something.
"""

from __future__ import annotations


class Keys:
    """The names of a hive's keys in the server."""

    def __init__(self, name: str) -> None:
        """`name` is HIVE_NAME; what is behind a key stands beside it."""
        self._name = name
        registry = self._registry = f"webcrawl:{{{name}}}:"
        self.epoch = registry + "epoch"  # "<run_id of the server>:<random>"
        self.hive = registry + "hive"  # what all drones share (HiveRecord)
        self.map = registry + "map"  # generation, slots
        self.drones = registry + "drones"  # drone: who it is (Member.identity)
        self.gone = registry + "gone"  # ids of states that are not to come back
        # the drone that coordinates; the key has the name that earlier versions know
        self.coordinator = registry + "queen"
        self.reports = registry + "reports"  # drone: what it said last
        self.commands = registry + "commands"  # by their numbers
        self.rest = registry + "rest"  # there while no drone has anything left but deferred hosts
        self.bytes = registry + "bytes"  # of all streams
        self.hungry = registry + "hungry"  # a bit for each drone: it has nothing to do
        self.leases = registry + "lease:"  # and the drone: its state's id
        # The commands that read the registry; redis_transport._registry_of takes their answers
        self.registered = (
            *(("GET", self.hive), ("HGET", self.map, "slots")),
            *(("HGETALL", self.drones), ("ZRANGE", self.commands, "0", "-1")),
        )

    def stream(self, drone: int, epoch: str) -> str:
        """Return the key of the batches for a drone."""
        return f"webcrawl:{{{self._name}:{drone}}}:{epoch}"

    def acks(self, epoch: str) -> str:
        """Return the key of each drone's place up to which its checkpoint has its stream."""
        return f"{self._registry}acks:{epoch}"

    def changes(self, epoch: str) -> str:
        """Return the key of what changed in the registry, and when: see CHANGED."""
        return f"{self._registry}changes:{epoch}"

    def streams(self, epoch: str) -> str:
        """Return the key of the streams of this epoch: one that is missing was lost."""
        return f"{self._registry}streams:{epoch}"

    def taken(self, crawl: int | str) -> str:
        """Return the key of taken seeds that no checkpoint has, of a drone or a lone crawl."""
        return f"{self._registry}taken:{crawl}"


_CHANGED = """
local function changed(key, name)
  local time, last = redis.call('TIME'), redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  local now = math.max(tonumber(time[1]) * 1000000 + tonumber(time[2]), tonumber(last or '0') + 1)
  if not last then
    redis.call('ZADD', key, string.format('%.0f', now), 'b')
    now = now + 1
  end
  redis.call('ZADD', key, string.format('%.0f', now), name)
end
"""
# What a drone is told with each beat is only what has changed since its last one. A sorted set has
# the last change of each: `a` and a drone, its place; `m` and a drone, who it is; `g`, the states
# that are gone; and `b`, when the set was begun: who was told something before that is told all.
# Scores are microseconds: they ascend over the loss of the set.
PLACE, MEMBER, GONE = "a", "m", "g"

ATOMIC = f"""-- Carries out commands, which ARGV[2] has packed, if the keys are as ARGV[1] says.
-- Returns the answers, and behind them what to say the next time. An empty ARGV[1] says nothing.
{_CHANGED}
local seen = ''
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local value = kind == 'string' and redis.call('GET', key) or
    kind == 'hash' and table.concat(redis.call('HGETALL', key), ' ') or kind
  seen = redis.sha1hex(seen .. value)
end
if ARGV[1] ~= '' and ARGV[1] ~= seen then return false end
local answers = {{}}
for i, command in ipairs(cmsgpack.unpack(ARGV[2])) do
  if command[1] == 'CHANGED' then
    redis.call('ZREMRANGEBYRANK', command[2], 1, 0) -- nothing, but with it a full server lets pass what follows
    for at = 3, #command do changed(command[2], command[at]) end
    answers[i] = 1
  else answers[i] = redis.call(unpack(command)) end
end
answers[#answers + 1] = seen
return answers
"""

AGREE = """-- The epoch of these server processes: the one that stands there, or if one is not of it, a new one.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local epoch, ours, runs = redis.call('GET', KEYS[1]), true, run
for other in string.gmatch(ARGV[6], '%x+') do
  if other ~= run then runs = runs .. ',' .. other end
end
for one in string.gmatch(runs, '%x+') do
  ours = ours and epoch and string.find(epoch, one, 1, true)
end
if ours then return {epoch, {}} end
local streams = {}
if epoch then -- restored from a copy: what was on the way is sent again, and what drones said was another time
  local old = string.match(epoch, ':(%x+)$') or ''
  streams = redis.call('SMEMBERS', ARGV[2] .. old)
  redis.call('UNLINK', ARGV[2] .. old, ARGV[3] .. old, ARGV[4], ARGV[5] .. old)
end
epoch = runs .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], epoch)
return {epoch, streams}
"""

# Making a stream, once in an epoch: KNOW, MAKE by what that says, KNOW by what MAKE says. Whoever
# removed one has removed batches: then a new epoch is due.
KNOW = """-- Whether a stream is known in this epoch (2) or not yet (1); 0: another epoch is due.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '1' then redis.call('SADD', KEYS[2], ARGV[2]) end
if ARGV[3] ~= '0' then return 1 + redis.call('SISMEMBER', KEYS[2], ARGV[2]) end
redis.call('DEL', KEYS[1])
return 0
"""
MAKE = """-- Makes a stream. One that was known before and is not there now was lost: 0.
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
if ARGV[1] == '2' then return 0 end
redis.call('XADD', KEYS[1], '0-1', 'd', '')
redis.call('XTRIM', KEYS[1], 'MAXLEN', '0')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""

SEND = """-- Adds batches to a stream, all or none: a batch must not overtake another.
local places = {}
for i, batch in ipairs(ARGV) do
  places[i] = redis.call('XADD', KEYS[1], 'NOMKSTREAM', '*', 'd', batch)
end
return places
"""

ACKNOWLEDGE = f"""-- Publishes a drone's checkpointed place.
{_CHANGED}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('ZREMRANGEBYRANK', KEYS[3], 1, 0) -- nothing, but with it a full server lets pass what follows
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
changed(KEYS[3], '{PLACE}' .. ARGV[2])
return 1
"""

BEAT = """-- A drone's sign of life, and what it is told: of the registry only what has changed since it was told last.
local epoch, me = redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[2])
if epoch ~= ARGV[1] or me ~= ARGV[3] then return {me} end
redis.call('HDEL', KEYS[6], ARGV[2])
redis.call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
redis.call('HSET', KEYS[6], ARGV[2], ARGV[6])
redis.call('SETBIT', KEYS[10], ARGV[2], ARGV[13])
local last = redis.call('ZRANGE', KEYS[15], -1, -1, 'WITHSCORES')[2] or '0'
local begun = redis.call('ZRANGE', KEYS[15], 0, 0, 'WITHSCORES')[2]
local all = not begun or tonumber(ARGV[12]) <= tonumber(begun)
local acks, drones, gone = {}, {}, false
if all then
  acks, drones, gone = redis.call('HGETALL', KEYS[7]), redis.call('HGETALL', KEYS[2]), redis.call('SMEMBERS', KEYS[11])
else
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[15], '(' .. ARGV[12], '+inf')) do
    local kind, drone = string.sub(name, 1, 1), string.sub(name, 2)
    if kind == 'a' then
      acks[#acks + 1] = drone
      acks[#acks + 1] = redis.call('HGET', KEYS[7], drone) or ''
    elseif kind == 'm' then
      drones[#drones + 1] = drone
      drones[#drones + 1] = redis.call('HGET', KEYS[2], drone) or ''
    elseif kind == 'g' then
      gone = redis.call('SMEMBERS', KEYS[11])
    end
  end
end
local coordinator = redis.call('GET', KEYS[5]) or ARGV[2]
local reports, alive = {}, {}
if coordinator == ARGV[2] then
  redis.call('SET', KEYS[5], coordinator, 'PX', ARGV[5])
  if ARGV[9] ~= '' then redis.call('SET', KEYS[9], ARGV[9]) end
  for _, key in ipairs({1, 2, 3, 6, 7, 8, 9, 10, 11, 13, 14, 15}) do redis.call('PEXPIRE', KEYS[key], ARGV[11]) end
  reports = redis.call('HGETALL', KEYS[6])
  for _, drone in ipairs(redis.call('HKEYS', KEYS[2])) do
    if redis.call('EXISTS', ARGV[10] .. drone) == 1 then
      alive[#alive + 1] = drone
    elseif string.match(drone, '^%d%d?%d?%d?%d?$') then -- nobody hurries for a drone that is away
      redis.call('SETBIT', KEYS[10], drone, 0)
    end
  end
end
local map = false
if redis.call('HGET', KEYS[3], 'generation') ~= ARGV[7] then map = redis.call('HGET', KEYS[3], 'slots') end
local commands = redis.call('ZRANGEBYSCORE', KEYS[8], '(' .. ARGV[8], '+inf')
local bytes, open = redis.call('GET', KEYS[9]), redis.call('SISMEMBER', KEYS[14], ARGV[14])
local rest, hungry = redis.call('EXISTS', KEYS[12]), redis.call('GET', KEYS[10])
local told = {acks, reports, drones, alive, gone}
return {epoch, map, coordinator, commands, bytes, open, rest, hungry, last, all and 1 or 0, told}
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

# milliseconds for which the server keeps what does not last, for drones that do not answer just now
KEPT = 3_600_000
