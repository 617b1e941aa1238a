import { statement } from './statement.ts'

export const cancelSession = statement<[pid: number], { done: boolean }>(
  'cancel_session',
  `-- cancels what a session of ours is executing
select pg_cancel_backend($1::int) as done`,
)
