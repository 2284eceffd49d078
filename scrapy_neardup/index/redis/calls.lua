--[[
Carries out commands one after the other, and returns a list of their answers: one answer is read faster than many.

KEYS are the keys of the commands. ARGV: for each command its name, the number of its key, the number of its arguments, and
its arguments. The command RUNS returns the time and all fields of a hash. A command that fails has its error as answer.
]]
local at, answers = 1, {}
while at < #ARGV do
    local name, key, from = ARGV[at], KEYS[tonumber(ARGV[at + 1])], at + 3
    at = from + tonumber(ARGV[at + 2])
    local answer = redis.pcall(name == 'RUNS' and 'HGETALL' or name, key, unpack(ARGV, from, at - 1))
    if name == 'RUNS' and not answer.err then answer = { redis.call('TIME'), answer } end
    answers[#answers + 1] = answer
end
return answers
