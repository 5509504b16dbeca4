"""Steps that the server does as one: short Lua scripts, sent whole each time, so that none is missing after a restart.

A server that is full refuses the first write of a script if that takes memory, and no later one. What must work then,
too, so that the server can be emptied, begins with a write that frees something.
"""

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
