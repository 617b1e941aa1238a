import { once } from 'node:events'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'

/** `closed`: refuses and cuts; `hole`: carries nothing, says nothing. */
export type ProxyMode = 'open' | 'closed' | 'hole'

/** A way to a server that can be disturbed. */
export interface TcpProxy {
  /** The server's URL by way of the proxy. */
  readonly url: string
  mode(mode: ProxyMode): void
  /** Swallows the answers on every connection whose client speaks of this from now on, until it is cut. */
  mute(word: string): void
  /** Breaks the connections of this moment; new ones are as the mode says. */
  cut(): void
  /** How many connections are open. */
  connections(): number
  close(): Promise<void>
}

/** Opens a way of its own to the server of a `postgresql://` URL whose host is a folder with a socket. */
export async function tcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const socketPath = `${target.searchParams.get('host')}/.s.PGSQL.5432`
  target.searchParams.delete('host')
  return proxyOf(target, () => createConnection(socketPath))
}

/** Opens a way of its own to the server of an `http://` URL. */
export async function httpProxy(url: string): Promise<TcpProxy> {
  const target = new URL(url)
  return proxyOf(target, () => createConnection(Number(target.port), target.hostname))
}

async function proxyOf(target: URL, connect: () => Socket): Promise<TcpProxy> {
  const pairs = new Set<{ client: Socket; server: Socket }>()
  let mode: ProxyMode = 'open'
  let muted: string | undefined

  const cut = (): void => {
    for (const { client, server } of pairs) {
      client.destroy()
      server.destroy()
    }
  }
  const listener = createServer((client) => {
    if (mode === 'closed') {
      client.destroy()
      return
    }
    const server = connect()
    const pair = { client, server }
    let mute = false
    pairs.add(pair)
    // What is held back in a hole arrives when it is open again, as on a network.
    const carry = (from: Socket, to: Socket): void => {
      from.on('data', (bytes) => {
        if (from === client && muted !== undefined && bytes.includes(muted)) mute = true
        if (mute && from === server) return
        if (mode === 'hole') {
          from.pause()
          from.unshift(bytes)
        } else to.write(bytes)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    carry(client, server)
    carry(server, client)
    if (mode === 'hole') for (const socket of [client, server]) socket.pause()
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)

  return {
    url: url.href,
    mode(next) {
      mode = next
      if (next === 'closed') cut()
      if (next === 'open')
        for (const { client, server } of pairs) for (const socket of [client, server]) socket.resume()
    },
    mute: (word) => void (muted = word),
    cut() {
      muted = undefined
      cut()
    },
    connections: () => pairs.size,
    async close() {
      cut()
      listener.close()
      await once(listener, 'close')
    },
  }
}
