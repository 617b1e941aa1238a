import { startService } from '../support/service.ts'
import { openBrowser } from './browser.ts'
const s = startService({ dataDir: '/tmp/svc/data' })
try {
await s.started()
const b = await openBrowser()
b.page.setDefaultTimeout(4000)
await b.page.goto(`${await s.url()}/graphiql`)
await b.page.getByLabel('Token').fill(await s.token()); await b.page.getByRole('button', { name: 'Sign in' }).click()
await b.page.getByRole('button', { name: /Execute/i }).waitFor()
await b.page.locator('.graphiql-tab-button', { hasText: 'WatchJob' }).click().catch(e=>console.log(String(e)))
await b.page.waitForTimeout(700)
console.log(await b.page.locator('.graphiql-tabs').evaluate((e: any) => e.outerHTML.slice(0, 1800)))
await b.page.screenshot({ path: '/tmp/6.png' })
await b.page.locator('.graphiql-tab-button', { hasText: 'WatchJob' }).press('Enter').catch(e=>console.log(String(e)))
await b.page.waitForTimeout(700)
await b.page.screenshot({ path: '/tmp/7.png' })
await b.close()
} catch(e) {console.log(e)} finally { await s.stop() }
