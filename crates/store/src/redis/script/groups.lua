local kinds, made = { buckets, fixed_windows, sliding_windows, sliding_logs }, {}

-- ---- the rules

local rules = {}
for i = 1, read() do
  local rule = { kind = read(), tick = read(), leak = read(), scale = read() }
  rule.capacity, rule.window, rule.memory, rule.life = read(), read(), read(), read()
  rule.of = made[rule.kind] or kinds[rule.kind]()
  made[rule.kind] = rule.of
  rule.full = rule.capacity * rule.scale
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
local letters, said = {}, 0

-- ---- the short way: lone charges to buckets, which are most of all traffic

-- By key: the rule under which its level was worked out, what is used now, and whether it was charged.
local running, level, charged_to = {}, {}, {}

-- Works out the level of a key; false where there is more to do than to add to it.
local function begin(key, rule)
  if rule.kind ~= BUCKET or running[key] or bad[key] then return false end
  if kind[key] and kind[key] ~= BUCKET then return false end
  local now_used, at = rule.of.view(key, rule)
  if at > rule.tick_now then return false end
  running[key], level[key], last_rule[key] = rule, now_used, rule
  return true
end

-- Puts down what was added, before anything else looks at the key.
local function settle(key)
  local rule = running[key]
  if not rule then return end
  if charged_to[key] then
    kind[key] = BUCKET
    rule.of.put(key, rule, level[key], rule.tick_now)
  end
  running[key], charged_to[key] = nil, nil
end

-- ---- the long way, made when it is needed

local function long_way()
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

  local function read_operation(op)
    local enforced = op < UNENFORCED
    if not enforced then op = op - UNENFORCED end
    local key, rule, argument = read(), rules[read()], read()
    local charged = op == GIVE and read() or 0
    settle(key)
    said = said + 1
    letters[said] = letter(key, rule, op, argument)
    return key, rule, op, argument, charged, enforced
  end

  local function decide_lone(op)
    local key, rule, argument, charged
    key, rule, op, argument, charged = read_operation(op)
    local fits = letters[said] == '1'
    if fits or letters[said] == '0' then apply(key, rule, op, argument, charged, fits, fits) end
  end

  local function decide_several()
    local group = {}
    local admitted, broken = true, false
    for i = 1, read() do
      local key, rule, op, argument, charged, enforced = read_operation(read())
      local fits = letters[said] == '1'
      if not fits and letters[said] ~= '0' then broken = true end
      if enforced and not fits then admitted = false end
      group[i] = { key, rule, op, argument, charged, fits }
    end
    if broken then return end
    for _, o in ipairs(group) do apply(o[1], o[2], o[3], o[4], o[5], o[6], admitted) end
  end

  return function(op)
    if op == SEVERAL then decide_several() else decide_lone(op) end
  end
end

local decide
for _ = 1, read() do
  local op = read()
  if op == TAKE then
    local key, rule = numbers[next_number + 1], rules[numbers[next_number + 2]]
    if running[key] == rule or begin(key, rule) then
      local cost = numbers[next_number + 3]
      next_number = next_number + 3
      said = said + 1
      -- Less than nothing where the cost can never fit.
      if level[key] <= (rule.capacity - cost) * rule.scale then
        level[key] = level[key] + cost * rule.scale
        charged_to[key] = true
        letters[said] = '1'
      else
        asked[key] = true
        letters[said] = '0'
      end
    else
      decide = decide or long_way()
      decide(op)
    end
  else
    decide = decide or long_way()
    decide(op)
  end
end
