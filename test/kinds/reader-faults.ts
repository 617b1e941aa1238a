/** A reader that goes wrong in the way that its order's path names. */
process.once('message', ({ path }: { path: string }) => {
  switch (path) {
    case 'loop':
      for (;;);
    case 'hang':
      return setInterval(() => undefined, 1_000)
    case 'memory': {
      const kept: Buffer[] = []
      return setInterval(() => kept.push(Buffer.alloc(64 * 1024 * 1024, 1)), 20)
    }
    case 'heap': {
      const big = Array.from({ length: 5_000_000 }, (_, index) => index + 0.5)
      const kept: unknown[] = []
      for (;;) kept.push([...big])
    }
    case 'crash':
      return process.abort()
    default:
      return process.send!({ type: 'failed', message: JSON.stringify(process.env) })
  }
})
