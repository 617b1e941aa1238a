import type { Listener } from '../db/listen.ts'
import type { Queryable } from '../sql/statement.ts'
import { packHints, unpackHints, type ProgressHint } from './progress-hint.ts'
import { notifyWakeup } from '../sql/notify-wakeup.ts'

/**
 * What changed: `work` = jobs may be due, `journal` = there is something to tell subscribers, `control` = a pause, a limit, a stop request,
 * a bulk operation, `rights` = a key or a tenant lost what it had.
 * A signal only says "look": it may be lost, doubled or late, and nothing but latency depends on it.
 */
export type Topic = 'work' | 'journal' | 'control' | 'rights'

/** Of which kinds jobs have come that are due. Null: of any, or there may be room for what waits, or something waits for its time. */
export type DueKinds = ReadonlySet<string> | null

export interface Wakeup {
  /** Tells this process at once, and the other instances at most every 20 ms. Call it after the commit. `kinds`: all that is new for `work`. */
  signal(topic: Topic, kinds?: DueKinds): void
  on(topic: Topic, listener: (kinds: DueKinds) => void): () => void
  /** A progress report: to this process' listeners at once, to the other instances at most every 20 ms, of each job the latest. */
  tellProgress(hint: ProgressHint): void
  onProgress(listener: (hint: ProgressHint) => void): () => void
  /** How many other instances live, as far as is known: where there are none nothing is sent (FAULTS P03), until one is heard. */
  others(living: number): void
  /** Whether the other instances are heard: without it only the poll finds what they did. */
  isConnected(): boolean
  /** What carries it from one instance to another. */
  readonly driver: 'POSTGRES' | 'REDIS'
  start(): Promise<void>
  stop(): Promise<void>
}

const topics: readonly Topic[] = ['work', 'journal', 'control', 'rights']
/** What an empty notification means: `mdm.enqueue_job` sends one a transaction, and limits and pauses are not read anew for that. */
const ofAnEnqueue: readonly Topic[] = ['work', 'journal']
/** The last word of a notification: whom it does not concern makes no statement. */
const kindsWord = 'kinds='
/** Of more it is told that they are any: a notification holds 8,000 bytes. */
const mostKindsTold = 50
/** NOTIFY serialises commits: one in 20 ms an instance is free within noise, one a job halves the drain. */
const notifyEveryMs = 20
/** Reports for the other instances in one go, and how many wait; what is dropped they find on the row, within a second or two. */
const mostReportsAtOnce = 500
const mostReportsWaiting = 10_000

interface WakeupDeps {
  readonly instanceId: string
  /** Where NOTIFY is sent from: never a job's transaction. */
  readonly db: Queryable
  /** Hears the other instances and `mdm.enqueue_job` called by others. */
  readonly listener: Listener
}

