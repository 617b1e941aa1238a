import type { Completer, End } from './completer.ts'
import type { FollowedLane } from './followed-lane.ts'

interface Lanes {
  readonly plain: Completer
  readonly withEffects: Completer
  readonly followed: FollowedLane
}

/** Ends that run a kind's own SQL or code go on lanes of their own: what it waits for, other kinds do not. */
export function createCompleterLanes({ plain, withEffects, followed }: Lanes): Completer {
  // What the database refuses with effects goes on as a failure, and what cannot be followed goes on alone.
  const lanes = [withEffects, followed, plain] as const
  const settle = (end: End): void => {
    if (end.move === 'finish') (end.effects === null ? plain : withEffects).settle(end)
    else if (followed.takes(end)) followed.settle(end)
    else plain.settle(end)
  }
  return {
    settle,
    settleIn: plain.settleIn,
    committed: plain.committed,
    pending: () => lanes.reduce((sum, lane) => sum + lane.pending(), 0),
    async below(count) {
      // Each below its part, so that they are so together: one that was below the whole would be waited for no longer, and asked at once again.
      const part = Math.floor(count / lanes.length)
      await Promise.all(lanes.map((lane) => lane.below(part)))
    },
    async idle() {
      for (const lane of lanes) await lane.below(0)
    },
  }
}
