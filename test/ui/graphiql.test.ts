import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../start/ask.ts'
import { leaveOut } from '../support/leave-out.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { noBrowser, openBrowser, type Browser } from './browser.ts'

describe('GraphiQL in a browser', () => {
  if (noBrowser !== null) return leaveOut(noBrowser)

  let dataDir: string
  let service: Service
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-ui-'))
    service = startService({ dataDir })
    await service.started()
    browser = await openBrowser()
    page = browser.page
    await page.goto(`${await service.url()}/graphiql`)
  })
  afterAll(async () => {
    await browser?.close()
    await service?.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const signIn = async (token: string): Promise<void> => {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const run = () => page.getByRole('button', { name: /execute query/i }).click()
  /** Blanks are no-break spaces in the editor. */
  const answer = async (): Promise<string> =>
    ((await page.locator('.graphiql-response .view-lines').textContent()) ?? '').replaceAll(/\s/g, '')

  test('a wrong token is refused with a sentence', async () => {
    await signIn('sw_wrong')
    await page.getByText('The API key is not known').waitFor()
    expect(browser.complaints.splice(0)).toEqual([expect.stringContaining('401')])
  })

  test('tab 1 answers once a token is given', async () => {
    await signIn(await service.token())
    await page.getByText('Signed in as development token').waitFor()
    const title = await page.locator('.graphiql-tab').first().textContent()
    await run()
    const said = await until(async () => /"data".*/.exec(await answer())?.[0], `${title} is answered`)
    expect(said).not.toContain('"errors":[{')
  })

  test('every tab is in sight, and preset variables are not underlined', async () => {
    const width = page.viewportSize()!.width
    for (const tab of await page.locator('.graphiql-tab').all()) {
      const box = (await tab.boundingBox())!
      expect(box.x + box.width).toBeLessThanOrEqual(width)
    }
    await page.locator('.graphiql-tab-button', { hasText: 'EnqueueAny' }).press('Enter')
    const variables = page.locator('.graphiql-editor-tool')
    await variables.getByText('In ten seconds').or(variables.getByText('ada@example.org')).first().waitFor()
    // A mistake is underlined a moment after it was made: one that is made now shows that the others had their time.
    await variables.locator('.view-lines').first().click()
    await page.keyboard.press('Control+End')
    await page.keyboard.insertText(' x')
    await variables.locator('.squiggly-error').first().waitFor()
    expect(await variables.locator('.squiggly-error').count()).toBe(1)
  })

  test('the subscription tab shows what happens to a job as it happens, over server-sent events', async () => {
    const { data } = await ask(
      service,
      `mutation { enqueueJob(input: { schedule: { after: "PT1H" }, job: { emailSend: { to: { address: "ada@example.org" }, content: { subject: "Hello", text: "It runs." } } } }) { job { id } } }`,
    )
    const { id } = data.enqueueJob.job as { id: string }
    await page.locator('.graphiql-tab-button', { hasText: 'WatchJob' }).press('Enter')
    await page.locator('.graphiql-tab-active', { hasText: 'WatchJob' }).waitFor()
    await page.locator('.graphiql-editor-tool .view-lines').first().click()
    await page.keyboard.press('Control+a')
    // The editor closes the quote and the bracket by itself.
    await page.keyboard.insertText(`{"id":"${id}`)
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.postData()?.includes('subscription') === true),
      run(),
    ])
    expect(request.method()).toBe('POST')
    expect(request.headers()).toMatchObject({
      accept: expect.stringContaining('text/event-stream'),
      authorization: `Bearer ${await service.token()}`,
    })
    await until(async () => /"type":"SNAPSHOT".*"status":"PENDING"/.test(await answer()), 'the SNAPSHOT is shown')

    await ask(service, `mutation ($id: ID!) { runJobNow(input: { id: $id }) { errors { message } } }`, { id })
    await until(async () => /"type":"EVENT".*"status":"DONE"/.test(await answer()), 'the last EVENT is shown')
  })

  test('a reload keeps who is signed in, and the tabs', async () => {
    const tabs = await page.locator('.graphiql-tab').count()
    await until(
      async () => ((await page.evaluate(`localStorage.getItem('graphiql:tabState')`)) as string).includes('job_0'),
      'the tabs are kept',
    )
    await page.reload()
    await page.getByText('Signed in as development token').waitFor()
    await page.locator('.graphiql-tab-active', { hasText: 'WatchJob' }).waitFor()
    expect(await page.locator('.graphiql-tab').count()).toBe(tabs)
  })

  test('it asked no other host for anything, and nothing was refused or failed', async () => {
    const own = await service.url()
    expect(browser.requests.length).toBeGreaterThan(4)
    expect(browser.requests.filter((url) => new URL(url).origin !== own)).toEqual([])
    expect(browser.complaints).toEqual([])
  })
})
