#!lua
-- Writes the marker of a database, unless it changed since it was read.
--   KEYS  1 the marker
--   ARGV  1 the catalogue as it was read, then fields and values
local found = redis.call('TYPE', KEYS[1])['ok']
if found ~= 'none' and found ~= 'hash' then return redis.status_reply(found) end
if (redis.call('HGET', KEYS[1], 'catalogue') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 1
