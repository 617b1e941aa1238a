import type { Outcome } from './call.ts'

const texts = new WeakMap<Outcome, Buffer>()

/** An outcome as JSON; one that goes to many is serialized once. */
export function outcomeText(outcome: Outcome): Buffer {
  let text = texts.get(outcome)
  if (text === undefined) texts.set(outcome, (text = Buffer.from(JSON.stringify(outcome))))
  return text
}
