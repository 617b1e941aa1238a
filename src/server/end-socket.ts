import type { Duplex } from 'node:stream'

const closesWithinMs = 2_000

/** Sends the last words. Who then does not close its own side would keep the socket for as long as it likes, and a stop waiting. */
export function endSocket(socket: Duplex, words: string): void {
  const late = setTimeout(() => socket.destroy(), closesWithinMs)
  socket.once('close', () => clearTimeout(late))
  socket.end(words)
}
