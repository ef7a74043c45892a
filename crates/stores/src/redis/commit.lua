#!lua
-- One batch: all of it, or nothing.
--
--   KEYS    every key that is read or written; the first remembers what became of the batch
--   ARGV    1 the batch's id, or nothing if nothing is to be remembered
--           2 the instant by which ends are judged, in milliseconds
--           3 the plan: a letter for each key, the type it must have if it is there; then what each
--             phase below does, in letters and in numbers of three bytes
--           then the texts that the plan needs, in its order
--
-- Scripts are not rolled back, so nothing is written before nothing can fail any more. Without its
-- first line a script would begin although the server is out of memory. Whatever varies is in KEYS
-- and ARGV: this text is always the same. The server does nothing else meanwhile, so what a batch
-- does not need is not made.

local call, keys, given, byte = redis.call, KEYS, ARGV, string.byte
local id, now, plan = given[1], tonumber(given[2]), given[3]
-- The text that was used last, and the byte of the plan that is next.
local at, step = 3, #keys + 1

-- [outcome] A batch that was committed is not done again.
if id ~= '' then
  local before = redis.pcall('GET', keys[1])
  if type(before) == 'table' then -- something else than we would have written
    return { 'type', 1, call('TYPE', keys[1])['ok'], 'string' }
  end
  if before then return 'done' .. before end
end
-- [/outcome]

-- [guard] Another program's key is never overwritten.
local is_there = {}
for number = id ~= '' and 2 or 1, #keys do
  local found = call('TYPE', keys[number])['ok']
  if found ~= 'none' then
    local letter = byte(plan, number)
    local expected = letter == 104 and 'hash' or letter == 122 and 'zset'
      or letter == 109 and 'set' or 'string'
    if found ~= expected then return { 'type', number, found, expected } end
    is_there[number] = true
  end
end
-- [/guard]

-- [checks] Is each row what it must be?
local number = 0
while byte(plan, step) ~= 46 do -- a dot: no more of them
  -- What is read, its key, where its version is, where its end, and what is expected of it.
  local kind, high, middle, low, versioned, ending, expected = byte(plan, step, step + 6)
  local place = high * 65536 + middle * 256 + low
  local own, there, version, ends, dead = keys[place], false, false, false, false
  number, step = number + 1, step + 7
  if kind == 107 then there = is_there[place] -- k: a key
  else
    at = at + 1
    if kind == 102 then there = call('HEXISTS', own, given[at]) == 1 -- f: a field
    elseif kind == 109 then there = call('SISMEMBER', own, given[at]) == 1 -- m: of a Set
    else there = call('ZSCORE', own, given[at]) ~= false end
  end

  if versioned == 118 then -- v: in a field
    version = there and call('HGET', own, '~v')
  elseif versioned == 98 then -- b: beside it
    version = there and call('HGET', keys[tonumber(given[at + 1])], given[at + 2])
    at = at + 2
  elseif versioned == 86 then -- V: in a field, of a row that may be dead
    if there then
      local told = call('HMGET', own, '~v', '~d')
      version, dead = told[1], told[2]
    end
  elseif versioned == 66 then -- B: in words beside it: version, end, dead; the dead have no key
    local words = call('HGET', keys[tonumber(given[at + 1])], given[at + 2])
    at = at + 2
    if words then
      version, ends = string.match(words, '^%S+'), string.match(words, ' x(%-?%d+)')
      dead = string.find(words, ' d', 1, true) ~= nil
      there = there or dead
    end
  end

  if ending == 120 then -- x: in a field
    ends = there and call('HGET', own, '~x')
  elseif ending == 112 then -- p: so long before Redis drops it
    at = at + 1
    local drops = there and call('PEXPIRETIME', own) or -1
    if drops >= 0 then ends = drops - tonumber(given[at]) end
  elseif ending == 98 then -- b: beside it
    ends = call('ZSCORE', keys[tonumber(given[at + 1])], given[at + 2])
    at = at + 2
  end

  local live = there and not (ends and tonumber(ends) <= now) and not dead
  local seen, holds = live, false
  if expected == 97 then holds = not live -- a: absent
  elseif expected == 112 then holds = live -- p: present
  elseif expected == 110 then seen, holds = there, not there -- n: nothing, also nothing that ended
  else
    at = at + 1
    if expected == 118 then holds = live and version == given[at] -- v: of this version
    elseif expected == 119 then seen, holds = there, there and version == given[at] -- w: or ended
    else holds = ends and tonumber(ends) == tonumber(given[at]) end -- d: ends at this instant
  end
  if not holds then return { 'check', number, seen and 1 or 0, seen and version or '' } end
