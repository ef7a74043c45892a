#!lua flags=no-writes
-- The rows of a page, at one instant, until there is enough: how large they are may not be known
-- before they are read.
--   KEYS  what is asked about
--   ARGV  1 bytes of rows that are enough
--         then the list, and each row: how many questions there are about it, and of each the
--         command, the number of its key, how many texts follow it, and these
-- Answered are how many rows were read, and what each question was answered; one that was refused
-- is answered by why. At least one row is read.

local given, answers, at, bytes, rows = ARGV, { 0 }, 2, 0, -1
local enough = tonumber(given[1])

local function weight(answer)
  if type(answer) == 'string' then return #answer end
  local bytes = 0
  if type(answer) == 'table' then
    for _, text in ipairs(answer) do bytes = bytes + #text end
  end
  return bytes
end

while given[at] and (rows < 1 or bytes < enough) do
  local questions = tonumber(given[at])
  at = at + 1
  for _ = 1, questions do
    local command, key, texts = given[at], KEYS[tonumber(given[at + 1])], tonumber(given[at + 2])
    local answer = redis.pcall(command, key, unpack(given, at + 3, at + 2 + texts))
    at = at + 3 + texts
    answers[#answers + 1] = answer
    if rows >= 0 then bytes = bytes + weight(answer) end
  end
  rows = rows + 1
end

answers[1] = rows
return answers
