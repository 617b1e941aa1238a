import type { Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Outcome } from './call.ts'
import { outcomeText } from './outcome-text.ts'
import type { ResultWriter } from './shared-results.ts'

/** Text frame, whole (RFC 6455, section 5.2); what a server sends is not masked. */
const textFrame = 0x81
const beforeId = Buffer.from('{"id":')
const beforeResult = Buffer.from(',"type":"next","payload":')
const brace = '}'.charCodeAt(0)

/** One result's frame for all whose ids are of this length: but for the id it is the same. */
interface Frame {
  readonly outcome: Outcome
  readonly idLength: number
  readonly bytes: Buffer
  readonly idAt: number
}

/** The frame written last, as long as its bytes may be used again. */
let latest: Frame | undefined

/**
 * Writes results of one subscription to the wire itself, several of them as one buffer: that costs what a single one does. Without
 * compression ws writes each frame whole and at once, so that ours come between its own. A class, as thousands of them are gone through
 * for each event: what hangs together lies together.
 */
export class FrameWriter implements ResultWriter {
  readonly #socket: WebSocket
  readonly #wire: Writable
  readonly #idText: Buffer
  readonly #untilRoom: () => Promise<void>

  /** `untilRoom`: when the wire has taken what it holds back. */
  constructor(socket: WebSocket, wire: Writable, id: string, untilRoom: () => Promise<void>) {
    this.#socket = socket
    this.#wire = wire
    this.#idText = Buffer.from(JSON.stringify(id))
    this.#untilRoom = untilRoom
  }

  /**
   * The frame is made once for all that it goes to in a row; each puts its id in. That the wire holds nothing back means that the system
   * has its copy; else the buffer is left to it, and the next one makes another.
   */
  writeOne(outcome: Outcome): Promise<void> | undefined {
    if (this.#socket.readyState !== this.#socket.OPEN || !this.#wire.writable) return undefined
    const idText = this.#idText
    if (latest?.outcome !== outcome || latest.idLength !== idText.length) latest = frameOf(outcome, idText.length)
    latest.bytes.set(idText, latest.idAt)
    const hasRoom = this.#wire.write(latest.bytes)
    if (this.#wire.writableLength > 0) latest = undefined
    // A slow client is not pulled.
    return hasRoom ? undefined : this.#untilRoom()
  }

  write(outcomes: readonly Outcome[]): Promise<void> | undefined {
    if (this.#socket.readyState !== this.#socket.OPEN || !this.#wire.writable) return undefined
    const frames = outcomes.map((outcome) => {
      const { bytes, idAt } = frameOf(outcome, this.#idText.length)
      bytes.set(this.#idText, idAt)
      return bytes
    })
    return this.#wire.write(Buffer.concat(frames)) ? undefined : this.#untilRoom()
  }
}

function frameOf(outcome: Outcome, idLength: number): Frame {
  const text = outcomeText(outcome)
  const length = beforeId.length + idLength + beforeResult.length + text.length + 1
  const bytes = Buffer.allocUnsafe(headerBytes(length) + length)
  const start = writeHeader(bytes, length)
  bytes.set(beforeId, start)
  const idAt = start + beforeId.length
  bytes.set(beforeResult, idAt + idLength)
  bytes.set(text, idAt + idLength + beforeResult.length)
  bytes[bytes.length - 1] = brace
  return { outcome, idLength, bytes, idAt }
}

const headerBytes = (length: number): number => (length < 126 ? 2 : length < 65_536 ? 4 : 10)

function writeHeader(bytes: Buffer, length: number): number {
  bytes[0] = textFrame
  if (length < 126) return bytes.writeUInt8(length, 1)
  if (length < 65_536) {
    bytes[1] = 126
    return bytes.writeUInt16BE(length, 2)
  }
  bytes[1] = 127
  return bytes.writeBigUInt64BE(BigInt(length), 2)
}
