import { test } from 'vitest'

/** What the names of left-out tests begin with, so that the summary can tell why. */
export const LEFT_OUT = 'left out: '

/** Takes the place of a suite's tests where they cannot run, and says why: the summary repeats it. */
export function leaveOut(reason: string): void {
  test(`${LEFT_OUT}${reason}`, { skip: true }, () => {})
}
