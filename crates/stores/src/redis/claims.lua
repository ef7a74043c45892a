#!lua flags=no-writes
-- Claims with the rows they name, at one instant: only what a claim holds says whose it is.
--   KEYS  1 the list, then claims
--   ARGV  1 of how many claims the rows are wanted
--         2 bytes that are enough
--         3 `ends` if it is asked when claims end, or nothing
--         4 between which members the list is read again: from, to, `REV` or nothing, how many
--         8 what every name begins with
--         then, if claims are Hashes, what joins the parts of a row's name, and a letter and a text
--         for each part; without them a claim is the text that the row's name ends with
-- Answered are the list, how many claims were read, what was asked of each, and then the name and
-- the fields of each row. Where something of another type lies, the script fails.

local call, keys, given = redis.call, KEYS, ARGV
local wanted, enough, ends = tonumber(given[1]), tonumber(given[2]), given[3] ~= ''
local prefix, separator = given[8], given[9]

local function weight(texts)
  if type(texts) == 'string' then return #texts end
  local bytes = 0
  for _, text in ipairs(texts) do bytes = bytes + #text end
  return bytes
end

local function escaped(byte) return string.format('%%%02x', string.byte(byte)) end

-- A field that is not there makes a name that no row has.
local function name_of(claim)
  if not separator then return prefix .. claim end
  local fields, name = {}, prefix
  for at = 1, #claim, 2 do fields[claim[at]] = claim[at + 1] end
  for at = 10, #given, 2 do
    local kind, text = given[at], given[at + 1]
    if kind ~= 'l' then text = fields[text] or '' end -- l: as it stands
    if kind == 's' then text = string.gsub(text, '[%c%%{}' .. separator .. ']', escaped) end
    -- A path is written with its separators; an empty one is no part at all.
    if kind ~= 'p' or text ~= '%' then
      if at > 10 then name = name .. separator end
      name = name .. text
    end
  end
  return name
end

local list
if given[6] == 'REV' then
  list = call('ZRANGE', keys[1], given[4], given[5], 'BYLEX', 'REV', 'LIMIT', 0, given[7])
else
  list = call('ZRANGE', keys[1], given[4], given[5], 'BYLEX', 'LIMIT', 0, given[7])
end

local answers, rows, read, bytes = { list, 0 }, {}, 0, 0
for number = 2, #keys do
  local claim
  if separator then claim = call('HGETALL', keys[number]) else claim = call('GET', keys[number]) end
  read = read + 1
  answers[#answers + 1] = claim
  if ends then answers[#answers + 1] = call('PEXPIRETIME', keys[number]) end
  if not claim or #claim == 0 then break end
  bytes = bytes + weight(claim)
  if read <= wanted then
    local name = name_of(claim)
    local row = call('HGETALL', name)
    rows[#rows + 1] = name
    rows[#rows + 1] = row
    bytes = bytes + weight(row)
  end
  if bytes >= enough then break end
end

answers[2] = read
for _, answer in ipairs(rows) do answers[#answers + 1] = answer end
return answers
