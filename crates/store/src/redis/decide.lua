-- Decides a batch of groups in order, each all or nothing, and writes what was decided: one call, one clock.
--
-- It says who is admitted and what becomes of the states; all figures are worked out by the caller, from the
-- states as they were read. The arithmetic is that of weir-core, in doubles, which are whole up to 2^53: a
-- larger product is only ever compared with a smaller number. A differential test binds the two.
--
-- KEYS: the distinct keys. ARGV[1]: a MessagePack array of numbers, in the order in which they are read below.
-- Returns: the time in microseconds; a letter for each operation; the keys' values as they were read.
--   1 fits   0 does not   B a calendar's edges do not reach this time   W this is no value of ours
-- A group with B or W is left alone as a whole.

local numbers = cmsgpack.unpack(ARGV[1])
local next_number = 0
local function read()
  next_number = next_number + 1
  return numbers[next_number]
end

local fmod, max, min = math.fmod, math.max, math.min
local LEVEL_MAX = 9007199254740991
local COUNT_MAX = 2199023255551
-- What a value begins with: "W", its kind, and the number of this layout.
local LAYOUT = 1
local HEAD = '<c1BBB'
local BUCKET, FIXED, SLIDING, LOG = 1, 2, 3, 4
local TAKE, PEEK, GIVE, ADJUST, RESET = 1, 2, 3, 4, 5
local UNENFORCED = 10

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

local values = redis.call('MGET', unpack(KEYS))
-- What is wrong with a key; its kind; when it expires, in milliseconds; and the words of its state, by kind:
--   bucket: parts, tick, parts a unit, microseconds a tick     fixed: used, start, end
--   sliding: current, index, previous                          log: a table
local bad, kind, expires, a, b, c, d = {}, {}, {}, {}, {}, {}, {}
local dirty, asked = {}, {}

