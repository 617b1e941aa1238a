/** Room for requests: at most 2 at once to an endpoint, 4 to a host (FAULTS H03). */
export interface Places {
  /**
   * A place, at once or after a moment. Else in how many milliseconds to come again: who is sent away comes back one after another, not
   * all at once, so that a long queue of one endpoint costs each of its jobs few claims.
   */
  take(target: Target): Promise<Place | number>
  /** In how many milliseconds the next of those that wait for a throttled endpoint is to come again. */
  after(endpointId: string, throttledMs: number): number
}

export interface Target {
  readonly endpointId: string
  /** Name and port. */
  readonly host: string
  /** It failed the last time: one request at a time, and all such endpoints together leave room to the others. */
  readonly failing: boolean
}

export interface Place {
  leave(): void
}

interface PlacesDeps {
  /** How many requests may run at once. */
  readonly most: number
  /** How many requests to failing endpoints may run at once. */
  readonly mostFailing: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

const mostAnEndpoint = 2
const mostAHost = 4
const longestWaitMs = 250
const shortestReturnMs = 100
const longestReturnMs = 60_000

interface Line {
  /** What a request takes: a moving average. */
  runMs: number
  /** When the last of those who were sent away was told to come. */
  toldMs: number
}

interface Request {
  readonly target: Target
  readonly begun: number
}

interface Waiter {
  readonly target: Target
  readonly enter: () => void
}

export function createPlaces({ most, mostFailing, now = () => performance.now() }: PlacesDeps): Places {
  // A handful of each: they are looked through rather than counted along.
  const running = new Set<Request>()
  const waiters = new Set<Waiter>()
  const lines = new Map<string, Line>()

  const lineOf = (id: string): Line => {
    let line = lines.get(id)
    if (line === undefined) lines.set(id, (line = { runMs: 20, toldMs: 0 }))
    return line
  }

  const count = (matches: (each: Target) => boolean): number =>
    [...running].filter(({ target }) => matches(target)).length

  const hasRoom = ({ endpointId, host, failing }: Target): boolean =>
    running.size < most &&
    count((each) => each.endpointId === endpointId) < (failing ? 1 : mostAnEndpoint) &&
    count((each) => each.host === host) < mostAHost &&
    (!failing || count((each) => each.failing) < mostFailing)

  const enter = (target: Target): Place => {
    const request = { target, begun: now() }
    running.add(request)
    return {
      leave() {
        if (!running.delete(request)) return
        const line = lineOf(target.endpointId)
        line.runMs += (now() - request.begun - line.runMs) * 0.2
        for (const waiter of waiters) if (hasRoom(waiter.target)) waiter.enter()
        forget(target.endpointId, line)
      },
    }
  }

  /** Endpoints come and go: what stands still is not kept. */
  const forget = (endpointId: string, line: Line): void => {
    if (line.toldMs < now() && count((each) => each.endpointId === endpointId) === 0) lines.delete(endpointId)
  }

  /** What those who are in the way take, as far as can be told: as long as usual, or as long as they have taken already. */
  const takesMs = ({ endpointId, host }: Target): number =>
    Math.max(
      lineOf(endpointId).runMs,
      ...[...running]
        .filter(({ target }) => target.endpointId === endpointId || target.host === host)
        .map(({ begun }) => now() - begun),
    )

  const told = (line: Line, earliestMs: number): number => {
    const next = Math.max(line.toldMs + line.runMs / mostAnEndpoint, earliestMs)
    // Farther ahead the guess is worth little: they come once more, and are told anew.
    line.toldMs = next > earliestMs + longestReturnMs ? earliestMs : next
    return line.toldMs - now()
  }

  const sendAway = (target: Target): number =>
    told(lineOf(target.endpointId), now() + Math.max(takesMs(target), shortestReturnMs))

  return {
    async take(target) {
      if (hasRoom(target)) return enter(target)
      const ahead = [...waiters].filter((waiter) => waiter.target.host === target.host).length
      if (target.failing || (takesMs(target) * (ahead + 1)) / mostAnEndpoint > longestWaitMs) return sendAway(target)
      return new Promise((resolve) => {
        const end = (place: Place | number): void => {
          clearTimeout(timer)
          waiters.delete(waiter)
          resolve(place)
        }
        const waiter: Waiter = { target, enter: () => end(enter(target)) }
        const timer = setTimeout(() => end(sendAway(target)), longestWaitMs)
        waiters.add(waiter)
      })
    },
    after: (endpointId, throttledMs) => told(lineOf(endpointId), now() + throttledMs),
  }
}
