"""The steps of the Redis backend, each one Lua script and so atomic.

`KEYS[1]` is the worker's hash and `KEYS[2]` the source's, `ARGV[1]` the worker's id. The JSON of a state is put together by hand:
Redis' encoder rounds numbers to 14 digits.
"""

_COMMON = """
local function decoded(text)
    if not text then return nil end
    local fine, value = pcall(cjson.decode, text)
    return fine and type(value) == 'table' and value or nil
end

local function ranks_of(worker)
    local ranks = {}
    for _, field in ipairs(redis.call('HKEYS', worker)) do
        if string.match(field, '^%d+$') then ranks[#ranks + 1] = field end
    end
    return ranks
end

-- The rank that stands for a worker: the one named in its source's hash, or else the lowest.
local function shown_rank(worker, named)
    local rank = tonumber(named) or tonumber((decoded(named) or {}).worker_rank)
    if rank then
        local field = string.format('%.0f', rank)
        if redis.call('HEXISTS', worker, field) == 1 then return field end
    end
    local ranks = ranks_of(worker)
    table.sort(ranks, function(a, b) return tonumber(a) < tonumber(b) end)
    return ranks[1]
end

-- The state of a rank; a record from before there was a small field is read whole, once.
local function state_of(worker, rank)
    local state = decoded(redis.call('HGET', worker, 'status:' .. rank))
        or decoded(redis.call('HGET', worker, rank)) or {}
    state.updated_at = tonumber(state.updated_at) or 0
    return state
end

local function load_members(state)
    local load = 'null'
    if type(state.source_load) == 'number' then
        load = string.format('%.17g', state.source_load)
        if not string.find(load, '[.e]') then load = load .. '.0' end
    end
    local members = '"source_load":' .. load
    if type(state.source_load_text) == 'string' then
        members = members .. ',"source_load_text":' .. cjson.encode(state.source_load_text)
    end
    return members
end

local function small_text(rank, status, updated_at, load, state)
    local accelerator = type(state.accelerator) == 'string' and state.accelerator or ''
    local topology = type(state.topology) == 'table' and state.topology or {}
    return '{"worker_rank":' .. rank .. ',"status":' .. status .. ',"updated_at":' .. updated_at .. ',' .. load
        .. ',"accelerator":' .. cjson.encode(accelerator) .. ',"topology":' .. cjson.encode(topology) .. '}'
end

local function store(worker, source, worker_id, rank, small)
    redis.call('HSET', worker, 'status:' .. rank, small)
    local named = redis.call('HGET', source, worker_id)
    if not named then
        redis.call('HSET', source, worker_id, rank)
    elseif tonumber((decoded(named) or {}).worker_rank) == tonumber(rank) then
        -- A Rust server put a copy here, and lists from it.
        redis.call('HSET', source, worker_id, small)
    end
end
"""

PUBLISH = """
-- ARGV: worker id, rank, record, small field, attributes
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3], 'status:' .. ARGV[2], ARGV[4])
redis.call('HSET', KEYS[2], '__attributes__', ARGV[5], ARGV[1], ARGV[2])
"""

UPDATE_STATE = (
    _COMMON
    + """
-- ARGV: worker id, rank, status, time, members of the load, most that clocks differ. Returns -1 without such a record, 0 for an older
-- update, else 1.
local rank = ARGV[2]
if redis.call('HEXISTS', KEYS[1], rank) == 0 then return -1 end
-- Half of a registration, such as eviction leaves, is none: the source is to publish again.
if redis.call('HEXISTS', KEYS[2], '__attributes__') == 0 then return -1 end
local state = state_of(KEYS[1], rank)
local behind = state.updated_at - tonumber(ARGV[4])
if behind > 0 and behind <= tonumber(ARGV[6]) then return 0 end
store(KEYS[1], KEYS[2], ARGV[1], rank, small_text(rank, ARGV[3], ARGV[4], ARGV[5], state))
return 1
"""
)

GET = (
    _COMMON
    + """
-- ARGV: worker id. Returns the source's attributes, the shown rank, its record and its small field.
local rank = shown_rank(KEYS[1], redis.call('HGET', KEYS[2], ARGV[1]))
if not rank then return false end
local fields = redis.call('HMGET', KEYS[1], rank, 'status:' .. rank)
return {redis.call('HGET', KEYS[2], '__attributes__'), rank, fields[1], fields[2]}
"""
)

SUMMARIES = (
    _COMMON
    + """
-- KEYS: hashes of sources. Returns for each its attributes and, of all workers in one text, the id as JSON, the shown rank and the
-- small field, with NUL between them: Redis and its client would take longer over many short replies.
local answer = {}
for number, source in ipairs(KEYS) do
    local attributes, rows = false, {}
    -- Another program may have a key that looks like a source's.
    local fields = redis.call('TYPE', source).ok == 'hash' and redis.call('HGETALL', source) or {}
    for i = 1, #fields, 2 do
        if fields[i] == '__attributes__' then
            attributes = fields[i + 1]
        else
            local worker = source .. ':' .. fields[i]
            local rank = shown_rank(worker, fields[i + 1])
            if rank then
                local small = redis.call('HGET', worker, 'status:' .. rank)
                if not small then
                    local state = state_of(worker, rank)
                    local time = string.format('%.0f', state.updated_at)
                    small = small_text(rank, tonumber(state.status) or 0, time, load_members(state), state)
                end
                rows[#rows + 1] = cjson.encode(fields[i])
                rows[#rows + 1] = rank
                rows[#rows + 1] = string.gsub(small, '%z', ' ')
            end
        end
    end
    answer[number] = {attributes, table.concat(rows, '\\0')}
end
return answer
"""
)

MARK_STALE = (
    _COMMON
    + """
-- ARGV: worker id, latest time. Returns whether a rank was READY or INITIALIZING, not updated later, and is STALE now.
local marked = 0
for _, rank in ipairs(ranks_of(KEYS[1])) do
    local state = state_of(KEYS[1], rank)
    local status = tonumber(state.status)
    if (status == 1 or status == 2) and state.updated_at <= tonumber(ARGV[2]) then
        local time = string.format('%.0f', state.updated_at)
        store(KEYS[1], KEYS[2], ARGV[1], rank, small_text(rank, 3, time, load_members(state), state))
        marked = 1
    end
end
return marked
"""
)

REMOVE = (
    _COMMON
    + """
-- ARGV: worker id, latest time. Returns whether the worker was there, with no rank updated later, and is gone now.
local ranks = ranks_of(KEYS[1])
if #ranks == 0 then return 0 end
for _, rank in ipairs(ranks) do
    if state_of(KEYS[1], rank).updated_at > tonumber(ARGV[2]) then return 0 end
end
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('HLEN', KEYS[2]) == redis.call('HEXISTS', KEYS[2], '__attributes__') then redis.call('DEL', KEYS[2]) end
return 1
"""
)
