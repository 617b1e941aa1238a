import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { zip } from '../support/zip.ts'
import { importFixture, type Attributes, type ImportFixture, type UploadOptions } from './import-support.ts'

let fixture: ImportFixture
beforeAll(async () => {
  fixture = await importFixture()
})
afterAll(() => fixture.stop())

const person = { name: 'text', price: 'number', born: 'date', seen: 'timestamp', active: 'boolean' } as const

/** Imports a file into a type of its own; answers what came of it. */
async function imported(
  content: string | Buffer | Readable,
  { attributes = person, ...upload }: UploadOptions & { attributes?: Attributes } = {},
) {
  const typeId = await fixture.type(attributes)
  const id = await fixture.upload(typeId, content, upload)
  const state = await fixture.ended(id)
  return {
    id,
    state,
    job: await fixture.workers.job(state.jobId),
    rows: await fixture.rows(id),
    entities: await fixture.entities(typeId),
  }
}

/** A file that is refused as a whole: a business result, with nothing in the entities. */
async function refusal(content: string | Buffer | Readable, upload: UploadOptions & { attributes?: Attributes } = {}) {
  const { state, job, entities } = await imported(content, upload)
  expect(state.status).toBe('failed')
  expect(job).toMatchObject({ status: 'done', attempts: 1, result: { status: 'failed' } })
  expect(entities).toEqual([])
  return state.error!
}

const two = { name: 'text', city: 'text' } as const
const namesOf = ({ entities }: { entities: readonly { attributes: Record<string, unknown> }[] }) =>
  entities.map(({ attributes }) => String(attributes['name'])).toSorted()

test('a plain file becomes entities with typed values', async () => {
  const { state, entities } = await imported(
    'external_key,name,price,born,seen,active\r\n' +
      'a1,Ada,12.50,1815-12-10,2026-01-31T08:30:00Z,true\r\n' +
      'a2,"Müller, ""Hans""\nBerlin",-3,,,FALSE\r\n',
  )
  expect(state).toMatchObject({
    status: 'done',
    total: 2,
    valid: 2,
    invalid: 0,
    committed: 2,
    encoding: 'utf-8',
    format: 'csv',
  })
  expect(entities).toEqual([
    {
      key: 'a1',
      version: 1,
      attributes: { name: 'Ada', price: 12.5, born: '1815-12-10', seen: '2026-01-31T08:30:00Z', active: true },
    },
    { key: 'a2', version: 1, attributes: { name: 'Müller, "Hans"\nBerlin', price: -3, active: false } },
  ])
})

