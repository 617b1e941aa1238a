import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { HttpError } from './send.ts'

/** A file on its way in. What is said about it is the caller's word, not a fact. */
export interface IncomingFile {
  /** Without folders; null: none was given. */
  readonly filename: string | null
  readonly contentType: string
  readonly body: Readable
}

interface MultipartOptions<Stored> {
  /** Name of the one file. */
  readonly file: string
  /** Names of the text fields that may stand beside it. */
  readonly fields: readonly string[]
  /** Takes the file while it comes, and reads it to its end. What it throws refuses the form. */
  readonly store: (file: IncomingFile) => Promise<Stored>
  /** Takes back what was stored when the rest of the form turns out to be no good. */
  readonly discard: (stored: Stored) => Promise<void>
}

interface MultipartForm<Stored> {
  readonly fields: ReadonlyMap<string, string>
  readonly file: Stored
}

const mostFieldBytes = 64 * 1024
const readPastMs = 2_000
/** Until then a client that sends nothing is waited for. */
const idleMs = 60_000

/**
 * Reads a form with one file and some fields, in whatever order they come, without holding the file in memory: `store` sets the
 * pace. Throws HttpError where the form is no good, and what `store` threw; then nothing is left behind.
 */
export async function readMultipart<Stored>(
  request: IncomingMessage,
  { file: fileField, fields: fieldNames, store, discard }: MultipartOptions<Stored>,
): Promise<MultipartForm<Stored>> {
  const parser = parserOf(request, fileField, fieldNames.length)
  const fields = new Map<string, string>()
  const { promise: whole, resolve, reject } = Promise.withResolvers<void>()
  let storing: Promise<Stored> | undefined
  let body: Readable | undefined

  parser.on('file', (name, stream, filename, _encoding, contentType) => {
    // Its own listener: a stream that ends early must not end the process.
    stream.on('error', () => undefined)
    if (name !== fileField) return refuse(`The form has a file named ${name}; the only one there is is ${fileField}.`)
    if (storing !== undefined) return refuse(`The form has more than one ${fileField}. Send one at a time.`)
    body = stream
    storing = store({ filename: filename || null, contentType, body: stream })
    storing.catch(reject)
  })
  parser.on('field', (name, value, _nameTruncated, truncated) => {
    if (!fieldNames.includes(name))
      refuse(`The form has a field named ${name}. What there is: ${[fileField, ...fieldNames].join(', ')}.`)
    else if (fields.has(name)) refuse(`The field ${name} comes twice.`)
    else if (truncated) refuse(`The field ${name} has more than ${mostFieldBytes / 1024} KiB.`)
    else fields.set(name, value)
  })
  parser.on('partsLimit', () => refuse('The form has more parts than there are fields.'))
  parser.on('error', () => refuse('The form is not well-formed multipart, or it ended early. Send it again, whole.'))
  parser.on('finish', resolve)
  request.on('error', reject)
  request.on('close', () => {
    if (!request.complete) reject(new Error('The client went away in the middle of the form.'))
  })
  request.setTimeout(idleMs, () => refuse(`Nothing came for ${idleMs / 1_000} seconds.`))

  const refuse = (message: string): void => reject(unreadable(message))

  request.pipe(parser)
  try {
    await whole
    if (storing === undefined) throw unreadable(`The form has no file. Send it as the part named ${fileField}.`)
    return { fields, file: await storing }
  } catch (error) {
    request.unpipe(parser)
    body?.destroy(error as Error)
    await Promise.all([storing?.then(discard, () => undefined), readPast(request)])
    throw error
  } finally {
    request.setTimeout(0)
  }
}

function parserOf({ headers }: IncomingMessage, file: string, fields: number): BusboyInstance {
  const contentType = headers['content-type'] ?? ''
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw new HttpError(415, 'BAD_USER_INPUT', 'Send a form, with `content-type: multipart/form-data`.', {
      accept: 'multipart/form-data',
      ...closing,
    })
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': contentType },
      isPartAFile: (name, _type, filename) => name === file || filename !== undefined,
      limits: { fieldSize: mostFieldBytes, parts: fields + 4, headerPairs: 20, headerSize: 8 * 1024 },
    })
  } catch {
    throw unreadable('The content type of the form names no boundary.')
  }
}

/** Who still sends does not hear the answer: a connection that is closed under it is a broken one. But not for ever. */
export async function readPast(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const late = setTimeout(resolve, readPastMs)
  request.once('end', resolve).once('close', resolve).resume()
  await promise
  clearTimeout(late)
}

const closing = { connection: 'close' }

function unreadable(message: string): HttpError {
  return new HttpError(400, 'BAD_USER_INPUT', message, closing)
}
