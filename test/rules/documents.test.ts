import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deriveTitle } from '../../src/jobs/derive-title.ts'
import { detectLanguage } from '../../src/jobs/detect-language.ts'
import { decodeText, documentType, type DocumentType } from '../../src/jobs/document-type.ts'
import { documentWorkflow, fillIn, holds, type DocumentFacts } from '../../src/jobs/document-workflow.ts'
import { imageSize } from '../../src/jobs/image-size.ts'

const lines = (...texts: (string | readonly [string, number])[]) =>
  texts.map((text) => (typeof text === 'string' ? { text, height: 11 } : { text: text[0], height: text[1] }))
const none = { metadata: null, lines: [] }

describe('a title', () => {
  test.each([
    ['Mietvertrag Hauptstraße 5', 'Mietvertrag Hauptstraße 5'],
    ['  Annual \n report  ', 'Annual report'],
  ])('is that of the metadata: %j', (metadata, title) => {
    expect(deriveTitle({ ...none, metadata }, 'a.pdf')).toEqual({ title, source: 'metadata' })
  })

  test.each([
    'Microsoft Word - Rechnung.docx',
    'Scan_20261130',
    'scanned document 12',
    'Untitled',
    'untitled-3',
    'rechnung_final.pdf',
    'IMG_0815',
    '20261130101500',
    '0197f3c2-7a54-7b1c-9d2e-5f6a7b8c9d0e',
    'ab',
  ])('is not the junk %j', (metadata) => {
    const hints = { metadata, lines: lines('Rechnung Nr. 2026-004711') }
    expect(deriveTitle(hints, 'a.pdf')).toEqual({ title: 'Rechnung Nr. 2026-004711', source: 'content' })
  })

  test.each([
    [
      'Kündigung zum 31. Dezember 2026',
      lines(
        'Ada Lovelace',
        'Hauptstraße 5',
        '80331 München',
        'München, den 30.11.2026',
        'Kündigung zum 31. Dezember 2026',
        'Sehr geehrte Frau Rechnung,',
      ),
    ],
    ['Jahresbericht', lines('ACME GmbH', ['Jahresbericht', 28], 'Dieser Bericht beschreibt das Jahr 2026.')],
    [
      'Invoice 4711',
      lines(
        'ACME Ltd',
        '12 High Street',
        'Invoice 4711',
        'Dear customer,',
        'please find the invoice for the order of 2026 below.',
      ),
    ],
  ])('is the line that looks like one: %s', (title, all) => {
    expect(deriveTitle({ metadata: null, lines: all }, 'a.pdf')).toEqual({ title, source: 'content' })
  })

  test.each([
    ['Scan_Miet-vertrag_2024.pdf', 'Miet vertrag 2024'],
    ['2026-11-30.pdf', '2026-11-30'],
    ['.pdf', '.pdf'],
    ['Bericht+Q3.docx', 'Bericht Q3'],
  ])('is else the cleaned name of the file: %s', (filename, title) => {
    expect(
      deriveTitle({ metadata: null, lines: lines('Sehr geehrte Damen und Herren,', '80331 München') }, filename),
    ).toEqual({
      title,
      source: 'filename',
    })
  })

  test('is short, whole and never empty, whatever comes', () => {
    fc.assert(
      fc.property(
        fc.option(fc.string({ unit: 'binary' })),
        fc.array(fc.string({ unit: 'binary' })),
        fc.string({ minLength: 1 }),
        (metadata, texts, filename) => {
          const { title } = deriveTitle({ metadata, lines: lines(...texts) }, filename)
          expect(title.length).toBeGreaterThan(0)
          expect([...title].length).toBeLessThanOrEqual(200)
          expect(title).not.toMatch(/\p{Cc}/u)
        },
      ),
    )
  })
})

test.each([
  ['Wir danken für die Bestellung und bitten um Zahlung auf das Konto.', 'de'],
  ['Thank you for the order, please pay the amount to the account.', 'en'],
  ['4711 0815', null],
  ['', null],
])('the language of %j is %s', (text, language) => {
  expect(detectLanguage(text)).toBe(language)
})

