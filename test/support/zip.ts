import { crc32, deflateRawSync } from 'node:zlib'

interface ZipOptions {
  /** Marks the members as encrypted and garbles them. */
  readonly encrypted?: boolean
  /** What the members say of their unpacked size instead of the truth. */
  readonly claimedBytes?: number
}

/** A zip file of these members. */
export function zip(
  members: Readonly<Record<string, string | Buffer>>,
  { encrypted = false, claimedBytes }: ZipOptions = {},
): Buffer {
  const locals: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  for (const [name, content] of Object.entries(members)) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    const packed = encrypted
      ? Buffer.concat([Buffer.alloc(12, 7), deflateRawSync(bytes).map((byte) => byte ^ 0x5a)])
      : deflateRawSync(bytes)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(encrypted ? 1 : 0, 2)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc32(bytes), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(claimedBytes ?? bytes.length, 18)
    facts.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), facts, Buffer.from(name), packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 0]), facts, rest, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(central.length, 4)
  end.writeUInt16LE(central.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, directory, Buffer.from('PK\x05\x06'), end])
}
