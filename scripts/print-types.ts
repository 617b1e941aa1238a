import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Writes types/, what a project in TypeScript sees of `stellwerk`; with --check says whether it is current. By our sources such a project would check
// all of the service with its own settings.

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'types')
const relativeImport = /((?:from |import\()['"])(\.[^'"]+)\.ts(['"])/g
const current = declarations()
const isCurrent = (): boolean => {
  const kept = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
  return (
    kept.length === current.size &&
    [...current].every(([name, text]) => kept.includes(name) && readFileSync(join(folder, name), 'utf8') === text)
  )
}

if (process.argv.includes('--check')) {
  if (!isCurrent()) {
    console.error('types/ is not what the code says. Run `node scripts/print-types.ts` and commit the result.')
    process.exitCode = 1
  }
} else {
  rmSync(folder, { recursive: true, force: true })
  for (const [name, text] of current) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** Those that src/index.ts leads to, by their path below types/. */
function declarations(): ReadonlyMap<string, string> {
  const made = mkdtempSync(join(tmpdir(), 'stellwerk-types-'))
  try {
    const options = [
      '--noEmit',
      'false',
      '--declaration',
      '--emitDeclarationOnly',
      '--noCheck',
      '--rootDir',
      'src',
      '--outDir',
      made,
    ]
    // Whether the sources are right is checked elsewhere; of those that only the service loads, some types cannot be declared, which ends it with 1.
    spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.types.json', ...options], { cwd: root })
    const found = new Map<string, string>()
    const open = [join(made, 'index.d.ts')]
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      const name = relative(made, file)
      if (found.has(name)) continue
      const text = readFileSync(file, 'utf8')
      // As other compilers write it; in declarations not all take the endings of sources.
      found.set(name, text.replaceAll(relativeImport, '$1$2.js$3'))
      for (const [, , target] of text.matchAll(relativeImport)) open.push(join(dirname(file), `${target!}.d.ts`))
    }
    return found
  } finally {
    rmSync(made, { recursive: true })
  }
}
