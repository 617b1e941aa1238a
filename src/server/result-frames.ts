import type { Writable } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Outcome } from './call.ts'
import { handleOf, writeAtOnce, type Handle } from './direct-write.ts'
import { outcomeText } from './outcome-text.ts'
import type { ResultWriter } from './shared-results.ts'

/** Text frame, whole (RFC 6455, section 5.2); what a server sends is not masked. */
const textFrame = 0x81
const beforeId = Buffer.from('{"id":')
const beforeResult = Buffer.from(',"type":"next","payload":')
const brace = '}'.charCodeAt(0)

/** Frames of results in a row for all whose ids are of this length: but for the ids they are the same. */
interface Frames {
  readonly outcomes: readonly Outcome[]
  readonly idLength: number
  readonly bytes: Buffer
  /** Where the id stands in each. */
  readonly idsAt: readonly number[]
}

/** Those written last, as long as their bytes may be used again. */
let latest: Frames | undefined

/**
 * Writes results of one subscription to the wire itself, several of them as one buffer: that costs what a single one does. Without
 * compression ws writes each frame whole and at once, so that ours come between its own. A class, as thousands of them are gone through
 * for each event: what hangs together lies together.
 */
export class FrameWriter implements ResultWriter {
  readonly #socket: WebSocket
  readonly #wire: Writable
  readonly #handle: Handle | null
  readonly #idText: Buffer
  readonly #untilRoom: () => Promise<void>

  /** `untilRoom`: when the wire has taken what it holds back. */
  constructor(socket: WebSocket, wire: Writable, id: string, untilRoom: () => Promise<void>) {
    this.#socket = socket
    this.#wire = wire
    this.#handle = handleOf(wire)
    this.#idText = Buffer.from(JSON.stringify(id))
    this.#untilRoom = untilRoom
  }

  writeOne(outcome: Outcome): Promise<void> | undefined {
    const idLength = this.#idText.length
    if (latest?.outcomes.length !== 1 || latest.outcomes[0] !== outcome || latest.idLength !== idLength)
      latest = framesOf([outcome], idLength)
    return this.#send(latest)
  }

  write(outcomes: readonly Outcome[]): Promise<void> | undefined {
    const idLength = this.#idText.length
    if (latest === undefined || latest.idLength !== idLength || !isSame(latest.outcomes, outcomes))
      latest = framesOf(outcomes, idLength)
    return this.#send(latest)
  }

  /**
   * They are made once for all that they go to in a row; each puts its id in. What the system has a copy of may be used again; else the
   * buffer is left to the wire, and the next one makes another.
   */
  #send({ bytes, idsAt }: Frames): Promise<void> | undefined {
    if (this.#socket.readyState !== this.#socket.OPEN) return undefined
    for (const at of idsAt) bytes.set(this.#idText, at)
    const taken = this.#handle !== null && writeAtOnce(this.#wire, this.#handle, bytes)
    if (taken === true) return undefined
    // A slow client is not pulled.
    if (taken !== false) {
      latest = undefined
      return taken
    }
    if (!this.#wire.writable) return undefined
    const hasRoom = this.#wire.write(bytes)
    if (this.#wire.writableLength > 0) latest = undefined
    return hasRoom ? undefined : this.#untilRoom()
  }
}

const isSame = (some: readonly Outcome[], others: readonly Outcome[]): boolean =>
  some.length === others.length && some.every((outcome, i) => outcome === others[i])

function framesOf(outcomes: readonly Outcome[], idLength: number): Frames {
  const texts = outcomes.map(outcomeText)
  const lengths = texts.map((text) => beforeId.length + idLength + beforeResult.length + text.length + 1)
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headerBytes(length) + length, 0))
  const idsAt: number[] = []
  let at = 0
  for (const [i, text] of texts.entries()) {
    at = writeHeader(bytes, at, lengths[i]!)
    at += beforeId.copy(bytes, at)
    idsAt.push(at)
    at += idLength
    at += beforeResult.copy(bytes, at)
    at += text.copy(bytes, at)
    bytes[at++] = brace
  }
  return { outcomes, idLength, bytes, idsAt }
}

const headerBytes = (length: number): number => (length < 126 ? 2 : length < 65_536 ? 4 : 10)

function writeHeader(bytes: Buffer, at: number, length: number): number {
  bytes[at] = textFrame
  if (length < 126) return bytes.writeUInt8(length, at + 1)
  if (length < 65_536) {
    bytes[at + 1] = 126
    return bytes.writeUInt16BE(length, at + 2)
  }
  bytes[at + 1] = 127
  return bytes.writeBigUInt64BE(BigInt(length), at + 2)
}
