import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { GraphQLSchema } from 'graphql'
import { presetTabs } from './preset-tabs.ts'
import { sendPage } from './send.ts'

interface Page {
  readonly compressed: Buffer
  readonly policy: string
}

/** GraphiQL from the package: 9 MB of page, made when first asked for and kept compressed. It asks no other host for anything. */
export function createGraphiql(
  schema: GraphQLSchema,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let page: Promise<Page> | undefined
  return async ({ headers }, response) => {
    page ??= makePage(schema)
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

/** Of a scalar that it does not know the editor believes that it is plain, and underlines the objects of ours (JSON). */
const plainScalars = '["string", "number", "boolean", "integer"]'
const anyScalar = plainScalars.replace(']', ', "object", "array"]')

async function makePage(schema: GraphQLSchema): Promise<Page> {
  // Costs 36 MB of memory: paid only where somebody looks at it.
  const graphiql = await import('@graphql-yoga/render-graphiql/graphiql')
  const parts: Readonly<Record<string, string>> = {
    css: graphiql.css,
    js: graphiql.js,
    editorWorker: JSON.stringify(graphiql.editorWorkerService),
    jsonWorker: JSON.stringify(graphiql.jsonWorker),
    graphqlWorker: JSON.stringify(graphiql.graphqlWorker.replace(plainScalars, anyScalar)),
    tabs: JSON.stringify(presetTabs(schema)).replaceAll('<', String.raw`\u003c`),
  }
  const template = await readFile(new URL('graphiql-page.html', import.meta.url), 'utf8')
  const filled = template.replaceAll(/{{(\w+)}}/g, (_, name: string) => parts[name]!)
  // A browser reads line ends so, and hashes what it has read.
  const html = filled.replaceAll(/\r\n?/g, '\n')
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
