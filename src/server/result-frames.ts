import type { Outcome } from './call.ts'
import { outcomeText } from './outcome-text.ts'

/** Text frame, whole (RFC 6455, section 5.2); what a server sends is not masked. */
const textFrame = 0x81
const brace = '}'.charCodeAt(0)

/** Makes the WebSocket frames of one subscription's results: several of them are one buffer, for one write to the socket. */
export function createResultFrames(id: string): (outcomes: readonly Outcome[]) => Buffer {
  const start = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`)
  return (outcomes) => {
    let bytes = 0
    for (const outcome of outcomes) {
      const length = start.length + outcomeText(outcome).length + 1
      bytes += headerBytes(length) + length
    }
    const frames = Buffer.allocUnsafe(bytes)
    let at = 0
    for (const outcome of outcomes) {
      const text = outcomeText(outcome)
      at = writeHeader(frames, at, start.length + text.length + 1)
      frames.set(start, at)
      frames.set(text, at + start.length)
      at += start.length + text.length
      frames[at] = brace
      at += 1
    }
    return frames
  }
}

const headerBytes = (length: number): number => (length < 126 ? 2 : length < 65_536 ? 4 : 10)

function writeHeader(frames: Buffer, at: number, length: number): number {
  frames[at] = textFrame
  if (length < 126) return frames.writeUInt8(length, at + 1)
  if (length < 65_536) {
    frames[at + 1] = 126
    return frames.writeUInt16BE(length, at + 2)
  }
  frames[at + 1] = 127
  return frames.writeBigUInt64BE(BigInt(length), at + 2)
}
