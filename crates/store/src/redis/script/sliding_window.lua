-- ---- sliding windows

local function sliding_windows(now, steps, steps_up, clear, dirty, a, b, c, d, e)
  local max, min = math.max, math.min
  local COUNT_MAX = 2199023255551
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
    a[key], b[key], c[key], d[key], e[key] = current, index, previous, 0, 0
    dirty[key] = true
  end

  function sliding.charge(key, rule, cost)
    local current, index, previous = sliding.view(key, rule)
    put_sliding(key, current + cost, index, previous)
  end

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

  function sliding.needed(key, rule)
    return (b[key] + (a[key] > 0 and 2 or 1)) * rule.window
  end

  return sliding
end
