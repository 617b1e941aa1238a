import type { Completer } from './completer.ts'

/** Ends with effects on a lane of their own: what a kind's SQL waits for, other kinds do not. */
export function createTwoLaneCompleter(plain: Completer, withEffects: Completer): Completer {
  return {
    settle: (end) => (end.move === 'finish' && end.effects !== null ? withEffects : plain).settle(end),
    settleIn: plain.settleIn,
    committed: plain.committed,
    pending: () => plain.pending() + withEffects.pending(),
    async below(count) {
      await Promise.all([plain.below(count), withEffects.below(count)])
    },
    async idle() {
      // What the database refused there goes on as a failure here.
      await withEffects.idle()
      await plain.idle()
    },
  }
}
