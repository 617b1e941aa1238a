import { randomBytes } from 'node:crypto'

/** 63 random bits. Never derived from the row: a claim that was not flushed when the server died can be made again with the same revision. */
export function drawLease(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString()
}
