import { createServer, type AddressInfo, type Socket } from 'node:net'

/** How a scan ends: a reply; `drop`: the connection is closed; `reset`: it is torn; `hang`: nothing is said; a promise: later. */
export type ScanEnding = 'drop' | 'reset' | 'hang' | (string & {})

/** What one connection has brought. */
export interface ScriptedScan {
  readonly bytes: Buffer
  /** Whether the empty chunk at the end came. */
  readonly whole: boolean
}

export interface ClamdScript {
  readonly url: string
  /** Scans so far, in order of their ends. */
  readonly scans: readonly ScriptedScan[]
  /** Scans under way now, and the most at once so far. */
  readonly open: number
  readonly mostOpen: number
  /** Decides how a scan ends once all of it is here; undefined: clean. */
  answer: (bytes: Buffer) => ScanEnding | undefined | Promise<ScanEnding | undefined>
  /** Decides while it comes, from so many bytes on; undefined: go on. */
  interrupt: (bytes: number) => ScanEnding | undefined
  stop(): Promise<void>
}

/** A clamd that ends scans as oddly as one likes. */
export async function startClamdScript(): Promise<ClamdScript> {
  const scans: ScriptedScan[] = []
  const sockets = new Set<Socket>()
  let open = 0
  let mostOpen = 0

  const end = (socket: Socket, ending: ScanEnding): void => {
    if (ending === 'drop') socket.destroy()
    else if (ending === 'reset') socket.resetAndDestroy()
    else if (ending !== 'hang') socket.end(`${ending}\0`)
  }

  const serve = (socket: Socket): void => {
    let held = Buffer.alloc(0)
    const chunks: Buffer[] = []
    let total = 0
    let phase: 'command' | 'stream' | 'over' = 'command'

    const finish = async (ending: ScanEnding | undefined | Promise<ScanEnding | undefined>, whole: boolean) => {
      phase = 'over'
      scans.push({ bytes: Buffer.concat(chunks), whole })
      end(socket, (await ending) ?? 'stream: OK')
    }
    const command = (): void => {
      const mark = held.indexOf(0)
      if (mark < 0) return
      if (held.subarray(0, mark).toString() === 'zVERSION') {
        socket.end('ClamAV 1.4.3/1/Script\0')
        phase = 'over'
        return
      }
      held = held.subarray(mark + 1)
      phase = 'stream'
      open += 1
      mostOpen = Math.max(mostOpen, open)
      socket.once('close', () => (open -= 1))
    }
    socket.on('data', (part: Buffer) => {
      if (phase === 'over') return
      held = Buffer.concat([held, part])
      if (phase === 'command') command()
      while (phase === 'stream' && held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
        const size = held.readUInt32BE(0)
        if (size === 0) {
          void finish(script.answer(Buffer.concat(chunks)), true)
          return
        }
        chunks.push(held.subarray(4, 4 + size))
        total += size
        held = held.subarray(4 + size)
        const ending = script.interrupt(total)
        if (ending !== undefined) void finish(ending, false)
      }
    })
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const script: ClamdScript = {
    url: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    scans,
    get open() {
      return open
    },
    get mostOpen() {
      return mostOpen
    },
    answer: () => undefined,
    interrupt: () => undefined,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return script
}
