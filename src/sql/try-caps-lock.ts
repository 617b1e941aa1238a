import { statement } from './statement.ts'

export const tryCapsLock = statement<[], { taken: boolean }>(
  'try_caps_lock',
  `-- who may claim under caps, over all instances; to the end of the transaction
-- One key for all: a job may stand under up to three caps, and each claim has to see what the one before it took.
select pg_try_advisory_xact_lock(hashtextextended('stellwerk caps', 0)) as taken`,
)
