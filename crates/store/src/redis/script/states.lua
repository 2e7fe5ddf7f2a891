-- Decides a batch of groups in order, each all or nothing, and writes what was decided: one call, one clock.
--
-- It says who is admitted and what becomes of the states; all figures are worked out by the caller, from the
-- states as they were read. The arithmetic is that of weir-core, in doubles, which are whole up to 2^53: a
-- larger product is only ever compared with a smaller number. A differential test binds the two.
--
-- KEYS: the distinct keys, and the one under which the secret of keys is kept. ARGV[1]: a MessagePack array of
-- numbers, in the order in which they are read below. ARGV[2]: the fingerprint of the caller's secret.
-- Returns: how the secret stands (kept, lost, or changed: then nothing is done); the time in microseconds; a
-- letter for each operation; the keys' values as they were read.
--   1 fits   0 does not   B a calendar's edges do not reach this time   W this is no value of ours
-- A group with B or W is left alone as a whole.

local numbers = cmsgpack.unpack(ARGV[1])
local next_number = 0
local function read()
  next_number = next_number + 1
  return numbers[next_number]
end

local fmod, max = math.fmod, math.max
-- What a value begins with: "W", its kind, and the number of this layout.
local LAYOUT = 1
local BUCKET, LOG = 1, 4
local TAKE = 1

-- How many whole steps fit; exact where a division alone would round.
local function steps(x, step)
  return (x - fmod(x, step)) / step
end
local function steps_up(x, step)
  local rest = fmod(x, step)
  return (x - rest) / step + (rest > 0 and 1 or 0)
end

local now = read()
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- ---- the states, by number of the key

local values = {}
for first = 1, #KEYS, 1000 do
  local last = math.min(first + 999, #KEYS)
  local some = redis.call('MGET', unpack(KEYS, first, last))
  for i = 1, last - first + 1 do values[first + i - 1] = some[i] end
end

local secret = table.remove(values)
if not secret then
  secret = 'lost'
elseif string.sub(secret, 1, #ARGV[2]) == ARGV[2] then
  secret = 'kept'
else
  return { 'changed', now, '', {} }
end

-- What is wrong with a key; its kind; when it expires, in milliseconds; and the words of its state, by kind:
--   bucket: parts, tick, parts a unit, microseconds a tick, parts that leak a tick
--   fixed: used, start, end     sliding: current, index, previous     log: a table
local bad, kind, expires, a, b, c, d, e = {}, {}, {}, {}, {}, {}, {}, {}
-- Changed; refused a request; and changed in more than level and tick.
local dirty, asked, whole = {}, {}, {}

local unpack_value, byte = struct.unpack, string.byte
for key, value in ipairs(values) do
  if not value then
    if redis.call('EXISTS', KEYS[key]) == 1 then bad[key] = 'W' end
  else
    local mark, of, layout, _, first
    of = byte(value, 2)
    if of == LOG and #value > 20 and (#value - 20) % 16 == 0 then
      mark, of, layout, _, expires[key], first = unpack_value('<c1BBBdd', value)
      a[key] = { value = value, held = (#value - 20) / 16, before = first, at = {}, total = {} }
    elseif of ~= LOG and #value == 52 then
      mark, of, layout, _, expires[key], a[key], b[key], c[key], d[key], e[key] =
        unpack_value('<c1BBBdddddd', value)
    end
    kind[key] = of
    if mark ~= 'W' or layout ~= LAYOUT then bad[key] = 'W' end
  end
end

local function clear(key)
  a[key], b[key], c[key], d[key], e[key] = nil, nil, nil, nil, nil
  dirty[key], whole[key] = true, true
end
