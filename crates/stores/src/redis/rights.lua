#!lua flags=no-writes,allow-oom
-- Which of these commands may this user not run? None of them is run.
--   ARGV  1 a key as any of the store could be, then commands; `@` stands for the key
-- A command the server does not have is one that nobody may run.
if not redis.acl_check_cmd then return redis.error_reply('ERR rights are not told') end
local denied = {}
for number = 2, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[number], '%S+') do
    words[#words + 1] = word == '@' and ARGV[1] or word
  end
  local is_known, may = pcall(redis.acl_check_cmd, unpack(words))
  if not (is_known and may) then denied[#denied + 1] = words[1] end
end
return denied
