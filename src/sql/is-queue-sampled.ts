import { statement } from './statement.ts'

export const isQueueSampled = statement<[], { sampled: boolean }>(
  'is_queue_sampled',
  `-- reads whether somebody has counted the queue in this minute
select exists (select from mdm.aa_stat_sample s where s.minute = date_trunc('minute', now())) as sampled`,
)