/** Wake-ups inside the process and, by NOTIFY, between instances. */
export function createWakeup({ instanceId, db, listener }: WakeupDeps): Wakeup {
  const listeners: Record<Topic, Set<(kinds: DueKinds) => void>> = {
    work: new Set(),
    journal: new Set(),
    control: new Set(),
    rights: new Set(),
  }
  const outgoing = new Set<Topic>()
  /** Of what is outgoing for `work`. */
  let outgoingKinds: DueKinds = new Set()
  const progressListeners = new Set<(hint: ProgressHint) => void>()
  const outgoingProgress = new Map<string, ProgressHint>()
  let timer: NodeJS.Timeout | undefined
  /** Something waits to be sent. */
  let isDue = false
  let sentAt = -Infinity
  let sending: Promise<unknown> | undefined
  /** The time to send came while the last one was on its way. */
  let isLate = false
  let stopped = false
  let isAlone = false

  const tell = (topic: Topic, kinds: DueKinds): void => {
    for (const hear of listeners[topic]) hear(kinds)
  }

  const hearProgress = (hint: ProgressHint): void => {
    for (const hear of progressListeners) hear(hint)
  }

  const kindsOut = (): string[] =>
    !outgoing.has('work') || outgoingKinds === null || outgoingKinds.size > mostKindsTold
      ? []
      : [kindsWord + [...outgoingKinds].join(',')]

  const send = (): void => {
    if (!isDue) return
    // One after the other: a start would open a session for each that comes while the first is connecting, 15 ms of the server.
    isLate = sending !== undefined
    if (isLate) return
    isDue = false
    sentAt = performance.now()
    const topicsOut = outgoing.size === 0 ? [] : [[instanceId, ...outgoing, ...kindsOut()].join(' ')]
    const reports = [...outgoingProgress.values().take(mostReportsAtOnce)]
    outgoing.clear()
    outgoingKinds = new Set()
    for (const { jobId } of reports) outgoingProgress.delete(jobId)
    const hints = packHints(reports).map((text) => `${instanceId} progress ${text}`)
    // A hint that cannot be sent is not missed: the others poll.
    sending = notifyWakeup(db, [...topicsOut, ...hints])
      .catch(() => undefined)
      .then(() => {
        sending = undefined
        if (isLate) send()
      })
    if (outgoingProgress.size > 0) sendSoon()
  }

  /**
   * At the end of the turn where there was silence: to wait for company would cost the first job 20 ms, and the shortest timer 1 ms. What one turn
   * signals leaves together.
   */
  const sendSoon = (): void => {
    if (isDue) return
    isDue = true
    const waitMs = sentAt + notifyEveryMs - performance.now()
    if (waitMs > 0) timer = setTimeout(send, waitMs)
    else setImmediate(send)
  }

  return {
    driver: 'POSTGRES',
    isConnected: () => listener.connected(),
    signal(topic, kinds = null) {
      if (stopped) return
      tell(topic, kinds)
      if (isAlone) return
      outgoing.add(topic)
      if (topic === 'work') outgoingKinds = kinds === null ? null : (outgoingKinds?.union(kinds) ?? null)
      sendSoon()
    },
    tellProgress(hint) {
      if (stopped) return
      hearProgress(hint)
      if (isAlone) return
      outgoingProgress.delete(hint.jobId)
      outgoingProgress.set(hint.jobId, hint)
      if (outgoingProgress.size > mostReportsWaiting) outgoingProgress.delete(outgoingProgress.keys().next().value!)
      sendSoon()
    },
    onProgress(hear) {
      progressListeners.add(hear)
      return () => progressListeners.delete(hear)
    },
    others(living) {
      isAlone = living === 0
    },
    on(topic, hear) {
      listeners[topic].add(hear)
      return () => listeners[topic].delete(hear)
    },
    async start() {
      await listener.listen('mdm_wakeup', (payload) => {
        const [from, ...named] = payload.split(' ')
        if (from === instanceId) return
        // SQL that others call names no instance.
        if (from !== '' && from !== 'sql') isAlone = false
        if (named[0] === 'progress') {
          unpackHints(payload.slice(payload.indexOf(' progress ') + ' progress '.length)).forEach(hearProgress)
          return
        }
        const told: readonly string[] = named.length === 0 ? ofAnEnqueue : named
        const kinds = told.at(-1)!.startsWith(kindsWord)
          ? new Set(told.at(-1)!.slice(kindsWord.length).split(','))
          : null
        for (const topic of topics) if (told.includes(topic)) tell(topic, kinds)
      })
      // What was signalled while the connection was away is found by looking once.
      listener.onRestored(() => topics.forEach((topic) => tell(topic, null)))
      // Who thinks that nobody listens learns better, and counts anew.
      outgoing.add('control')
      sendSoon()
    },
    async stop() {
      stopped = true
      // What was given back at the end is somebody else's work.
      clearTimeout(timer)
      await sending
      send()
      await sending
    },
  }
}
