#!lua
-- One batch: all of it, or nothing.
--
--   KEYS    every key that is read or written; the first remembers what became of the batch
--   ARGV    1 the batch's id, or nothing if nothing is to be remembered
--           2 the instant by which ends are judged, in milliseconds
--           3 a letter for each key: the type it must have if it is there
--           then counts and lists, in the order of the phases below
--
-- Scripts are not rolled back, so nothing is written before nothing can fail any more. Without its
-- first line a script would begin although the server is out of memory. Whatever varies is in KEYS
-- and ARGV: this text is always the same.

local now = tonumber(ARGV[2])
local at = 3

local function take()
  at = at + 1
  return ARGV[at]
end

local function key()
  at = at + 1
  return KEYS[tonumber(ARGV[at])]
end

-- [outcome] A batch that was committed is not done again.
if ARGV[1] ~= '' then
  local before = redis.call('GET', KEYS[1])
  if before then return { 'done', before } end
end
-- [/outcome]

-- [guard] Another program's key is never overwritten.
local types = { h = 'hash', s = 'string', m = 'set', z = 'zset' }
for number = 1, #KEYS do
  local found = redis.call('TYPE', KEYS[number])['ok']
  if found ~= 'none' then
    local expected = types[string.sub(ARGV[3], number, number)]
    if found ~= expected then return { 'type', number, found, expected } end
  end
end
-- [/guard]

-- [checks] Is each row what it must be?
for number = 1, tonumber(take()) do
  local kind, own = take(), key()
  local there
  if kind == 'k' then there = redis.call('EXISTS', own) == 1
  elseif kind == 'f' then there = redis.call('HEXISTS', own, take()) == 1
  elseif kind == 'm' then there = redis.call('SISMEMBER', own, take()) == 1
  else there = redis.call('ZSCORE', own, take()) ~= false end

  local version = false
  local where = take()
  if where == 'v' then
    version = redis.call('HGET', own, '~v')
  elseif where == 'b' then
    local beside = key()
    version = redis.call('HGET', beside, take())
  end

  local ends = false
  where = take()
  if where == 'x' then
    ends = redis.call('HGET', own, '~x')
  elseif where == 'p' then
    local grace = tonumber(take())
    local drops = redis.call('PEXPIRETIME', own)
    if drops >= 0 then ends = drops - grace end
  elseif where == 'b' then
    local beside = key()
    ends = redis.call('ZSCORE', beside, take())
  end

  local expected = take()
  local live = there and not (ends and tonumber(ends) <= now)
  local seen, holds = live, false
  if expected == 'a' then holds = not live
  elseif expected == 'p' then holds = live
  elseif expected == 'v' then holds = live and version == take()
  elseif expected == 'n' then seen, holds = there, not there
  elseif expected == 'w' then seen, holds = there, there and version == take()
  else holds = ends and tonumber(ends) == tonumber(take()) end
  if not holds then return { 'check', number, seen and 1 or 0, seen and version or '' } end
end
-- [/checks]

-- [numbers] What does each counter come to? A Lua number is exact to 53 bits only, so whole numbers
-- are kept in two parts: value = high * 1e9 + low, and low is never negative.
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