describe('the type of a file', () => {
  test.each<[string, Buffer, DocumentType | null]>([
    ['PDF', Buffer.from('%PDF-1.7\n'), 'application/pdf'],
    ['PDF behind something', Buffer.from(`${'\0'.repeat(500)}%PDF-1.7`), 'application/pdf'],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'image/png'],
    ['WebP', Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1'), 'image/webp'],
    ['a text that begins with BM', Buffer.from('BMW und andere Marken, ausführlich besprochen.'), 'text/plain'],
    ['UTF-16', Buffer.from('\ufeffGrüße', 'utf16le'), 'text/plain'],
    ['Windows-1252', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'text/plain'],
    ['zip', Buffer.from('PK\x03\x04\0\0', 'latin1'), null],
    ['nothing', Buffer.alloc(0), null],
  ])('%s', (_, bytes, type) => {
    expect(documentType(bytes)).toBe(type)
  })

  test.each([
    [Buffer.from('Grüße'), 'Grüße'],
    [Buffer.from('\ufeffGrüße'), 'Grüße'],
    [Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
    [Buffer.from('Gr\xfc\xdfe \x80', 'latin1'), 'Grüße €'],
  ])('text is decoded as it is encoded', (bytes, text) => {
    expect(decodeText(bytes)).toBe(text)
  })
})

describe('the size of an image, from its header', () => {
  const u16 = (value: number) => [value >> 8, value & 255]
  test.each<[DocumentType, Buffer, { width: number; height: number }]>([
    ['image/gif', Buffer.from([...Buffer.from('GIF89a'), 0x40, 0x9c, 0x10, 0]), { width: 40_000, height: 16 }],
    [
      'image/jpeg',
      Buffer.from([0xff, 0xd8, 0xff, 0xe0, ...u16(4), 0, 0, 0xff, 0xff, 0xc2, ...u16(11), 8, ...u16(300), ...u16(200)]),
      { width: 200, height: 300 },
    ],
    [
      'image/webp',
      Buffer.from([...Buffer.from('RIFF....WEBPVP8X'), 10, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0x9c, 0, 9, 0, 0]),
      { width: 40_000, height: 10 },
    ],
  ])('%s', (type, bytes, size) => {
    expect(imageSize(type, bytes)).toEqual(size)
  })

  test('is never a crash', () => {
    const types: DocumentType[] = ['image/png', 'image/jpeg', 'image/gif', 'image/bmp', 'image/webp']
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.uint8Array({ maxLength: 64 }), (type, bytes) => {
        for (const beginning of [Buffer.alloc(0), Buffer.from([0xff, 0xd8])])
          expect(() => imageSize(type, Buffer.concat([beginning, Buffer.from(bytes)]))).not.toThrow()
      }),
    )
  })
})

describe('a workflow', () => {
  const document: DocumentFacts = {
    id: '0197f3c2-7a54-7b1c-9d2e-5f6a7b8c9d0e',
    title: 'Rechnung 7',
    filename: 'scan.PDF',
    text: 'Der Betrag ist fällig.',
    contentType: 'application/pdf',
    sizeBytes: 1_000,
    pageCount: null,
    language: 'de',
    terms: ['finance/invoice'],
  }
  const holdsFor = (conditions: unknown) =>
    holds(
      documentWorkflow.parse({ conditions, actions: [{ type: 'setField', field: 'a', value: null }] }).conditions,
      document,
    )

  test.each([
    [{}, true],
    [{ field: 'title', op: 'startsWith', value: 'rechnung' }, true],
    [{ field: 'filename', op: 'endsWith', value: '.pdf' }, true],
    [{ field: 'text', op: 'contains', value: 'FÄLLIG' }, true],
    [{ field: 'title', op: 'equals', value: 'Rechnung' }, false],
    [{ field: 'terms', op: 'contains', value: 'finance' }, true],
    [{ field: 'terms', op: 'contains', value: 'fin' }, false],
    [{ field: 'sizeBytes', op: 'lessThan', value: 1_000 }, false],
    [{ field: 'sizeBytes', op: 'atLeast', value: 1_000 }, true],
    [{ field: 'pageCount', op: 'lessThan', value: 9 }, false],
    [{ and: [{}, { not: { or: [{ field: 'language', op: 'equals', value: 'en' }] } }] }, true],
  ])('%j holds: %s', (conditions, expected) => {
    expect(holdsFor(conditions)).toBe(expected)
  })

  test('fills texts in without reaching further', () => {
    expect(fillIn('{{ document.title | upcase }} {{ document.terms | join: "," }}', document)).toBe(
      'RECHNUNG 7 finance/invoice',
    )
    expect(fillIn('[{{ document.constructor }}{{ document.text }}{{ process }}]', document)).toBe('[]')
    expect(() => fillIn('{% for i in (1..100000000) %}{{ i }}{% endfor %}', document)).toThrow(/limit/)
  })
})
