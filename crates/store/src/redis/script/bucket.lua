-- ---- buckets. Each kind is made when a rule asks for it, and is handed what it works on: a function that has to
-- find its variables among all that there are by then costs more to make than a decision.

local function buckets(now, steps, steps_up, clear, dirty, a, b, c, d, e, whole)
  local fmod, max, min = math.fmod, math.max, math.min
  local LEVEL_MAX = 9007199254740991
  local PRODUCT_MAX = 4503599627370496
  local bucket = {}

  -- Another quota's level means as many units under this one, rounded towards more use.
  local function regrid(key, rule)
    local scale, tick, leak = c[key], d[key], e[key]
    if scale == rule.scale and tick == rule.tick and leak == rule.leak then return end
    if scale ~= rule.scale or tick ~= rule.tick then
      local units, rest = steps(a[key], scale), fmod(a[key], scale)
      local product = rest * rule.scale
      rest = product <= PRODUCT_MAX and steps_up(product, scale) or rule.scale
      a[key], b[key] = min(units * rule.scale + rest, LEVEL_MAX), steps_up(b[key] * tick, rule.tick)
    end
    c[key], d[key], e[key] = rule.scale, rule.tick, rule.leak
    dirty[key], whole[key] = true, true
  end

  -- The parts that are left at the present tick, and the tick that is held.
  function bucket.view(key, rule)
    local tick = rule.tick_now
    if a[key] == nil then return 0, tick end
    regrid(key, rule)
    local parts, at = a[key], b[key]
    if tick <= at then return parts, at end
    return max(parts - (tick - at) * rule.leak, 0), at
  end

  function bucket.fits(key, rule, cost)
    local level = bucket.view(key, rule)
    return cost <= rule.capacity and rule.capacity > 0 and level <= (rule.capacity - cost) * rule.scale
  end

  function bucket.put(key, rule, parts, tick)
    if parts == 0 then return clear(key) end
    a[key], b[key], c[key], d[key], e[key] = parts, tick, rule.scale, rule.tick, rule.leak
    dirty[key] = true
  end

  function bucket.charge(key, rule, cost)
    local level = bucket.view(key, rule)
    bucket.put(key, rule, level + cost * rule.scale, rule.tick_now)
  end

  -- A level stamped by a clock that ran ahead would stay frozen until it is reached.
  function bucket.refuse(key, rule)
    local level, at = bucket.view(key, rule)
    if at > rule.tick_now then bucket.put(key, rule, level, rule.tick_now) end
  end

  -- By the quota that the level stands under, and not by the receipt's.
  function bucket.give(key, _, amount, charged)
    if a[key] == nil then return end
    local tick, at, leak = steps(now, d[key]), b[key], e[key]
    local level = max(a[key] - max(tick - at, 0) * leak, 0)
    local credit = max(min(amount * c[key], LEVEL_MAX) - max(tick - steps(charged, d[key]), 0) * leak, 0)
    if level <= credit then return clear(key) end
    a[key], b[key] = level - credit, tick
    dirty[key] = true
  end

  function bucket.adjust(key, rule, by)
    local level = bucket.view(key, rule)
    local size = min(math.abs(by) * rule.scale, LEVEL_MAX)
    bucket.put(key, rule, by < 0 and max(level - size, 0) or min(level + size, LEVEL_MAX), rule.tick_now)
  end

  function bucket.needed(key)
    return (b[key] + steps_up(a[key], e[key])) * d[key]
  end

  return bucket
end
