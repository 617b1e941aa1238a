import type { ServerResponse } from 'node:http'
import { sendPage } from './send.ts'

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Stellwerk</title>
<style>
  :root { color-scheme: light dark }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
  dt { margin-top: 1rem }
</style>
<h1>Stellwerk</h1>
<p>Job control on PostgreSQL.</p>
<dl>
  <dt><a href="/graphiql">GraphiQL</a>
  <dd>Ask, change and watch: queries, mutations, subscriptions.
  <dt><a href="/health">Health</a>, <a href="/ready">readiness</a>, <a href="/metrics">metrics</a>
  <dd>For load balancers and Prometheus.
</dl>
`

/** What stands at `/` while there is no dashboard. */
export function sendStartPage(response: ServerResponse): void {
  sendPage(response, 200, page)
}
