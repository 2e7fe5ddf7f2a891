-- ---- logs: entries are read from the value where they are, and new ones kept beside it

local function sliding_logs(now, steps, steps_up, clear, dirty, a, b, c, d, e)
  local max, min = math.max, math.min
  local LEVEL_MAX = 9007199254740991
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
    if first > held.held + 1 then return taken_apart(held, first) end
    local before = total_before(held, first)
    local value = string.sub(held.value, 1, 20) .. string.sub(held.value, 21 + (first - 1) * 16)
    return { value = value, held = held.held - first + 1, before = before, at = held.at, total = held.total }
  end

  local function add(key, rule, cost)
    local first, used = log.view(key, rule)
    local held = a[key] and kept(a[key], first) or { value = '', held = 0, before = 0, at = {}, total = {} }
    cost = min(cost, LEVEL_MAX - used)
    -- Totals are whole up to 2^53, so they begin anew in time.
    if held.before + used + cost > LEVEL_MAX then held = taken_apart(held, 1) end
    local count = entries(held)
    local total = total_before(held, count + 1) + cost
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

  -- What was corrected to nothing is gone.
  local function settle(key, rule)
    dirty[key] = true
    local _, used = log.view(key, rule)
    if used == 0 then clear(key) end
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
    a[key] = held
    settle(key, rule)
  end

  function log.adjust(key, rule, by)
    if by >= 0 then
      add(key, rule, by)
      return settle(key, rule)
    end
    if a[key] == nil then return end
    local held = taken_apart(a[key], (log.view(key, rule)))
    local left = -by
    for i = #held.at, 1, -1 do left = left - lower(held, i, left) end
    a[key] = held
    settle(key, rule)
  end

  function log.needed(key, rule)
    return entry(a[key], entries(a[key])) + rule.window
  end

  -- The value: its head, what is kept of the one that was read, and what is new.
  function log.packed(key, head)
    local held = a[key]
    local parts = { head, string.sub(held.value, 21) }
    for i = 1, #held.at do parts[#parts + 1] = struct.pack('<dd', held.at[i], held.total[i]) end
    return table.concat(parts)
  end

  return log
end
