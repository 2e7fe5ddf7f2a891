-- Tells that a node is there, or that it leaves, and how many there are.
-- KEYS: when each node's time is over, by name; by whom each name is held.
-- ARGV: the name, whoever holds it, for how many milliseconds (0: it leaves).
-- Returns how many nodes there are; or 0, and for how many milliseconds more another holds the name.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)
for _, name in ipairs(over) do
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
end
local name, holder, life = ARGV[1], ARGV[2], tonumber(ARGV[3])
local held = redis.call('HGET', KEYS[2], name)
if held and held ~= holder then
  local till = redis.call('ZSCORE', KEYS[1], name)
  return {0, math.floor((tonumber(till) or now) - now)}
end
if life == 0 then
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
else
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + life), name)
  redis.call('HSET', KEYS[2], name, holder)
  redis.call('PEXPIRE', KEYS[1], life)
  redis.call('PEXPIRE', KEYS[2], life)
end
return {redis.call('ZCARD', KEYS[1]), 0}
