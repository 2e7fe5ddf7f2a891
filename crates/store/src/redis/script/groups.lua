local kinds, made = { buckets, fixed_windows, sliding_windows, sliding_logs }, {}

-- ---- the rules

local rules = {}
for i = 1, read() do
  local rule = { kind = read(), tick = read(), leak = read(), scale = read() }
  rule.capacity, rule.window, rule.memory, rule.life = read(), read(), read(), read()
  rule.of = made[rule.kind] or kinds[rule.kind](now, steps, steps_up, clear, dirty, a, b, c, d, e, whole)
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

local function long_way(read, settle, clear, rules, bad, kind, asked, last_rule, letters)
  local TAKE, PEEK, GIVE, ADJUST, FIXED, UNENFORCED, SEVERAL = 1, 2, 3, 4, 2, 10, 0

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
        if rule.of.refuse then rule.of.refuse(key, rule) end
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
      clear(key)
    end
  end

  local function read_operation(op, said)
    local enforced = op < UNENFORCED
    if not enforced then op = op - UNENFORCED end
    local key, rule, argument = read(), rules[read()], read()
    local charged = op == GIVE and read() or 0
    settle(key)
    letters[said] = letter(key, rule, op, argument)
    return key, rule, op, argument, charged, enforced
  end

  local function decide_lone(op, said)
    local key, rule, argument, charged
    key, rule, op, argument, charged = read_operation(op, said)
    local fits = letters[said] == '1'
    if fits or letters[said] == '0' then apply(key, rule, op, argument, charged, fits, fits) end
    return said
  end

  local function decide_several(said)
    local group = {}
    local admitted, broken = true, false
    local count = read()
    for i = 1, count do
      local key, rule, op, argument, charged, enforced = read_operation(read(), said + i - 1)
      local fits = letters[said + i - 1] == '1'
      if not fits and letters[said + i - 1] ~= '0' then broken = true end
      if enforced and not fits then admitted = false end
      group[i] = { key, rule, op, argument, charged, fits }
    end
    if not broken then
      for _, o in ipairs(group) do apply(o[1], o[2], o[3], o[4], o[5], o[6], admitted) end
    end
    return said + count - 1
  end

  -- Decides what is read next; the next letter has this number. Returns the number of the last.
  return function(op, said)
    if op == SEVERAL then return decide_several(said) end
    return decide_lone(op, said)
  end
end

local decide
for _ = 1, read() do
  local op = read()
  local is_lone = false
  if op == TAKE then
    local key, rule = numbers[next_number + 1], rules[numbers[next_number + 2]]
    is_lone = running[key] == rule
    if not is_lone and rule.kind == BUCKET and not running[key] and not bad[key] and (kind[key] or BUCKET) == BUCKET then
      local used, at = rule.of.view(key, rule)
      if at <= rule.tick_now then
        running[key], level[key], last_rule[key] = rule, used, rule
        is_lone = true
      end
    end
    if is_lone then
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
    end
  end
  if not is_lone then
    decide = decide or long_way(read, settle, clear, rules, bad, kind, asked, last_rule, letters)
    said = decide(op, said + 1)
  end
end
