-- Gives a serial key that nobody has to a job that runs beside its last holder, if there is one: somebody had deleted who has the key.
-- Returns whether there is.
--- @include "lib/keys"
--- @include "lib/jobs"
--- @include "lib/key_holders"
local function give_key(key)
  for _, id in ipairs(redis.call('SMEMBERS', BESIDE)) do
    local job = load_job(id)
    if job and job.serial_key == key and KEY_HOLDERS[job.state] then
      redis.call('HSET', KEYED, key, id)
      redis.call('SREM', BESIDE, id)
      return true
    end
  end
  return false
end
