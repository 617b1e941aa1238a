import type { JobStatus } from './lifecycle.ts'
import type { Caller, Scope } from './permissions.ts'

export type JobAction = keyof typeof actions

/** From which statuses a person may ask for what, and the scope that it takes. */
const actions = {
  CANCEL: { from: ['pending', 'running'], scope: 'CONTROL_JOBS' },
  STOP: { from: ['pending', 'running', 'dlq'], scope: 'MANAGE_METADATA' },
  REPLAY: { from: ['dlq', 'failed'], scope: 'MANAGE_METADATA' },
  DISCARD: { from: ['pending', 'dlq', 'failed'], scope: 'MANAGE_METADATA' },
  RUN_NOW: { from: ['pending'], scope: 'CONTROL_JOBS' },
  RESCHEDULE: { from: ['pending'], scope: 'CONTROL_JOBS' },
  REPRIORITIZE: { from: ['pending'], scope: 'CONTROL_JOBS' },
} as const satisfies Record<string, { readonly from: readonly JobStatus[]; readonly scope: Scope }>

/** What this caller may do with a job in this status, so that buttons follow the server's rules. */
export function allowedActions(status: JobStatus, caller: Caller): JobAction[] {
  return (Object.keys(actions) as JobAction[]).filter((name) => {
    const { from, scope }: { from: readonly JobStatus[]; scope: Scope } = actions[name]
    return from.includes(status) && caller.scopes.has(scope)
  })
}
