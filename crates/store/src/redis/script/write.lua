-- ---- what has changed is written, each key once, never without an expiry

for key in pairs(running) do
  settle(key)
end

local now_ms = steps_up(now, 1000)

-- A key of ours that lost its expiry would refuse for ever. A call looks at a few, since each look is a call.
local looks = 4

for key, rule in pairs(last_rule) do
  local name, had, state = KEYS[key], values[key], a[key]
  if not dirty[key] then
    if asked[key] and had and looks > 0 then
      looks = looks - 1
      if redis.call('PTTL', name) < 0 then redis.call('PEXPIRE', name, rule.life) end
    end
  elseif state == nil then
    if had then redis.call('DEL', name) end
  else
    local until_ms, life = expires[key], nil
    local is_within = rule.kind == BUCKET and state <= rule.full and had and until_ms >= now_ms + rule.memory
    if not is_within then
      -- The value is written in place while it lives long enough, and anew where it does not.
      local needed = steps_up(rule.of.needed(key, rule), 1000)
      if not had or rule.kind == LOG or until_ms < needed or until_ms <= now_ms then
        life = max(rule.life, needed - now_ms)
        until_ms = now_ms + life
      end
    end
    local value, offset = nil, '0'
    if is_within and not whole[key] then
      value, offset = struct.pack('<dd', state, b[key]), '12'
    elseif rule.kind == LOG then
      value = rule.of.packed(key, struct.pack('<c1BBBdd', 'W', LOG, LAYOUT, 0, until_ms, state.before))
    else
      value = struct.pack('<c1BBBdddddd', 'W', rule.kind, LAYOUT, 0, until_ms, state, b[key], c[key], d[key], e[key])
    end
    if life then
      redis.call('SET', name, value, 'PX', string.format('%.0f', life))
    else
      redis.call('SETRANGE', name, offset, value)
    end
  end
end

return { secret, now, table.concat(letters), values }
