--[[
Adds document frequencies to those that all processes have counted.

KEYS[1]  sum: documents (4 bytes), then the counts of all slots (2 bytes each), big-endian
ARGV[1]  counted since: documents (4 bytes), then slot and count (2 bytes each) of every slot that has one
ARGV[2]  seconds until the sum expires

Returns the sum. The rules are those of records/feature_counts.py.
]]
local key, counted, seconds = KEYS[1], ARGV[1], ARGV[2]
local AT_ONCE = 400 -- slots; Lua passes no more than some thousand arguments

if counted == NOTHING then -- somebody only reads: an idle namespace stays empty, and expires
    return redis.call('STRLEN', key) == SUM_BYTES and redis.call('GET', key) or string.rep('\0', SUM_BYTES)
end
if redis.call('STRLEN', key) ~= SUM_BYTES then redis.call('SET', key, string.rep('\0', SUM_BYTES)) end

local command = {}
local function send()
    if #command > 0 then redis.call('BITFIELD', key, 'OVERFLOW', 'SAT', unpack(command)) end
    command = {}
end

for at = 5, #counted - 3, 4 do
    local slot, count = struct.unpack('>I2I2', counted, at)
    local place = #command
    command[place + 1], command[place + 2] = 'INCRBY', 'u16'
    command[place + 3], command[place + 4] = 32 + 16 * slot, count
    if place + 4 >= 4 * AT_ONCE then send() end
end
send()

local sum = redis.call('GET', key)
local documents = struct.unpack('>I4', sum) + struct.unpack('>I4', counted)
if documents >= MOST_DOCUMENTS then
    documents = math.floor(documents / 2)
    local halved = {}
    for at = 5, SUM_BYTES - 1, 2 do
        local high, low = string.byte(sum, at, at + 1)
        halved[#halved + 1] = struct.pack('>I2', math.floor((high * 256 + low) / 2))
    end
    sum = struct.pack('>I4', documents) .. table.concat(halved)
    redis.call('SET', key, sum)
else
    redis.call('SETRANGE', key, 0, struct.pack('>I4', documents))
    sum = struct.pack('>I4', documents) .. string.sub(sum, 5)
end
redis.call('EXPIRE', key, seconds)
return sum