describe('L02: the header', () => {
  test('L02: BOM and a quoted header with delimiter and newline', async () => {
    const { state, entities } = await imported('\uFEFF"name,\nfull",city\nAda,London\n', {
      attributes: two,
      options: { mapping: { 'name,\nfull': 'name' } },
    })
    expect(state).toMatchObject({ status: 'done', encoding: 'utf-8', committed: 1 })
    expect(entities[0]!.attributes).toEqual({ name: 'Ada', city: 'London' })
  })
  test('L02: a BOM inside the file is a character like any other', async () => {
    const { entities } = await imported('name,city\n\uFEFFAda,\uFEFF\n', { attributes: two })
    expect(entities[0]!.attributes).toEqual({ name: '\uFEFFAda', city: '\uFEFF' })
  })
  test.each(['utf-16le', 'utf-16be'] as const)('L02: a file in %s is found by its BOM', async (encoding) => {
    const bytes = Buffer.from('\uFEFFname;city\r\nJosé 😀;Köln\r\n', 'utf16le')
    const result = await imported(encoding === 'utf-16le' ? bytes : bytes.swap16(), { attributes: two })
    expect(result.state).toMatchObject({ status: 'done', encoding })
    expect(namesOf(result)).toEqual(['José 😀'])
  })
  test('L02: unknown columns, missing required ones and doubles are told together, before any row is read', async () => {
    const { code, message } = await refusal('naem,city,city\nAda,London,Paris\n', {
      attributes: { name: { type: 'text', required: true }, city: 'text' },
    })
    expect(code).toBe('bad_header')
    expect(message).toContain('"city" stands in the header twice')
    expect(message).toContain('Unknown columns: "naem"')
    expect(message).toContain('Required columns are missing: "name"')
    const [{ count }] = (await fixture.sql('select count(*)::int as count from mdm.aa_import_row where raw ? $1', [
      'naem',
    ])) as [{ count: number }]
    expect(count).toBe(0)
  })
  test('L02: a column may be mapped, left out, or written in another case', async () => {
    const { state, entities } = await imported('Full Name,note,CITY,id\nAda,x,London,7\n', {
      attributes: two,
      options: { mapping: { 'Full Name': 'name', note: null, id: 'externalKey' } },
    })
    expect(state.status).toBe('done')
    expect(entities).toEqual([{ key: '7', version: 1, attributes: { name: 'Ada', city: 'London' } }])
  })
  test('L02: a mapping that names what is not there is refused', async () => {
    const { message } = await refusal('name,city\na,b\n', {
      attributes: two,
      options: { mapping: { nmae: 'name', city: 'town' } },
    })
    expect(message).toContain('"nmae"')
    expect(message).toContain('"town"')
  })
  test.each(['constructor', 'toString', 'hasOwnProperty'])('L02: a column named %s is a column', async (name) => {
    const { rows } = await imported(`name,${name}\nAda,evil\n`, {
      attributes: two,
      options: { mapping: { [name]: 'city' } },
    })
    expect(rows).toMatchObject([{ status: 'committed', raw: { name: 'Ada', [name]: 'evil' } }])
  })
  test('L02: __proto__ is a name like others, and unknown', async () => {
    expect((await refusal('name,__proto__\nAda,evil\n', { attributes: two })).message).toContain(
      'Unknown columns: "__proto__"',
    )
  })
})

