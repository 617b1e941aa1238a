#!/bin/sh
':' //; exec node --max-semi-space-size=16 "$0" "$@"

// The line above is a comment here, and to the shell it starts Node: `env -S` does not exist in Alpine. 16 MB of young generation take
// 50 MB off a worker at full speed and nothing off its speed; Node's own limit grows with the machine (64 MB on 24 GB).
import nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'

// Started past npm, it meets whatever Node.js the machine has: an older one would only speak of a syntax error.
if (!('registerHooks' in nodeModule)) {
  console.error(
    `stellwerk: this is Node.js ${process.versions.node}, and 22.19 or newer is needed. In Stellwerk's own folder npm brings it: npm start, npx stellwerk.`,
  )
  process.exit(1)
}

// Plain JavaScript, so that a start with a warm cache never loads what strips types: 20 MB, and half of the time that modules take.
// In the environment for threads and processes of the service; where it cannot be written, all is as without it.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/stellwerk', import.meta.url))
nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE)

await import('../src/cli.ts')
