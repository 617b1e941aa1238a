import { crc32, deflateRawSync } from 'node:zlib'

/** A bomb is made once. */
const deflated = new Map<string | Buffer, Buffer>()

/** A zip file of these parts; `claimedSize` is what it says that each is unpacked. */
export function packed(
  parts: Readonly<Record<string, string | Buffer>>,
  { claimedSize }: { readonly claimedSize?: number } = {},
): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(parts)) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    const data = deflated.get(content) ?? deflateRawSync(bytes)
    deflated.set(content, data)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc32(bytes), 10)
    facts.writeUInt32LE(data.length, 14)
    facts.writeUInt32LE(claimedSize ?? bytes.length, 18)
    facts.writeUInt16LE(name.length, 22)
    files.push(Buffer.from('PK\x03\x04', 'latin1'), facts, Buffer.from(name), data)
    const entry = Buffer.alloc(42)
    entry.writeUInt16LE(20, 0)
    facts.copy(entry, 2)
    entry.writeUInt32LE(offset, 38)
    directory.push(Buffer.from('PK\x01\x02', 'latin1'), entry, Buffer.from(name))
    offset += 30 + name.length + data.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  const count = Object.keys(parts).length
  end.writeUInt16LE(count, 4)
  end.writeUInt16LE(count, 6)
  end.writeUInt32LE(list.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...files, list, Buffer.from('PK\x05\x06', 'latin1'), end])
}
