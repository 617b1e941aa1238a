import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSchema } from '../src/schema/index.ts'
import { printContract } from '../src/schema/print-contract.ts'

// Writes schema.graphql from the code; with --check says whether it is current.
const file = fileURLToPath(new URL('../schema.graphql', import.meta.url))
const printed = printContract(buildSchema())

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== printed) {
    console.error('schema.graphql is not what the code says. Run `node scripts/print-schema.ts` and commit the result.')
    process.exitCode = 1
  }
} else {
  writeFileSync(file, printed)
}
