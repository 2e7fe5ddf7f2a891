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

-- One of ours that lost its expiry would refuse for ever. A call looks at a few, since it costs a call each.
local looks = 4
local function look_at(key, rule)
  looks = looks - 1
  if redis.call('PTTL', KEYS[key]) < 0 then redis.call('PEXPIRE', KEYS[key], rule.life) end
end

local function lives_long_enough(key, rule)
  local until_ms = expires[key]
  if until_ms >= now_ms + rule.memory and rule.kind == BUCKET and a[key] <= rule.full then return true end
  return until_ms > now_ms and until_ms >= steps_up(rule.of.needed(key, rule), 1000)
end

for key, rule in pairs(last_rule) do
  if not dirty[key] then
    if asked[key] and values[key] and looks > 0 then look_at(key, rule) end
  elseif a[key] == nil then
    if values[key] then redis.call('DEL', KEYS[key]) end
  elseif values[key] and rule.kind ~= LOG and lives_long_enough(key, rule) then
    redis.call('SETRANGE', KEYS[key], '0', packed(key, rule, expires[key]))
  else
    local life = max(rule.life, steps_up(rule.of.needed(key, rule), 1000) - now_ms)
    redis.call('SET', KEYS[key], packed(key, rule, now_ms + life), 'PX', string.format('%.0f', life))
  end
end

return { secret, now, table.concat(letters), values }
