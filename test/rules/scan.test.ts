import { describe, expect, test } from 'vitest'
import { parseScanReply } from '../../src/jobs/scan-reply.ts'
import { badFilename, isMediaType } from '../../src/jobs/upload-name.ts'
import { createZipLimit } from '../../src/workers/handlers/scan/zip-limit.ts'
import { zip } from '../support/zip.ts'

describe('what clamd says', () => {
  test.each([
    ['stream: OK', 'clean', null],
    ['stream: Eicar-Test FOUND', 'infected', 'Eicar-Test'],
    ['stream: Name with blanks FOUND', 'infected', 'Name with blanks'],
    ['stream: Heuristics.Encrypted.PDF FOUND', 'unscannable', 'Heuristics.Encrypted.PDF'],
    ['stream: Heuristics.Limits.Exceeded.MaxRecursion FOUND', 'unscannable', 'Heuristics.Limits.Exceeded.MaxRecursion'],
    ['stream: Heuristics.Phishing.Email.SpoofedDomain FOUND', 'infected', 'Heuristics.Phishing.Email.SpoofedDomain'],
    ['INSTREAM size limit exceeded. ERROR', 'unscannable', 'Limits.StreamMaxLength'],
  ])('%s', (reply, verdict, signature) => {
    expect(parseScanReply(reply)).toEqual({ verdict, signature })
  })

  test.each([
    '',
    'OK',
    'stream: ',
    'stream: FOUND',
    'stream: OK ERROR',
    'stream: ok',
    'other: OK',
    'stream: x ERROR',
    'UNKNOWN COMMAND',
  ])('%j is no verdict', (reply) => {
    expect(parseScanReply(reply).verdict).toBe('fault')
  })
})

describe('names and types of uploads', () => {
  test.each(['a.pdf', 'größe (1).txt', '文書.docx', '.hidden', 'a..b', "O'Brien.txt"])('%s is a name', (name) => {
    expect(badFilename(name)).toBeNull()
  })
  test.each(['', ' ', ' a', 'a ', '.', '..', 'a/b', 'a\\b', 'a\nb', 'a\0', 'a\u202eb', '\ud800', 'x'.repeat(256)])(
    '%j is none',
    (name) => {
      expect(badFilename(name)).not.toBeNull()
    },
  )
  test.each(['text/plain', 'text/csv; charset=utf-8', 'application/vnd.ms-excel', 'a/b;c="d e"'])(
    '%s is a type',
    (type) => {
      expect(isMediaType(type)).toBe(true)
    },
  )
  test.each(['', 'text', 'text/', '/plain', 'text/plain;', 'text/plain\r\nx: y', 'text/pläin', 'a/b; c'])(
    '%j is none',
    (type) => {
      expect(isMediaType(type)).toBe(false)
    },
  )
})

describe('zip members that are too large', () => {
  const exceeds = (bytes: Buffer, chunk = 1_000): boolean => {
    const limit = createZipLimit(10_000)
    for (let at = 0; at < bytes.length; at += chunk) limit.push(bytes.subarray(at, at + chunk))
    return limit.exceeded()
  }
  const of = (size: number): Buffer => zip({ 'small.txt': Buffer.from('small'), 'large.bin': Buffer.alloc(size) })

  test('are found by what the directory says', () => {
    expect(exceeds(of(10_000))).toBe(false)
    expect(exceeds(of(10_001))).toBe(true)
    expect(exceeds(of(10_001), 1)).toBe(true)
    expect(exceeds(Buffer.concat([of(10_001), Buffer.from('a comment behind it')]))).toBe(true)
  })
  test('of a zip64 too', () => {
    const bytes = of(10_001)
    const at = bytes.indexOf(Buffer.from('PK\x01\x02'), bytes.indexOf(Buffer.from('PK\x01\x02')) + 1)
    // Its size stands in an extra field that is not there.
    bytes.writeUInt32LE(0xffff_ffff, at + 24)
    expect(exceeds(bytes)).toBe(true)
  })
  test('a directory that reaches before what is held of the file is not let pass', () => {
    const bytes = of(5)
    const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06'))
    bytes.writeUInt32LE(0x0fff_ffff, end + 12)
    expect(exceeds(bytes)).toBe(true)
  })
  test('a long file is held in part only, its directory is read all the same', () => {
    const filler = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, randomText(9_000)]))
    expect(exceeds(zip({ ...filler, 'large.bin': Buffer.alloc(10_001) }), 64)).toBe(true)
    expect(exceeds(zip(filler), 64)).toBe(false)
  })
  test.each([
    Buffer.alloc(0),
    Buffer.from('PK'),
    Buffer.from('PK\x03\x04'),
    Buffer.from('text that ends with PK\x05\x06'),
    Buffer.alloc(20_000),
  ])('no zip at all: %#', (bytes) => {
    expect(exceeds(bytes)).toBe(false)
  })
})

function randomText(length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => Math.floor(Math.random() * 256)))
}
