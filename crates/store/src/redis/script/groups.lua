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

local function decide_lone(key, rule, op, argument, charged)
  local said = letter(key, rule, op, argument)
  letters[#letters + 1] = said
  if said == '1' or said == '0' then
    apply(key, rule, op, argument, charged, said == '1', said == '1')
  end
end

local function decide_several(count)
  local group = {}
  local admitted, broken = true, false
  for i = 1, count do
    local op, key, rule, argument, charged = read(), read(), rules[read()], read(), read()
    local enforced = op < UNENFORCED
    if not enforced then op = op - UNENFORCED end
    local said = letter(key, rule, op, argument)
    letters[#letters + 1] = said
    if said == 'W' or said == 'B' then broken = true end
    if enforced and said ~= '1' then admitted = false end
    group[i] = { key, rule, op, argument, charged, said == '1' }
  end
  if broken then return end
  for i = 1, count do
    local o = group[i]
    apply(o[1], o[2], o[3], o[4], o[5], o[6], admitted)
  end
end

for _ = 1, read() do
  local count = read()
  if count == 1 then
    local op, key, rule, argument, charged = read(), read(), rules[read()], read(), read()
    decide_lone(key, rule, op < UNENFORCED and op or op - UNENFORCED, argument, charged)
  else
    decide_several(count)
  end
end
