import { throwInputError } from './client-error.ts'
import type { Connection, OpenStream } from './connection.ts'
import {
  ClientCancelBulkDocument,
  ClientCancelJobsDocument,
  ClientDiscardJobsDocument,
  ClientReplayJobsDocument,
  ClientStopJobsDocument,
  ClientWatchBulkDocument,
  type ClientBulkJobsFragment,
  type ClientBulkOperationFragment,
  type ClientCancelBulkMutation,
  type ClientWatchBulkSubscription,
  type JobSelectionInput,
} from './generated/graphql.ts'
import { reopen } from './reopen.ts'
import { sendRepeatedly } from './repeat.ts'

/** What can be done to many jobs at once. */
export type BulkActionName = 'replay' | 'discard' | 'cancel' | 'stop'

/** How far an operation is. */
export type BulkState = ClientBulkOperationFragment

/** What an operation would take: how many, by kind and tenant, and some of the jobs. */
export type BulkPreview = NonNullable<ClientBulkJobsFragment['preview']>

export interface BulkOptions {
  /** Refused with COUNT_MISMATCH where another number matches. Unless set: what `preview` counted, if it was called and could count all. */
  readonly expectedCount?: number
  /** At most so many jobs, oldest first; 10,000 unless set. */
  readonly limit?: number
  /** At most so many jobs a second. */
  readonly ratePerSecond?: number
  /** The same key is the same operation; drawn at random unless set. */
  readonly idempotencyKey?: string
  /** Why, for the audit log. */
  readonly reason?: string
}

/** An action on many jobs that has not begun. */
export interface Bulk {
  /** Looks, and changes nothing. Throws ClientError. */
  preview(): Promise<BulkPreview>
  /** Begins. What stands in the way is thrown as a ClientError. Tried again while the service cannot be reached. */
  start(options?: BulkOptions): Promise<BulkRun>
}

/** An operation that has begun. It goes on whether anybody watches or not. */
export interface BulkRun {
  readonly id: string
  /** Its state at once, then its progress, until it has ended. */
  watch(options?: { readonly signal?: AbortSignal }): AsyncGenerator<BulkState, void>
  /** Waits until it has ended (COMPLETED, CANCELLED or FAULTED). Throws where `signal` fired before. */
  wait(options?: { readonly signal?: AbortSignal }): Promise<BulkState>
  /** Ends it early; what is done stays done. */
  abort(): Promise<BulkState>
}

const documents = {
  replay: ClientReplayJobsDocument,
  discard: ClientDiscardJobsDocument,
  cancel: ClientCancelJobsDocument,
  stop: ClientStopJobsDocument,
} as const

/** An action on the jobs of `select`; nothing is sent yet. */
export function bulk(
  connection: Connection,
  openStream: OpenStream,
  action: BulkActionName,
  select: JobSelectionInput,
): Bulk {
  const query = documents[action].toString()
  let counted: number | undefined

  const ask = async (input: object, preview: boolean): Promise<ClientBulkJobsFragment> => {
    const variables = { input: { select, ...input }, preview }
    const data = await sendRepeatedly<Record<string, ClientBulkJobsFragment>>(connection, { query, variables })
    const result = data[`${action}Jobs`]!
    throwInputError(result.errors)
    return result
  }

  return {
    async preview() {
      const preview = (await ask({ dryRun: true }, true)).preview!
      counted = preview.matched.precision === 'EXACT' ? preview.matched.count : undefined
      return preview
    },
    async start({ expectedCount = counted, idempotencyKey = crypto.randomUUID(), ...options } = {}) {
      const { operation } = await ask({ ...options, dryRun: false, expectedCount, idempotencyKey }, false)
      return bulkRun(connection, openStream, operation!.id)
    },
  }
}

/** An operation that was begun here or elsewhere. */
export function bulkRun(connection: Connection, openStream: OpenStream, id: string): BulkRun {
  const watch = async function* ({ signal = new AbortController().signal } = {}): AsyncGenerator<BulkState, void> {
    const operation = { query: ClientWatchBulkDocument.toString(), variables: { id } }
    let told = ''
    for await (const { bulkOperation } of reopen<ClientWatchBulkSubscription>(
      connection,
      openStream,
      () => operation,
      signal,
    )) {
      // Each reconnect begins with the present state.
      const state = JSON.stringify(bulkOperation)
      if (state === told) continue
      told = state
      yield bulkOperation
    }
  }
  return {
    id,
    watch,
    async wait({ signal } = {}) {
      let last: BulkState | undefined
      for await (const state of watch(signal && { signal })) last = state
      signal?.throwIfAborted()
      return last!
    },
    async abort() {
      const operation = { query: ClientCancelBulkDocument.toString(), variables: { id } }
      const { cancelBulkOperation } = await sendRepeatedly<ClientCancelBulkMutation>(connection, operation)
      throwInputError(cancelBulkOperation.errors)
      return cancelBulkOperation.operation!
    },
  }
}
