/** Looks into the directory at the end of a zip file while its bytes pass; of other files it says nothing. */
export interface ZipLimit {
  push(chunk: Buffer): void
  /** Whether a member unpacks to more than the limit, or there is a directory that cannot be read: only once all bytes have passed. */
  exceeded(): boolean
}

/** The directory of some 40,000 members; one of more is beyond what anybody sends by accident. */
const tailBytes = 4 * 1024 * 1024
const zipMark = Buffer.from('PK\x03\x04')
const endMark = Buffer.from('PK\x05\x06')
const memberMark = 0x02014b50
const unknown32 = 0xffff_ffff

/**
 * clamd cuts a member off at its MaxFileSize and may say nothing of it (seen with 1.4): a zip that says of itself that a member is larger than
 * any file may be is not let pass as clean. What lies about its sizes, or in another zip, clamd itself has to tell (docs/attachments.md).
 */
export function createZipLimit(maxBytes: number): ZipLimit {
  let head = Buffer.alloc(0)
  let tail: Buffer[] = []
  let held = 0
  return {
    push(chunk) {
      if (head.length < 4) head = Buffer.concat([head, chunk.subarray(0, 4 - head.length)])
      if (head.length === 4 && !head.equals(zipMark)) return
      tail.push(chunk)
      held += chunk.length
      if (held < 2 * tailBytes) return
      tail = [Buffer.concat(tail).subarray(-tailBytes)]
      held = tailBytes
    },
    exceeded() {
      if (!head.equals(zipMark)) return false
      return directoryExceeds(Buffer.concat(tail), maxBytes)
    },
  }
}

/** `bytes` are the last ones of the file. */
function directoryExceeds(bytes: Buffer, maxBytes: number): boolean {
  const end = bytes.lastIndexOf(endMark)
  // No directory: whatever it is, nobody unpacks it as a zip.
  if (end < 0 || end + 20 > bytes.length) return false
  let size = bytes.readUInt32LE(end + 12)
  // A zip of more than 4 GB, or many members: its directory's size stands in a record of its own.
  if (size === unknown32) {
    const record = bytes.lastIndexOf(Buffer.from('PK\x06\x06'), end)
    if (record < 0 || record + 48 > bytes.length) return true
    size = Number(bytes.readBigUInt64LE(record + 40))
  }
  if (size === 0) return false
  // Before its end stand at most the records of a zip64, 76 bytes.
  const begin = bytes.indexOf(Buffer.from('PK\x01\x02'), Math.max(0, end - size - 76))
  return size > bytes.length || begin < 0 || begin >= end || membersExceed(bytes.subarray(begin, end), maxBytes)
}

function membersExceed(directory: Buffer, maxBytes: number): boolean {
  for (let at = 0; at + 46 <= directory.length && directory.readUInt32LE(at) === memberMark;) {
    const nameBytes = directory.readUInt16LE(at + 28)
    const extraBytes = directory.readUInt16LE(at + 30)
    const size = directory.readUInt32LE(at + 24)
    const extra = directory.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes)
    if ((size === unknown32 ? size64(extra) : size) > maxBytes) return true
    at += 46 + nameBytes + extraBytes + directory.readUInt16LE(at + 32)
  }
  return false
}

/** The unpacked size of a member of 4 GB and more stands first in the extra field 1. */
function size64(extra: Buffer): number {
  for (let at = 0; at + 12 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === 1) return Number(extra.readBigUInt64LE(at + 4))
  return Infinity
}
