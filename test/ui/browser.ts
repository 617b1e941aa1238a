import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Why no browser can be had here; null: there is one. */
export const noBrowser = existsSync(executablePath)
  ? null
  : `there is no Chromium at ${executablePath} (apt-get install chromium)`

/** A page of a real Chromium, and what was to be seen of it from outside. */
export interface Browser {
  readonly page: Page
  /** Addresses that were asked for, but for blobs and data. */
  readonly requests: readonly string[]
  /** Errors and warnings of the console, refusals of the content security policy among them. */
  readonly complaints: string[]
  close(): Promise<void>
}

/** Opens a browser with a profile of its own. */
export async function openBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'stellwerk-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    viewport: { width: 1400, height: 900 },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  const requests: string[] = []
  const complaints: string[] = []
  context.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url())) requests.push(request.url())
  })
  context.on('weberror', (error) => complaints.push(String(error.error())))
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  return {
    page: context.pages()[0] ?? (await context.newPage()),
    requests,
    complaints,
    async close() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
