-- ---- what has changed is written, each key once, never without an expiry

for key in pairs(running) do
  settle(key)
end

local now_ms = steps_up(now, 1000)

local function packed(key, rule, until_ms)
  if rule.kind ~= LOG then
    return struct.pack('<c1BBBdddddd', 'W', rule.kind, LAYOUT, 0, until_ms, a[key], b[key], c[key], d[key], e[key])
  end
  local held = a[key]
  local head = struct.pack('<c1BBBdd', 'W', LOG, LAYOUT, 0, until_ms, held.before)
  local parts = { head, string.sub(held.value, 21) }
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

return { secret, now, table.concat(letters), values }