for key, value in ipairs(values) do
  if not value then
    if redis.call('EXISTS', KEYS[key]) == 1 then bad[key] = 'W' end
  elseif #value < 28 or struct.unpack('<c1', value) ~= 'W' then
    bad[key] = 'W'
  else
    local _, of, layout = struct.unpack(HEAD, value)
    if layout ~= LAYOUT then
      bad[key] = 'W'
    elseif of == LOG then
      kind[key] = LOG
      local before
      expires[key], before = struct.unpack('<dd', value, 5)
      a[key] = { value = value, held = (#value - 20) / 16, before = before, at = {}, total = {} }
    else
      kind[key] = of
      expires[key], a[key], b[key], c[key], d[key] = struct.unpack('<ddddd', value, 5)
    end
  end
end

local function clear(key)
  a[key], b[key], c[key], d[key] = nil, nil, nil, nil
  dirty[key] = true
end

-- ---- buckets

local bucket = {}

-- The parts and the tick of them, under this rule; and the parts that are left at the present tick.
function bucket.view(key, rule)
  local tick = rule.tick_now
  local parts, at = a[key], b[key]
  if parts == nil then return 0, tick, 0 end
  if c[key] ~= rule.scale or d[key] ~= rule.tick then
    -- Another quota's state means as many units under this one, rounded towards more use.
    local units, rest = steps(parts, c[key]), fmod(parts, c[key])
    local product = rest * rule.scale
    rest = product <= 4503599627370496 and steps_up(product, c[key]) or rule.scale
    parts = min(units * rule.scale + rest, LEVEL_MAX)
    at = steps_up(at * d[key], rule.tick)
    a[key], b[key], c[key], d[key] = parts, at, rule.scale, rule.tick
    dirty[key] = true
  end
  if tick <= at then return parts, at, parts end
  return parts, at, max(parts - (tick - at) * rule.leak, 0)
end

function bucket.fits(key, rule, cost)
  local _, _, level = bucket.view(key, rule)
  return cost <= rule.capacity and rule.capacity > 0 and level <= (rule.capacity - cost) * rule.scale
end

local function put_bucket(key, rule, parts, tick)
  if parts == 0 then return clear(key) end
  a[key], b[key], c[key], d[key] = parts, tick, rule.scale, rule.tick
  dirty[key] = true
end

function bucket.charge(key, rule, cost)
  local _, _, level = bucket.view(key, rule)
  put_bucket(key, rule, level + cost * rule.scale, rule.tick_now)
end

-- A level stamped by a clock that ran ahead would stay frozen until it is reached.
function bucket.refuse(key, rule)
  local _, at, level = bucket.view(key, rule)
  if at > rule.tick_now then put_bucket(key, rule, level, rule.tick_now) end
end

function bucket.give(key, rule, amount, charged)
  if a[key] == nil then return end
  local leaked = max(rule.tick_now - steps(charged, rule.tick), 0) * rule.leak
  local credit = max(min(amount * rule.scale, LEVEL_MAX) - leaked, 0)
  -- Under another quota, as many whole units. What leaked from the level is taken off later, at its own rate.
  if c[key] ~= rule.scale or d[key] ~= rule.tick then credit = steps(credit, rule.scale) * c[key] end
  local parts = max(a[key] - credit, 0)
  if parts == 0 then return clear(key) end
  a[key] = parts
  b[key] = min(b[key], steps(now, d[key]))
  dirty[key] = true
end

function bucket.adjust(key, rule, by)
  local _, _, level = bucket.view(key, rule)
  local size = min(math.abs(by) * rule.scale, LEVEL_MAX)
  put_bucket(key, rule, by < 0 and max(level - size, 0) or min(level + size, LEVEL_MAX), rule.tick_now)
end

function bucket.reset(key)
  clear(key)
end

function bucket.needed(key, rule)
  return (b[key] + steps_up(a[key], rule.leak)) * d[key]
end

-- ---- fixed windows

local fixed = {}

function fixed.view(key, rule)
  if a[key] and now < c[key] then return a[key], b[key], c[key] end
  return 0, rule.start, rule.finish
end

function fixed.fits(key, rule, cost)
  local used = fixed.view(key, rule)
  return cost <= rule.capacity and rule.capacity > 0 and used <= rule.capacity - cost
end

local function put_fixed(key, used, start, finish)
  if used == 0 then return clear(key) end
  a[key], b[key], c[key], d[key] = used, start, finish, 0
  dirty[key] = true
end

function fixed.charge(key, rule, cost)
  local used, start, finish = fixed.view(key, rule)
  put_fixed(key, used + cost, start, finish)
end

function fixed.refuse() end

function fixed.give(key, rule, amount, charged)
  local used, start, finish = fixed.view(key, rule)
  if start <= charged and charged < finish then put_fixed(key, max(used - amount, 0), start, finish) end
end

function fixed.adjust(key, rule, by)
  local used, start, finish = fixed.view(key, rule)
  put_fixed(key, min(max(used + by, 0), LEVEL_MAX), start, finish)
end

function fixed.reset(key)
  clear(key)
end

function fixed.needed(key)
  return c[key]
end

-- ---- sliding windows

local sliding = {}

function sliding.view(key, rule)
  local index = rule.index
  if a[key] == nil then return 0, index, 0 end
  local behind = index - b[key]
  if behind <= 0 then return a[key], b[key], c[key] end
  if behind == 1 then return 0, index, a[key] end
  return 0, index, 0
end

function sliding.fits(key, rule, cost)
  if cost > rule.capacity or rule.capacity == 0 then return false end
  local current, index, previous = sliding.view(key, rule)
  local elapsed = steps(max(now - index * rule.window, 0), rule.tick)
  local used = current * rule.scale + previous * max(rule.scale - elapsed, 0)
  return used + cost * rule.scale <= rule.capacity * rule.scale
end

local function put_sliding(key, current, index, previous)
  if current == 0 and previous == 0 then return clear(key) end
  a[key], b[key], c[key], d[key] = current, index, previous, 0
  dirty[key] = true
end

function sliding.charge(key, rule, cost)
  local current, index, previous = sliding.view(key, rule)
  put_sliding(key, current + cost, index, previous)
end

function sliding.refuse() end

function sliding.give(key, rule, amount, charged)
  local current, index, previous = sliding.view(key, rule)
  local behind = index - steps(charged, rule.window)
  if behind == 0 then
    put_sliding(key, max(current - amount, 0), index, previous)
  elseif behind == 1 then
    put_sliding(key, current, index, max(previous - amount, 0))
  end
end

function sliding.adjust(key, rule, by)
  local current, index, previous = sliding.view(key, rule)
  if by >= 0 then return put_sliding(key, min(current + by, COUNT_MAX), index, previous) end
  local rest = max(-by - current, 0)
  put_sliding(key, max(current + by, 0), index, max(previous - rest, 0))
end

function sliding.reset(key)
  clear(key)
end

function sliding.needed(key, rule)
  return (b[key] + (a[key] > 0 and 2 or 1)) * rule.window
end

-- ---- logs: entries are read from the value where they are, and new ones kept beside it

local log = {}

local function entry(held, i)
  if i <= held.held then return struct.unpack('<dd', held.value, 21 + (i - 1) * 16) end
  return held.at[i - held.held], held.total[i - held.held]
end

local function entries(held)
  return held.held + #held.at
end

local function total_before(held, i)
  if i == 1 then return held.before end
  local _, total = entry(held, i - 1)
  return total
end

-- The first entry in view, and what is used.
function log.view(key, rule)
  local held = a[key]
  if held == nil then return 1, 0 end
  local low, high = 1, entries(held) + 1
  while low < high do
    local middle = steps(low + high, 2)
    if entry(held, middle) + rule.window <= now then low = middle + 1 else high = middle end
  end
  return low, total_before(held, entries(held) + 1) - total_before(held, low)
end

function log.fits(key, rule, cost)
  local _, used = log.view(key, rule)
  return cost <= rule.capacity and rule.capacity > 0 and used <= rule.capacity - cost
end

-- Takes all entries from the first on out of the value, as a table that can be changed; totals begin anew.
local function taken_apart(held, first)
  local before = total_before(held, first)
  local apart = { value = '', held = 0, before = 0, at = {}, total = {} }
  for i = first, entries(held) do
    local at, total = entry(held, i)
    apart.at[#apart.at + 1], apart.total[#apart.total + 1] = at, total - before
  end
  return apart
end

-- The log without what is out of view, still in its value.
local function kept(held, first)
  if first == 1 then return held end
  if first > held.held + 1 or total_before(held, first) > 1125899906842624 then return taken_apart(held, first) end
  local before = total_before(held, first)
  local value = string.sub(held.value, 1, 20) .. string.sub(held.value, 21 + (first - 1) * 16)
  return { value = value, held = held.held - first + 1, before = before, at = held.at, total = held.total }
end

local function add(key, rule, cost)
  local first, used = log.view(key, rule)
  local held = a[key] and kept(a[key], first) or { value = '', held = 0, before = 0, at = {}, total = {} }
  local count = entries(held)
  local total = total_before(held, count + 1) + min(cost, LEVEL_MAX - used)
  local at = now
  if a[key] then
    local last = entry(a[key], entries(a[key]))
    if last then at = max(now, last) end
  end
  if count > 0 and entry(held, count) == at then
    if count == held.held then
      -- The last entry of the value is about to change, so it moves beside it.
      held.value = string.sub(held.value, 1, 20 + (count - 1) * 16)
      held.held = count - 1
      held.at[1] = at
    end
    held.total[count - held.held] = total
  else
    held.at[#held.at + 1], held.total[#held.total + 1] = at, total
  end
  a[key], dirty[key] = held, true
end

log.charge = add

function log.refuse() end

-- Lowers entry i of a log that was taken apart, by at most so much; returns how much that was.
local function lower(held, i, by)
  local weight = held.total[i] - (held.total[i - 1] or 0)
  local taken = min(by, weight)
  for j = i, #held.total do held.total[j] = held.total[j] - taken end
  if taken == weight then
    table.remove(held.at, i)
    table.remove(held.total, i)
  end
  return taken
end

local function put_log(key, held)
  if #held.at == 0 then return clear(key) end
  a[key], dirty[key] = held, true
end

function log.give(key, rule, amount, charged)
  if a[key] == nil then return end
  local held = taken_apart(a[key], (log.view(key, rule)))
  for i = 1, #held.at do
    if held.at[i] == charged then
      lower(held, i, amount)
      break
    end
  end
  put_log(key, held)
end

function log.adjust(key, rule, by)
  if by >= 0 then return add(key, rule, by) end
  if a[key] == nil then return end
  local held = taken_apart(a[key], (log.view(key, rule)))
  local left = -by
  for i = #held.at, 1, -1 do left = left - lower(held, i, left) end
  put_log(key, held)
end

function log.reset(key)
  clear(key)
end

function log.needed(key, rule)
  return entry(a[key], entries(a[key])) + rule.window
end

local kinds = { bucket, fixed, sliding, log }

-- ---- the rules

local rules = {}
for i = 1, read() do
  local rule = { kind = read(), tick = read(), leak = read(), scale = read() }
  rule.capacity, rule.window, rule.life = read(), read(), read()
  rule.of = kinds[rule.kind]
  rule.tick_now = steps(now, rule.tick)
  if rule.window > 0 then
    rule.index = steps(now, rule.window)
    rule.start = rule.index * rule.window
    rule.finish = rule.start + rule.window
  end
  -- The edges of calendar windows around now, as the caller's clock has it.
  local edge = 0
  for j = 1, read() do
    local next_edge = read()
    if j > 1 and edge <= now and now < next_edge then rule.start, rule.finish = edge, next_edge end
    edge = next_edge
  end
  rules[i] = rule
end

-- ---- the groups

local last_rule = {}
local letters = {}

local function letter(key, rule, op, argument)
  if bad[key] or (kind[key] and kind[key] ~= rule.kind) then return 'W' end
  if rule.kind == FIXED and not rule.start then return 'B' end
  if op == TAKE or op == PEEK then return rule.of.fits(key, rule, argument) and '1' or '0' end
  return '1'
end

-- What is done where nobody of the group objects, and where somebody does.
local function apply(key, rule, op, argument, charged, fits, admitted)
  last_rule[key] = rule
  if op == TAKE then
    if not fits then
      asked[key] = true
      rule.of.refuse(key, rule)
    elseif admitted then
      kind[key] = rule.kind
      rule.of.charge(key, rule, argument)
    end
  elseif op == PEEK then
    asked[key] = asked[key] or not fits
  elseif op == GIVE then
    rule.of.give(key, rule, argument, charged)
  elseif op == ADJUST then
    kind[key] = rule.kind
    rule.of.adjust(key, rule, argument)
  else
    rule.of.reset(key)
  end
end

for _ = 1, read() do
  local count = read()
  local group = {}
  local admitted, broken = true, false
  for i = 1, count do
    local key, rule, op, argument, charged = read(), rules[read()], read(), read(), read()
    local enforced = op < UNENFORCED
    if not enforced then op = op - UNENFORCED end
    local said = letter(key, rule, op, argument)
    letters[#letters + 1] = said
    if said == 'W' or said == 'B' then broken = true end
    if enforced and said ~= '1' then admitted = false end
    group[i] = { key, rule, op, argument, charged, said == '1' }
  end
  if not broken then
    for i = 1, count do
      local o = group[i]
      apply(o[1], o[2], o[3], o[4], o[5], o[6], admitted)
    end
  end
end

-- ---- what has changed is written, each key once, never without an expiry

local now_ms = steps_up(now, 1000)

local function packed(key, rule, until_ms)
  local head = struct.pack(HEAD, 'W', rule.kind, LAYOUT, 0)
  if rule.kind ~= LOG then
    return head .. struct.pack('<ddddd', until_ms, a[key], b[key], c[key], d[key])
  end
  local held = a[key]
  local parts = { head, struct.pack('<dd', until_ms, held.before), string.sub(held.value, 21) }
  for i = 1, #held.at do parts[#parts + 1] = struct.pack('<dd', held.at[i], held.total[i]) end
  return table.concat(parts)
end

for key, rule in pairs(last_rule) do
  local name = KEYS[key]
  if not dirty[key] then
    -- One of ours that lost its expiry would refuse for ever.
    if asked[key] and values[key] and redis.call('PTTL', name) < 0 then
      redis.call('PEXPIRE', name, rule.life)
    end
  elseif a[key] == nil then
    if values[key] then redis.call('DEL', name) end
  else
    local needed = steps_up(rule.of.needed(key, rule), 1000)
    local until_ms = expires[key]
    if values[key] and rule.kind ~= LOG and until_ms >= needed and until_ms > now_ms then
      redis.call('SETRANGE', name, 0, packed(key, rule, until_ms))
    else
      local life = max(rule.life, needed - now_ms)
      redis.call('SET', name, packed(key, rule, now_ms + life), 'PX', string.format('%.0f', life))
    end
  end
end

return { now, table.concat(letters), values }