describe('L03: the encoding', () => {
  test('L03: windows-1252 is found, read and reported, with the byte that said so', async () => {
    const result = await imported(
      Buffer.from([...Buffer.from('name;city\nM'), 0xfc, ...Buffer.from('ller;'), 0x80, 0x20, 0x93, 0x94, 10]),
      { attributes: two },
    )
    expect(result.state).toMatchObject({ status: 'done', encoding: 'windows-1252' })
    expect(result.state.warning).toContain('windows-1252, since byte 0xFC in line 2 (byte offset 11) is not UTF-8.')
    expect(result.state.warning).not.toContain('mixed')
    expect(result.entities[0]!.attributes).toEqual({ name: 'Müller', city: '€ “”' })
  })
  test('L03: what is sure has no warning', async () => {
    expect((await imported('name,city\nMüller,Köln\n', { attributes: two })).state.warning).toBeNull()
    const declared = await imported(Buffer.from('name,city\nMüller,Köln\n', 'latin1'), {
      attributes: two,
      options: { encoding: 'windows-1252' },
    })
    expect(declared.state).toMatchObject({ status: 'done', warning: null })
    expect(namesOf(declared)).toEqual(['Müller'])
  })
  test('L03: an invalid byte in line 30,000: refused where UTF-8 is declared, read as windows-1252 and told where not', async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `name ${i},Paris`)
    const before = Buffer.from(`name,city\n${lines.slice(0, 29_998).join('\n')}\nx`)
    const bytes = Buffer.concat([before, Buffer.from([0xfc]), Buffer.from(`,Paris\n${lines.at(-1)}\n`)])
    const place = `byte 0xFC in line 30,000 (byte offset ${before.length.toLocaleString('en')})`
    const declared = await refusal(bytes, { attributes: two, options: { encoding: 'utf-8' } })
    expect(declared.message).toContain(place)
    const { state } = await imported(bytes, { attributes: two, options: { dryRun: true } })
    expect(state).toMatchObject({ status: 'validated', encoding: 'windows-1252', valid: 30_000 })
    expect(state.warning).toContain(`${place} is not UTF-8`)
  })
  test('L03: UTF-8 with a bad byte is windows-1252 throughout, and looks mixed', async () => {
    const bytes = Buffer.concat([
      Buffer.from('name,city\nMüller,Köln\nSm'),
      Buffer.from([0xff]),
      Buffer.from('th,Bonn\n'),
    ])
    const { state, rows } = await imported(bytes, { attributes: two, options: { dryRun: true } })
    expect(state).toMatchObject({ status: 'validated', encoding: 'windows-1252', error: null })
    expect(state.warning).toContain('byte 0xFF in line 3 (byte offset 26) is not UTF-8. The file looks mixed')
    expect(state.warning).toContain('the first with byte 0xC3 in line 2 (byte offset 11)')
    expect(state.warning).toContain('upload the file again with its encoding declared')
    // No byte is lost or replaced: each is the character that windows-1252 says.
    expect(rows.map(({ raw }) => raw)).toEqual([
      { name: 'MÃ¼ller', city: 'KÃ¶ln' },
      { name: 'Smÿth', city: 'Bonn' },
    ])
  })
  test.each([0x81, 0x8d, 0x8f, 0x90, 0x9d])(
    'L03: the byte %i is in neither encoding: refused with both places, before a row is read in',
    async (byte) => {
      const before = Buffer.from(`name,city\n${'Ada,Paris\n'.repeat(20_000)}`)
      const bytes = Buffer.concat([before, Buffer.from([0x6d, 0xfc, byte, 0x2c, 10])])
      const { message } = await refusal(bytes, { attributes: two })
      expect(message).toContain('neither UTF-8 (byte 0xFC in line 20,002 (byte offset 200,011))')
      const hex = byte.toString(16).toUpperCase()
      expect(message).toContain(`nor windows-1252 (byte 0x${hex} in line 20,002 (byte offset 200,012))`)
    },
  )
  test('L03: a byte that windows-1252 lacks counts where it stands in a character of UTF-8, too', async () => {
    // Á is C3 81.
    const bytes = Buffer.concat([Buffer.from('name,city\nÁda,Paris\nM'), Buffer.from([0xfc]), Buffer.from('ller,x\n')])
    expect((await refusal(bytes, { attributes: two })).message).toContain('nor windows-1252 (byte 0x81 in line 2')
  })
  test('L03: a declared encoding that the BOM contradicts is refused', async () => {
    const { message } = await refusal(Buffer.from('\uFEFFname,city\na,b\n', 'utf16le'), {
      attributes: two,
      options: { encoding: 'utf-8' },
    })
    expect(message).toContain('utf-16le')
  })
  test('L03: UTF-16 without a BOM is told to be declared, and then read', async () => {
    const bytes = Buffer.from('name,city\nAda,Köln\n', 'utf16le')
    expect((await refusal(bytes, { attributes: two })).message).toContain('Declare the encoding utf-16le')
    const { state, entities } = await imported(bytes, { attributes: two, options: { encoding: 'utf-16le' } })
    expect(state.status).toBe('done')
    expect(entities[0]!.attributes['city']).toBe('Köln')
  })
  test('L03: half a surrogate pair and half a character at the end are refused', async () => {
    const half = Buffer.from('\uFEFFname,city\na\uD800b,c\n', 'utf16le')
    expect((await refusal(half, { attributes: two })).message).toContain('line 2')
    const cut = Buffer.from('name,city\na,ü').subarray(0, -1)
    expect((await refusal(cut, { attributes: two, options: { encoding: 'utf-8' } })).message).toContain(
      'byte 0xC3 in line 2',
    )
  })
  test('L03: a NUL character is an error of its row', async () => {
    const { state, rows } = await imported('name,city\nA\0da,London\nBob,Paris\n', { attributes: two })
    expect(state).toMatchObject({ status: 'done', committed: 1, invalid: 1 })
    expect(rows[0]).toMatchObject({
      status: 'invalid',
      raw: { name: 'A\\u0000da' },
      errors: [{ attr: 'name', code: 'nul_character' }],
    })
  })
})

