import { expect, test } from 'vitest'
import type { HandlerContext } from '../../src/workers/handler.ts'
import { lateHandler } from '../../src/workers/late-handler.ts'

const context = {} as HandlerContext<object>

test('a handler is loaded with its first job, once for all that come', async () => {
  let loads = 0
  const handler = lateHandler<object>(async () => {
    loads += 1
    return async () => ({ result: { loads } })
  })
  expect(loads).toBe(0)
  expect(await Promise.all([handler(context), handler(context)])).toEqual([
    { result: { loads: 1 } },
    { result: { loads: 1 } },
  ])
  expect(await handler(context)).toEqual({ result: { loads: 1 } })
})

test('a job whose handler cannot be loaded fails with the cause, and the next one tries again', async () => {
  let loads = 0
  const handler = lateHandler<object>(async () => {
    loads += 1
    if (loads === 1) throw new Error('Cannot find module')
    return async () => undefined
  })
  await expect(handler(context)).rejects.toThrow('Cannot find module')
  expect(await handler(context)).toBeUndefined()
  expect(loads).toBe(2)
})
