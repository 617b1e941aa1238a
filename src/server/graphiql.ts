import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { sendPage } from './send.ts'

interface Page {
  readonly compressed: Buffer
  readonly policy: string
}

const firstQuery = `# Put a token into the headers below: {"authorization": "Bearer <token>"}
# In development it lies in admin.token in the data directory. Then press Ctrl-Enter.
{
  viewer {
    principal {
      id
      name
    }
    scopes
  }
}
`

/** GraphiQL from the package: 9 MB of page, made when first asked for and kept compressed. It asks no other host for anything. */
export function createGraphiql(): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let page: Promise<Page> | undefined
  return async ({ headers }, response) => {
    page ??= makePage()
    const { compressed, policy } = await page
    response.setHeader('vary', 'accept-encoding')
    if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) {
      sendPage(response, 200, await promisify(gunzip)(compressed), policy)
      return
    }
    response.setHeader('content-encoding', 'gzip')
    sendPage(response, 200, compressed, policy)
  }
}

async function makePage(): Promise<Page> {
  // Costs 36 MB of memory: paid only where somebody looks at it.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const rendered = renderGraphiQL({
    title: 'Stellwerk',
    endpoint: '/graphql',
    subscriptionsProtocol: 'SSE',
    // Else subscriptions are sent by GET, which runs nothing here.
    method: 'POST',
    defaultQuery: firstQuery,
    headers: '{"authorization": "Bearer "}',
    isHeadersEditorEnabled: true,
    // A token in the browser's storage would outlive the visit.
    shouldPersistHeaders: false,
  })
  // A browser reads line ends so, and hashes what it has read.
  const html = rendered.replaceAll(/\r\n?/g, '\n')
  return { compressed: await promisify(gzip)(html, { level: 6 }), policy: policyFor(html) }
}

/** The page's own script by its hash; the editor's workers are blobs that this script makes. */
function policyFor(html: string): string {
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, text]) => `'sha256-${createHash('sha256').update(text!).digest('base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src ${scripts.join(' ')} blob:`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "connect-src 'self'",
  ].join('; ')
}