describe('L04: limits', () => {
  test('L04: a quote that is never closed stops the reading after a megabyte, not after the file', async () => {
    let sent = 0
    async function* endless() {
      yield Buffer.from('name,city\nAda,"London\n')
      for (; sent < 60; sent += 1) yield Buffer.alloc(1024 * 1024, 'x\n')
    }
    const before = process.memoryUsage.rss()
    const { code, message } = await refusal(Readable.from(endless(), { objectMode: false }), { attributes: two })
    expect(code).toBe('record_too_large')
    expect(message).toContain('A quote opens in line 2, field 2')
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024)
  })
  test('L04: an unclosed quote in a small file names its place', async () => {
    const { code, message } = await refusal('name,city\nAda,London\nBob,"Paris\nEve,Rome\n', { attributes: two })
    expect(code).toBe('unclosed_quote')
    expect(message).toContain('line 3, field 2')
  })
  test('L04: 100,000 columns are refused', async () => {
    const header = Array.from({ length: 100_000 }, (_, i) => `c${i}`).join(',')
    expect((await refusal(`${header}\n`, { attributes: two })).code).toBe('too_many_columns')
    // In a row they are an error of the row.
    const { state } = await imported(`name,city\n${','.repeat(100_000)}x\nAda,London\n`, { attributes: two })
    expect(state).toMatchObject({ status: 'done', committed: 1, invalid: 1 })
  })
  test('L04: a field of 50 MB is refused', async () => {
    const field = Buffer.alloc(50 * 1024 * 1024, 'y')
    const { code } = await refusal(Buffer.concat([Buffer.from('name,city\n'), field, Buffer.from(',x\n')]), {
      attributes: two,
    })
    expect(code).toBe('record_too_large')
  })
  test('L04: a JSON line without an end is refused', async () => {
    const line = Buffer.alloc(2 * 1024 * 1024, 'z')
    const { code } = await refusal(Buffer.concat([Buffer.from('{"name":"'), line]), {
      attributes: two,
      filename: 'a.ndjson',
    })
    expect(code).toBe('record_too_large')
  })
  test('L04: fields of several hundred kilobytes are read, and memory stays flat', async () => {
    async function* rows() {
      yield Buffer.from('name,city\n')
      for (let i = 0; i < 20; i += 1) yield Buffer.from(`n${i},${'z'.repeat(900_000)}\n`)
    }
    const before = process.memoryUsage.rss()
    const id = await fixture.upload(await fixture.type(two), Readable.from(rows(), { objectMode: false }))
    expect(await fixture.ended(id)).toMatchObject({ status: 'done', committed: 20 })
    expect(process.memoryUsage.rss() - before).toBeLessThan(250 * 1024 * 1024)
  })
})

