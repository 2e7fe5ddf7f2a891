-- ---- fixed windows

local function fixed_windows(now, steps, steps_up, clear, dirty, a, b, c, d, e)
  local max, min = math.max, math.min
  local LEVEL_MAX = 9007199254740991
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
    a[key], b[key], c[key], d[key], e[key] = used, start, finish, 0, 0
    dirty[key] = true
  end

  function fixed.charge(key, rule, cost)
    local used, start, finish = fixed.view(key, rule)
    put_fixed(key, used + cost, start, finish)
  end

  function fixed.give(key, rule, amount, charged)
    local used, start, finish = fixed.view(key, rule)
    if start <= charged and charged < finish then put_fixed(key, max(used - amount, 0), start, finish) end
  end

  function fixed.adjust(key, rule, by)
    local used, start, finish = fixed.view(key, rule)
    put_fixed(key, min(max(used + by, 0), LEVEL_MAX), start, finish)
  end

  function fixed.needed(key)
    return c[key]
  end

  return fixed
end
