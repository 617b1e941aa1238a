import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fullReading } from '../../src/jobs/document-limits.ts'
import { findOcrTools } from '../../src/workers/handlers/documents/find-ocr-tools.ts'
import type { ReadingOrder } from '../../src/workers/handlers/documents/reader-protocol.ts'
import { leaveOut } from '../support/leave-out.ts'
import { fontsMissing, storeDocument } from './document-support.ts'
import { makeScan } from './documents.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-isolation-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const withoutNetwork = ['--user', '--map-root-user', '--net']

describe('cut off', () => {
  const reason = fontsMissing ?? cannotRun('unshare', [...withoutNetwork, 'true'], 'networks cannot be cut here')
  if (reason !== null) {
    leaveOut(reason)
    return
  }

  test('KINDS 10.2: text is recognised without any network', { timeout: 60_000 }, async () => {
    const path = join(folder, 'offline.jpg')
    await writeFile(path, makeScan().canvas.toBuffer('image/jpeg', 85))
    const programs = { tesseract: 'off', pdftoppm: 'off', languages: null }
    const tools = await findOcrTools({ programs, folder: join(folder, 'ocr') })
    const order: ReadingOrder = { path, folder, type: 'image/jpeg', terms: fullReading, tools }
    const args = [
      ...withoutNetwork,
      process.execPath,
      fileURLToPath(new URL('./read-offline.ts', import.meta.url)),
      JSON.stringify(order),
    ]
    const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    expect(stderr).toBe('')
    const told = JSON.parse(stdout) as { network: string; text: string }
    expect(told.network).toMatch(/ENETUNREACH|EAI_AGAIN|ENOTFOUND/)
    expect(told.text).toContain('Rechnung Nr. 2026-004711')
  })
})

describe('watched', () => {
  const reason = cannotRun(
    'strace',
    ['-f', '-o', '/dev/null', 'unshare', '--user', 'true'],
    'strace does not work here',
  )
  if (reason !== null) {
    leaveOut(reason)
    return
  }

  test(
    'KINDS 10.3: the archive is opened for reading only, by someone who could not write there',
    { timeout: 60_000 },
    async () => {
      const archiveDir = join(folder, 'archive')
      const bytes = Buffer.from('Nobody may write here.')
      const sql = (async () => [{ id: 'x', job: 'x' }]) as never
      const { archiveKey } = await storeDocument({ sql }, archiveDir, bytes)
      await chmod(join(archiveDir, '2026/11'), 0o555)
      const log = join(folder, 'strace.log')
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const order = { archiveDir, archiveKey, sha256, sizeBytes: bytes.length, path: join(folder, 'copy') }
      // In a namespace of its own even root has no right that the modes do not give.
      const watched = [
        'unshare',
        '--user',
        process.execPath,
        fileURLToPath(new URL('./copy-archived.ts', import.meta.url)),
        JSON.stringify(order),
      ]
      const args = ['-f', '-y', '-o', log, '-e', 'trace=file,write,ftruncate', ...watched]
      const { stdout } = spawnSync('strace', args, { encoding: 'utf8' })
      await chmod(join(archiveDir, '2026/11'), 0o755)
      expect(JSON.parse(stdout)).toEqual({ mayWrite: 'EACCES', copied: true })
      const touched = (await readFile(log, 'utf8')).split('\n').filter((line) => line.includes(archiveKey))
      const opened = touched.filter((line) => /\bopen(?:at)?\(/.test(line) && !line.includes('EACCES'))
      expect(opened.length).toBeGreaterThan(0)
      for (const line of opened) expect(line).toMatch(/O_RDONLY\|O_NOFOLLOW/)
      const changes = /\b(?:write|unlink|rename|chmod|truncate|ftruncate|link|utime)\w*\(/
      expect(touched.filter((line) => changes.test(line))).toEqual([])
    },
  )
})

/** Null: it works, or it is CI, where everything has to. */
function cannotRun(command: string, args: readonly string[], reason: string): string | null {
  return process.env['CI'] === 'true' || spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? null : reason
}
