import { realpath } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { extname, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { StartError } from '../jobs/errors.ts'
import { defineKind, type KindDefinition, type OwnKind } from './define-kind.ts'
import type { z } from 'zod'

/** Imports the module of STELLWERK_KINDS and answers the kinds that it exports. Throws StartError, which names file and remedy. */
export async function loadKinds(path: string): Promise<OwnKind[]> {
  const file = await findModule(path)
  resolveOwnPackages()
  const imported = await importModule(file)
  // The parser of CommonJS does not see every way to name an export.
  const module = imported.kinds === undefined && isObject(imported.default) ? imported.default : imported
  if (module.kinds === undefined) {
    const instead = Object.keys(module)
    const found = instead.length === 0 ? 'it exports nothing' : `it exports ${instead.join(', ')}`
    throw refused(file, `has no export \`kinds\` (${found}). Write \`export const kinds = [defineKind({ ... })]\`.`)
  }
  if (!Array.isArray(module.kinds))
    throw refused(file, 'exports `kinds`, but not as a list. Write `export const kinds = [defineKind({ ... })]`.')
  const kinds = module.kinds.map((kind: unknown) => checked(kind, file))
  const twice = kinds.find(({ name }, index) => kinds.findIndex((other) => other.name === name) < index)
  if (twice !== undefined)
    throw refused(file, `defines the kind ${twice.name} twice. Rename one of the two, or remove it.`)
  return kinds
}

async function findModule(path: string): Promise<string> {
  const absolute = resolve(path)
  const file = await realpath(absolute).catch((error: NodeJS.ErrnoException) => {
    throw refused(
      absolute,
      `cannot be read (${error.code ?? error.message}). Correct STELLWERK_KINDS; a relative path counts from where the service is started.`,
    )
  })
  if (!['.ts', '.mts', '.js', '.mjs', '.cjs'].includes(extname(file))) {
    throw refused(file, 'is neither TypeScript nor JavaScript. Name a module that ends in .ts or .js.')
  }
  if (/\.m?ts$/.test(file) && file.split(sep).includes('node_modules')) {
    throw refused(
      file,
      'is TypeScript inside node_modules, which Node.js does not run. Move it out of there, or compile it to .js.',
    )
  }
  return file
}

let hooked = false

/** A module finds `stellwerk`, and `zod` where it has none of its own, wherever it lies. */
function resolveOwnPackages(): void {
  if (hooked) return
  hooked = true
  const face = new URL('../index.ts', import.meta.url).href
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier === 'stellwerk') return { url: face, format: 'module-typescript', shortCircuit: true }
      if (specifier !== 'zod' && !specifier.startsWith('zod/')) return nextResolve(specifier, context)
      try {
        return nextResolve(specifier, context)
      } catch {
        return { url: import.meta.resolve(specifier), shortCircuit: true }
      }
    },
  })
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : Object.assign(new Error(String(thrown)), { stack: '' })
    throw refused(file, whyNotImported(error), thrown)
  }
}

function whyNotImported(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  const what = oneLine(error.message) + placeOf(error)
  if (code === 'BAD_KIND') return `defines a kind that cannot be used. ${error.message}`
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return `cannot be run: ${what}. Types are only stripped here: write it without enums, namespaces and parameter properties, or compile it to .js.`
  }
  if (error instanceof SyntaxError) return `cannot be parsed: ${what}. Correct it.`
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
    return `imports what is not there: ${what}. Install it beside the module, or correct the path (with its .ts or .js ending).`
  }
  return `failed when it was imported: ${error.name}: ${what}. Correct it, or unset STELLWERK_KINDS to start without it.`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function checked(kind: unknown, file: string): OwnKind {
  try {
    return defineKind(kind as KindDefinition<z.ZodType>)
  } catch (error) {
    throw refused(file, `defines a kind that cannot be used. ${(error as Error).message}`, error)
  }
}

function refused(file: string, whatIsWrong: string, cause?: unknown): StartError {
  return new StartError(`The module ${file} (STELLWERK_KINDS) ${whatIsWrong}`, { cause })
}

function oneLine(message: string): string {
  return message.replace(/\s+/g, ' ').replace(/\.$/, '').trim()
}

/** Where it went wrong: the first place of the stack outside of this package and of Node.js. */
function placeOf(error: Error): string {
  const own = fileURLToPath(new URL('..', import.meta.url))
  const place = [...(error.stack ?? '').matchAll(places)]
    .map(([, head, url, path]) => head ?? path ?? decodeURI(url!))
    .find((each) => !each.startsWith(own))
  return place === undefined ? '' : ` (${place})`
}

/** The head of a syntax error, a module's URL, a script's path. */
const places = /^(\/.+:\d+)$|(?<!\w)file:\/\/(\/[^\s():]+:\d+)|\((\/[^()]+:\d+):\d+\)/gm
