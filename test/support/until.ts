import { setTimeout as delay } from 'node:timers/promises'

/** Waits until the condition holds and answers its value; after `withinMs` throws an error that names what was awaited. */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  what: string,
  withinMs = 10_000,
): Promise<Exclude<Value, null | undefined | false | 0 | ''>> {
  const end = performance.now() + withinMs
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<Value, null | undefined | false | 0 | ''>
    if (performance.now() > end) throw new Error(`Waited ${withinMs} ms in vain until ${what}.`)
    await delay(5)
  }
}
