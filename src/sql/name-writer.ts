import { statement } from './statement.ts'

/** Triggers that enqueue in a writer's transaction cannot know on whose behalf it writes. */
export const nameWriter = statement<[actor: string, requestId: string, reason: string | null], { actor: string }>(
  'name_writer',
  `-- says for the rest of the transaction who is behind it, and why
select set_config('stellwerk.actor', $1::text, true) as actor, set_config('stellwerk.request_id', $2::text, true),
       set_config('stellwerk.reason', coalesce($3::text, ''), true)`,
)