describe('L05: formulas', () => {
  test('L05: what a spreadsheet would run is neutralised in the result, and stored as it is', async () => {
    const values = [
      '=cmd',
      '+1',
      '-5.00',
      '@x',
      '\tx',
      '\rx',
      '-5 and more',
      '=1+1',
      '+49 (30) 1',
      '-1e5',
      '=',
      'plain',
    ]
    const cells = values.map((value) => `"${value}",c`).join('\n')
    const { id, entities } = await imported(`name,city\n${cells}\n`, { attributes: two })
    expect(namesOf({ entities })).toEqual(values.toSorted())
    const result = await fixture.result(id)
    for (const kept of ['+1', '-5.00', '-1e5', 'plain']) expect(result).toContain(`,${kept},c\r\n`)
    for (const text of ['=cmd', '@x', '-5 and more', '=1+1', '+49 (30) 1', '='])
      expect(result).toContain(`,'${text},c\r\n`)
    expect(result).toContain(`,"'\tx",c\r\n`)
    expect(result).toContain(`,"'\rx",c\r\n`)
    expect(result).not.toMatch(/(?:^|,|")[=@]/m)
  })
})

test('KINDS 3.4: every sort of file has its right result or an error of row or file, and the process lives', async () => {
  const rows = [
    ['windows-1252', Buffer.from('name;city\r\nJörg;Köln\r\n', 'latin1')],
    ['UTF-8 with BOM', Buffer.from('\uFEFFname,city\nJörg,Köln\n')],
    ['semicolons', Buffer.from('name;city\nJörg;Köln\n')],
    ['tabs', Buffer.from('name\tcity\nJörg\tKöln\n')],
    ['quoted newlines', Buffer.from('name,city\nJörg,"Köln\nam Rhein"\n')],
  ] as const
  for (const [sort, file] of rows) {
    const { state, entities } = await imported(file, { attributes: two })
    expect([sort, state.status, entities[0]?.attributes['name']]).toEqual([sort, 'done', 'Jörg'])
  }
  const short = await imported('name,city\nJörg\nAda,London\n', { attributes: two })
  expect(short.state).toMatchObject({ status: 'done', committed: 1, invalid: 1 })
  expect(
    await refusal('city\nKöln\n', { attributes: { name: { type: 'text', required: true }, city: 'text' } }),
  ).toMatchObject({ code: 'bad_header' })
  expect(await refusal('name,city\nJörg,"Köln\n', { attributes: two })).toMatchObject({ code: 'unclosed_quote' })
  expect(namesOf(await imported('name,city\nAda,London\n', { attributes: two }))).toEqual(['Ada'])
})

describe('files as they come in real life', () => {
  test('Excel in German: semicolons, windows-1252, empty rows at the end', async () => {
    const bytes = Buffer.from('Name;City\r\nJörg;Köln\r\n;\r\n;\r\n\r\n', 'latin1')
    const result = await imported(bytes, { attributes: two })
    expect(result.state).toMatchObject({ status: 'done', total: 1, committed: 1, encoding: 'windows-1252' })
  })
  test.each([
    ['tab', 'name\tcity\nAda\tLondon, GB\n'],
    ['bar', 'name|city\nAda|London, GB\n'],
    ['semicolon, commas in values', 'name;city\nAda;London, GB\n'],
    ['declared by sep=', 'sep=;\r\nname;city\r\nAda;London, GB\r\n'],
    ['line ends of old Macs', 'name;city\rAda;London, GB\r'],
    ['no line end at the end', 'name;city\nAda;London, GB'],
    ['blank lines before and between', '\n\nname;city\n\n\nAda;London, GB\n\n'],
    ['unnamed empty columns', 'name;city;;\nAda;London, GB;;\n'],
    ['blanks around names', ' name ; city\nAda;London, GB\n'],
  ])('%s', async (_, content) => {
    const { state, entities } = await imported(content, { attributes: two })
    expect(state.error).toBeNull()
    expect(entities.map(({ attributes }) => attributes)).toEqual([{ name: 'Ada', city: 'London, GB' }])
  })
  test('one column needs no delimiter', async () => {
    expect(namesOf(await imported('name\nAda\nBob\n', { attributes: { name: 'text' } }))).toEqual(['Ada', 'Bob'])
  })
  test('a declared delimiter is believed', async () => {
    const { entities } = await imported('name#city\na,b#c;d\n', { attributes: two, options: { delimiter: '#' } })
    expect(entities[0]!.attributes).toEqual({ name: 'a,b', city: 'c;d' })
  })
  test('quotes in the middle stand for themselves; behind a closing quote they are refused', async () => {
    const { entities } = await imported('name,city\n5" pipe,x "y" z\n', { attributes: two })
    expect(entities[0]!.attributes).toEqual({ name: '5" pipe', city: 'x "y" z' })
    const { code, message } = await refusal('name,city\na,b\n"He said "hi"",c\n', { attributes: two })
    expect(code).toBe('stray_quote')
    expect(message).toContain('line 3, field 1')
  })
  test('rows with too few or too many fields, and values without a column, are bad rows', async () => {
    const { state, rows } = await imported('name,city,\nAda\nBob,Paris,\nEve,Rome,x\nJim,Bonn,,,\nTom,Oslo,,,y\n', {
      attributes: two,
    })
    expect(state).toMatchObject({ status: 'done', committed: 2, invalid: 3 })
    expect(rows.map(({ row, errors }) => [row, errors?.[0]?.code])).toEqual([
      [1, 'field_count'],
      [2, undefined],
      [3, 'unnamed_column'],
      [4, undefined],
      [5, 'field_count'],
    ])
  })
  test('rows are numbered as a spreadsheet shows them', async () => {
    const { rows } = await imported('name,city\n\n"A\nda",x\n\nBob,y\n', { attributes: two })
    expect(rows.map(({ row }) => row)).toEqual([2, 4])
  })
  test.each([
    ['an empty file', '', 'empty_file'],
    ['blank lines only', '\n\n', 'empty_file'],
    ['a PDF', '%PDF-1.7 ...', 'wrong_format'],
    ['a page of HTML', '<!doctype html><html>', 'wrong_format'],
    ['a JSON list', '[{"name":"Ada"}]', 'wrong_format'],
  ])('%s is refused', async (_, content, code) => {
    expect((await refusal(content, { attributes: two })).code).toBe(code)
  })
  test('an old workbook and a packed file are told apart', async () => {
    expect((await refusal(Buffer.from('d0cf11e0a1b11ae10000', 'hex'))).message).toContain('.xls')
    expect((await refusal(Buffer.from('1f8b0800', 'hex'))).message).toContain('gzip')
    expect((await refusal('no zip', { filename: 'a.xlsx' })).code).toBe('wrong_format')
  })
  test('a header alone is an import of nothing', async () => {
    const { state } = await imported('name,city\n', { attributes: two })
    expect(state).toMatchObject({ status: 'done', total: 0, committed: 0 })
  })
})

describe('values', () => {
  test('each bad value is named with attribute and code, ten to a row', async () => {
    const { rows, state } = await imported(
      'name,price,born,seen,active\nAda,"1,5",31.12.2024,yesterday,yes\nBob,NaN,today,2026-01-31,1\nEve,1e5000,2024-02-30,2026-01-31 25:00,t\nOk,1e3,2024-02-29,2026-01-31 08:30+01,TRUE\n',
    )
    expect(state).toMatchObject({ committed: 1, invalid: 3 })
    for (const { errors } of rows.slice(0, 3))
      expect(errors?.map(({ attr, code }) => `${attr} ${code}`)).toEqual([
        'active invalid_boolean',
        'born invalid_date',
        'price invalid_number',
        'seen invalid_timestamp',
      ])
  })
  test('empty cells are missing values; required ones are told', async () => {
    const { rows, entities } = await imported('name,city\n,London\nAda,\n', {
      attributes: { name: { type: 'text', required: true }, city: 'text' },
    })
    expect(rows[0]!.errors).toMatchObject([{ attr: 'name', code: 'required' }])
    expect(entities).toMatchObject([{ attributes: { name: 'Ada' } }])
  })
  test('a type without attributes takes keys alone', async () => {
    const { entities } = await imported('externalKey\nk1\nk2\n', { attributes: {} })
    expect(entities).toEqual([
      { key: 'k1', version: 1, attributes: {} },
      { key: 'k2', version: 1, attributes: {} },
    ])
  })
  test('keys that are too long, and values that an index could not hold, are bad rows', async () => {
    const { state, rows } = await imported(`externalKey,name\n${'k'.repeat(256)},a\n${'k'.repeat(255)},b\n`, {
      attributes: { name: 'text' },
    })
    expect(state).toMatchObject({ committed: 1, invalid: 1 })
    expect(rows[0]!.errors).toMatchObject([{ code: 'key_too_long' }])
  })
  test('a row that a constraint of the database refuses is bad, the others are committed', async () => {
    await fixture.sql(
      `alter table mdm.ddm_entity add constraint no_eve check (attributes ->> 'name' is distinct from 'Eve') not valid`,
    )
    try {
      const names = Array.from({ length: 700 }, (_, i) => (i % 300 === 99 ? 'Eve' : `n${i}`))
      const { state, rows } = await imported(`name,city\n${names.map((name) => `${name},x`).join('\n')}\n`, {
        attributes: two,
      })
      expect(state).toMatchObject({ status: 'done', committed: 697, invalid: 3, valid: 697 })
      expect(
        rows.filter(({ status }) => status === 'invalid').map(({ row, errors }) => [row, errors![0]!.code]),
      ).toEqual([
        [100, 'refused'],
        [400, 'refused'],
        [700, 'refused'],
      ])
    } finally {
      await fixture.sql(`alter table mdm.ddm_entity drop constraint no_eve`)
    }
  })
})

describe('NDJSON', () => {
  test('lines become entities; bad lines are bad rows', async () => {
    const lines = [
      '{"externalKey":"a","name":"Ada","price":12345678901234567890.123456789,"active":true}',
      '',
      '{"externalKey":12345678901234567890,"name":"Big"}',
      '{"name":"no key","price":"7"}',
      '{broken',
      '[1]',
      '{"name":"x","colour":"red"}',
      '{"name":{"first":"Ada"}}',
      '{"name":"a\\u0000b"}',
      '{"name":"a\\ud800"}',
      '{"price":1e400000}',
      `{"name":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
      '{"name":"a\\\\u0000 is fine"}',
    ]
    const { state, rows } = await imported(`${lines.join('\n')}\n`, { filename: 'a.jsonl' })
    expect(state).toMatchObject({ status: 'done', format: 'ndjson', committed: 4, invalid: 8 })
    expect(rows.map(({ row, status, errors }) => `${row} ${status} ${errors?.[0]?.code ?? ''}`.trim())).toEqual([
      '1 committed',
      '3 committed',
      '4 committed',
      '5 invalid not_an_object',
      '6 invalid not_an_object',
      '7 invalid unknown_column',
      '8 invalid invalid_text',
      '9 invalid nul_character',
      '10 invalid bad_character',
      '11 invalid not_an_object',
      '12 invalid not_an_object',
      '13 committed',
    ])
    expect(rows[1]!.key).toBe('12345678901234567890')
    const [{ price }] = (await fixture.sql(
      `select attributes ->> 'price' as price from mdm.ddm_entity where external_key = 'a' and attributes ? 'price' and import_job_id is not null order by id desc limit 1`,
    )) as [{ price: string }]
    expect(price).toBe('12345678901234567890.123456789')
  })
})

describe('XLSX', () => {
  const workbook = `<workbook xmlns:r="r"><sheets><sheet name="Hidden" state="hidden" r:id="r2"/><sheet name="Data" r:id="r1"/></sheets></workbook>`
  const relations = `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`
  const styles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-407]d. mmmm yyyy"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd hh:mm:ss"/><numFmt numFmtId="166" formatCode="0.00 &quot;days&quot;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/></cellXfs></styleSheet>`
  const texts = `<sst><si><t>name</t></si><si><r><t>A</t></r><r><t xml:space="preserve">da &amp; Co</t></r><rPh><t>reading</t></rPh></si><si><t>line_x000D_break</t></si></sst>`
  const sheet = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`
  const parts = (rows: string, more: Record<string, string | Buffer> = {}) => ({
    'xl/workbook.xml': workbook,
    'xl/_rels/workbook.xml.rels': relations,
    'xl/styles.xml': styles,
    'xl/sharedStrings.xml': texts,
    'xl/worksheets/sheet1.xml': sheet(rows),
    'xl/worksheets/sheet2.xml': sheet(
      '<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c></row><row><c t="str"><v>from the other</v></c></row>',
    ),
    ...more,
  })
  const header =
    '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="inlineStr"><is><t>price</t></is></c><c r="C2" t="str"><v>born</v></c><c r="D2" t="str"><v>seen</v></c><c r="E2" t="str"><v>active</v></c></row>'

  test('cells of every sort, gaps, styles and shared texts', async () => {
    const rows = `${header}<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3"><v>1.25</v></c><c r="C3" s="1"><v>45322</v></c><c r="D3" s="3"><v>45322.354166666664</v></c><c r="E3" t="b"><v>1</v></c></row>
      <row r="6"><c r="A6" t="s"><v>2</v></c><c r="C6" s="2"><v>1</v></c></row>
      <row r="7"><c r="A7" t="str"><v>n</v></c><c r="B7" s="4"><v>1.5E+3</v></c></row>
      <row r="8"><c r="A8" t="str"><v>e</v></c><c r="B8" t="e"><v>#N/A</v></c></row>`
    const { state, rows: found, entities } = await imported(zip(parts(rows)), { filename: 'a.xlsx' })
    expect(state).toMatchObject({ status: 'done', format: 'xlsx', encoding: null, committed: 3, invalid: 1 })
    expect(found.map(({ row }) => row)).toEqual([1, 4, 5, 6])
    expect(entities.map(({ attributes }) => attributes)).toEqual(
      expect.arrayContaining([
        { name: 'Ada & Co', price: 1.25, born: '2024-01-31', seen: '2024-01-31T08:30:00', active: true },
        { name: 'line\rbreak', born: '1900-01-01' },
        { name: 'n', price: 1500 },
      ]),
    )
  })
  test('a sheet may be chosen; one that is not there is told', async () => {
    const bytes = zip(parts(header))
    expect(namesOf(await imported(bytes, { filename: 'a.xlsx', options: { sheet: 'Hidden' } }))).toEqual([
      'from the other',
    ])
    expect((await refusal(bytes, { filename: 'a.xlsx', options: { sheet: 'Nope' } })).message).toContain(
      '"Hidden", "Data"',
    )
  })
  test('what is no workbook, damaged, or protected is refused', async () => {
    const whole = zip(parts(header))
    expect((await refusal(zip({ 'a.txt': 'x' }))).code).toBe('bad_workbook')
    expect((await refusal(whole.subarray(0, whole.length - 30))).code).toBe('bad_workbook')
    expect((await refusal(zip(parts('<row><c></row>')))).message).toContain('well-formed')
    expect((await refusal(zip({ EncryptedPackage: 'x' }))).message).toContain('password')
    const bytes = Buffer.from(whole)
    bytes.fill(0xff, 60, 90)
    expect((await refusal(bytes)).code).toBe('bad_workbook')
  })
  test('entities of its own are refused, so that none can grow', async () => {
    const laughs = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>${sheet('<row><c t="str"><v>&b;</v></c></row>')}`
    expect((await refusal(zip(parts('', { 'xl/worksheets/sheet1.xml': laughs })))).code).toBe('bad_workbook')
  })
  test('L04: a zip bomb stops at the limit, whatever it says of its size', { timeout: 60_000 }, async () => {
    const bomb = Buffer.alloc(513 * 1024 * 1024, ' ')
    const before = process.memoryUsage.rss()
    const bytes = zip(parts('', { 'xl/worksheets/sheet1.xml': bomb }))
    expect(bytes.length).toBeLessThan(5 * 1024 * 1024)
    const { code } = await refusal(bytes, { filename: 'a.xlsx' })
    expect(code).toBe('file_too_large')
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024)
    const lying = zip(parts('', { 'xl/worksheets/sheet1.xml': bomb }), { claimedBytes: 100 })
    expect((await refusal(lying, { filename: 'a.xlsx' })).code).toMatch(/bad_workbook|file_too_large/)
  })
  test('L04: shared texts beyond memory, a cell of megabytes and columns far out are refused', async () => {
    const long = 'w'.repeat(1_000_000)
    const many = `<sst>${`<si><t>${long}</t></si>`.repeat(70)}</sst>`
    expect((await refusal(zip(parts(header, { 'xl/sharedStrings.xml': many })))).code).toBe('file_too_large')
    expect(
      (await refusal(zip(parts(`${header}<row r="3"><c r="A3" t="str"><v>${long}${long}</v></c></row>`)))).code,
    ).toBe('record_too_large')
    expect((await refusal(zip(parts(`${header}<row r="3"><c r="XFD3"><v>1</v></c></row>`)))).code).toBe(
      'too_many_columns',
    )
  })
})