end
-- [/checks]

-- [numbers] What does each counter come to? A Lua number is exact to 53 bits only, so whole numbers
-- are kept in two parts: value = high * 1e9 + low, and low is never negative.
local changed, outcome = false, ''
local adds, cards = byte(plan, step + 1, step + 2)
step = step + 3
if adds == 43 then -- a plus: there are some
  local function parts(text)
    local sign, digits = string.match(text, '^(-?)(%d+)$')
    if not digits or #digits > 19 then return nil end
    if string.byte(digits) == 48 and (#digits > 1 or sign ~= '') then return nil end
    local high, low = 0, tonumber(digits)
    if #digits > 9 then
      high, low = tonumber(string.sub(digits, 1, -10)), tonumber(string.sub(digits, -9))
    end
    if sign == '-' then
      high, low = -high, -low
      if low < 0 then high, low = high - 1, low + 1e9 end
    end
    return high, low
  end

  local function is_outside(high, low)
    return high > 9223372036 or (high == 9223372036 and low > 854775807)
      or high < -9223372037 or (high == -9223372037 and low < 145224192)
  end

  local function text_of(high, low)
    local sign = ''
    if high < 0 then
      sign, high, low = '-', -high, -low
      if low < 0 then high, low = high - 1, low + 1e9 end
    end
    if high == 0 then return sign .. string.format('%d', low) end
    return sign .. string.format('%.0f%09d', high, low)
  end

  changed = {}
  at = at + 1
  local sums, totals = {}, {}
  for _ = 1, tonumber(given[at]) do
    local write, form, number = given[at + 1], given[at + 2], tonumber(given[at + 3])
    local own, field, amount = keys[number], given[at + 4], given[at + 5]
    local ends, limit, beside, member = given[at + 6], given[at + 7], false, false
    at = at + 8
    if given[at] == 'b' then
      beside, member = keys[tonumber(given[at + 1])], given[at + 2]
      at = at + 2
    end
    local name = number .. ' ' .. field
    local sum = sums[name]
    if not sum then
      local text, drops
      if form == 'f' then
        text = call('HGET', own, field)
      else
        text = call('GET', own)
        drops = call('PEXPIRETIME', own)
        if drops < 0 then drops = nil end
        if drops and drops <= now then text = false end
      end
      sum = { own = own, field = field, form = form, high = 0, low = 0, ends = ends, seen = '' }
      sum.beside, sum.member = beside, member
      if text then
        local high, low = parts(text)
        if not high or is_outside(high, low) then return { 'number', number, text } end
        sum.high, sum.low, sum.ends = high, low, drops and string.format('%.0f', drops) or ''
        sum.seen = sum.ends
      end
      sums[name] = sum
      changed[#changed + 1] = sum
    end
    local more_high, more_low = parts(amount)
    local high, low = sum.high + more_high, sum.low + more_low
    if low >= 1e9 then high, low = high + 1, low - 1e9 end
    if limit ~= '' then
      local limit_high, limit_low = parts(limit)
      if high > limit_high or (high == limit_high and low > limit_low) then
        return { 'full', write, text_of(sum.high, sum.low), sum.seen }
      end
    end
    if is_outside(high, low) then
      return { 'overflow', write, text_of(sum.high, sum.low), sum.seen }
    end
    sum.high, sum.low, sum.seen = high, low, sum.ends
    sum.text = text_of(high, low)
    totals[#totals + 1] = sum.text .. '@' .. sum.ends
  end
  outcome = table.concat(totals, ' ')
end
-- [/numbers]

-- [sets] A Set is read whole, so it may not grow without end.
local sets, largest = false, 0
if cards == 43 then
  sets, largest = {}, tonumber(given[at + 1])
  at = at + 2
end
for count = 1, sets and tonumber(given[at]) or 0 do
  local number = tonumber(given[at + 1])
  local set = { own = keys[number], more = tonumber(given[at + 2]), more_at = at + 3 }
  at = at + 3 + set.more
  set.less, set.less_at = tonumber(given[at]), at + 1
  at = at + set.less
  local members = call('SCARD', set.own)
  if members + set.more > largest then
    members = members + set.more
    for place = set.more_at, set.more_at + set.more - 1 do
      members = members - call('SISMEMBER', set.own, given[place])
    end
    for place = set.less_at, set.less_at + set.less - 1 do
      members = members - call('SISMEMBER', set.own, given[place])
    end
    if members > largest then return { 'large', number, members } end
  end
  sets[count] = set
end
-- [/sets]

-- [writes] None of these can fail.
local function each(command, own, first, count)
  for from = first, first + count - 1, 1000 do
    call(command, own, unpack(given, from, math.min(from + 999, first + count - 1)))
  end
end

if changed then
  for _, sum in ipairs(changed) do
    if sum.form == 'f' then call('HSET', sum.own, sum.field, sum.text)
    elseif sum.ends == '' then call('SET', sum.own, sum.text)
    else call('SET', sum.own, sum.text, 'PXAT', sum.ends) end
    if sum.beside and sum.ends ~= '' then call('ZADD', sum.beside, sum.ends, sum.member) end
  end
end

if sets then
  for _, set in ipairs(sets) do
    each('SADD', set.own, set.more_at, set.more)
    each('SREM', set.own, set.less_at, set.less)
  end
end

-- A letter and the number of a key for each; how many texts a Hash has.
while true do
  local what, high, middle, low, most, more, least = byte(plan, step, step + 6)
  if not what then break end
  local place = high * 65536 + middle * 256 + low
  local own = keys[place]
  step = step + 4
  if what == 109 then -- m: a member
    at = at + 1
    call('ZADD', own, 0, given[at])
  elseif what == 72 or what == 104 then -- H: a Hash, whole, with the id as its version; h: without
    local count = most * 65536 + more * 256 + least
    step = step + 3
    if is_there[place] then call('DEL', own) end
    if count > 1000 then
      if what == 72 then call('HSET', own, '~v', id) end
      each('HSET', own, at + 1, count)
    elseif what == 72 then call('HSET', own, '~v', id, unpack(given, at + 1, at + count))
    else call('HSET', own, unpack(given, at + 1, at + count)) end
    at = at + count
  elseif what == 115 then -- s: a String
    at = at + 1
    call('SET', own, given[at])
  elseif what == 102 then -- f: a field
    call('HSET', own, given[at + 1], given[at + 2])
    at = at + 2
  elseif what == 101 then -- e: a String that ends
    call('SET', own, given[at + 1], 'PXAT', given[at + 2])
    at = at + 2
  elseif what == 120 then -- x: when a key ends
    at = at + 1
    call('PEXPIREAT', own, given[at])
  elseif what == 100 then -- d: when a row ends
    call('ZADD', own, given[at + 1], given[at + 2])
    at = at + 2
  elseif what == 77 then -- M: no member
    at = at + 1
    call('ZREM', own, given[at])
  elseif what == 70 then -- F: no field
    at = at + 1
    call('HDEL', own, given[at])
  elseif what == 83 then -- S: no slice, if it is empty
    if call('EXISTS', own) == 0 then call('ZREM', keys[tonumber(given[at + 1])], given[at + 2]) end
    at = at + 2
  elseif what == 111 then -- o: what follows is for a claim that is not another row's by now
    local form, count, is_theirs = given[at + 1], tonumber(given[at + 2]), false
    at = at + 2
    for _ = 1, count do
      local found = form == 's' and call('GET', own) or form == 'h' and call('HGET', own, given[at + 1])
      if found and found ~= given[at + 2] then is_theirs = true end
      at = at + 2
    end
    at = at + 2
    if is_theirs then at, step = at + tonumber(given[at - 1]), step + tonumber(given[at]) end
  elseif is_there[place] then call('DEL', own) end -- K: no key
end
-- [/writes]

-- [remember] For ten minutes, so that a batch that is sent again is not done again.
if id ~= '' then call('SET', keys[1], outcome, 'PX', 600000) end
-- [/remember]
return 'done' .. outcome