local sums, changed, totals = {}, {}, {}
for _ = 1, tonumber(take()) do
  local write, form, number = take(), take(), tonumber(take())
  local own, field, amount, ends, limit = KEYS[number], take(), take(), take(), take()
  local beside, member = false, false
  if take() == 'b' then
    beside = key()
    member = take()
  end
  local name = number .. ' ' .. field
  local sum = sums[name]
  if not sum then
    local text, drops
    if form == 'f' then
      text = redis.call('HGET', own, field)
    else
      text = redis.call('GET', own)
      drops = redis.call('PEXPIRETIME', own)
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
  local found = text_of(sum.high, sum.low)
  if limit ~= '' then
    local limit_high, limit_low = parts(limit)
    if high > limit_high or (high == limit_high and low > limit_low) then
      return { 'full', write, found, sum.seen }
    end
  end
  if is_outside(high, low) then return { 'overflow', write, found, sum.seen } end
  sum.high, sum.low, sum.seen = high, low, sum.ends
  totals[#totals + 1] = text_of(high, low) .. '@' .. sum.ends
end
-- [/numbers]

-- [sets] A Set is read whole, so it may not grow without end.
local sets = {}
local largest = tonumber(take())
local function there_of(own, first, count)
  local there = 0
  for from = first, first + count - 1, 1000 do
    local found = redis.call('SMISMEMBER', own, unpack(ARGV, from, math.min(from + 999, first + count - 1)))
    for _, is_there in ipairs(found) do there = there + is_there end
  end
  return there
end
for place = 1, tonumber(take()) do
  local number = tonumber(take())
  local set = { own = KEYS[number], more = tonumber(take()) }
  set.more_at = at + 1
  at = at + set.more
  set.less = tonumber(take())
  set.less_at = at + 1
  at = at + set.less
  local members = redis.call('SCARD', set.own)
  if members + set.more > largest then
    members = members + set.more - there_of(set.own, set.more_at, set.more)
    members = members - there_of(set.own, set.less_at, set.less)
    if members > largest then return { 'large', number, members } end
  end
  sets[place] = set
end
-- [/sets]

-- [writes] None of these can fail.
local function each(command, own, first, count)
  for from = first, first + count - 1, 1000 do
    redis.call(command, own, unpack(ARGV, from, math.min(from + 999, first + count - 1)))
  end
end

for _, sum in ipairs(changed) do
  local text = text_of(sum.high, sum.low)
  if sum.form == 'f' then redis.call('HSET', sum.own, sum.field, text)
  elseif sum.ends == '' then redis.call('SET', sum.own, text)
  else redis.call('SET', sum.own, text, 'PXAT', sum.ends) end
  if sum.beside and sum.ends ~= '' then redis.call('ZADD', sum.beside, sum.ends, sum.member) end
end

for _, set in ipairs(sets) do
  each('SADD', set.own, set.more_at, set.more)
  each('SREM', set.own, set.less_at, set.less)
end

while at < #ARGV do
  local what, own = take(), key()
  if what == 'hash' then
    local count = tonumber(take())
    redis.call('DEL', own)
    each('HSET', own, at + 1, count)
    at = at + count
  elseif what == 'member' then redis.call('ZADD', own, 0, take())
  elseif what == 'string' then redis.call('SET', own, take())
  elseif what == 'ending' then
    local value = take()
    redis.call('SET', own, value, 'PXAT', take())
  elseif what == 'field' then
    local field = take()
    redis.call('HSET', own, field, take())
  elseif what == 'ends' then redis.call('PEXPIREAT', own, take())
  elseif what == 'due' then
    local score = take()
    redis.call('ZADD', own, score, take())
  elseif what == 'no member' then redis.call('ZREM', own, take())
  elseif what == 'no field' then redis.call('HDEL', own, take())
  elseif what == 'only if' then
    -- The next arguments are for a claim that is still this row's.
    local form, is_theirs = take(), false
    for _ = 1, tonumber(take()) do
      local field, value = take(), take()
      local found = form == 's' and redis.call('GET', own) or form == 'h' and redis.call('HGET', own, field)
      if found and found ~= value then is_theirs = true end
    end
    local count = tonumber(take())
    if is_theirs then at = at + count end
  elseif what == 'no slice' then
    local directory = key()
    local slice = take()
    if redis.call('EXISTS', own) == 0 then redis.call('ZREM', directory, slice) end
  else redis.call('DEL', own) end
end
-- [/writes]

local outcome = table.concat(totals, ' ')
-- [remember] For ten minutes, so that a batch that is sent again is not done again.
if ARGV[1] ~= '' then redis.call('SET', KEYS[1], outcome, 'PX', 600000) end
-- [/remember]
return { 'done', outcome }
