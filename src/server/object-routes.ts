import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { attachmentDisposition } from '../objects/disposition.ts'
import {
  ObjectExists,
  ObjectMissing,
  ObjectTooLarge,
  ObjectTooSmall,
  type ObjectStore,
} from '../objects/object-store.ts'
import { linkPaths, type LinkSigner, type SignedUpload } from '../objects/signed-links.ts'
import type { Origin } from './origins.ts'
import type { Routes } from './router.ts'
import { HttpError } from './send.ts'

interface ObjectRoutesDeps {
  readonly store: ObjectStore
  readonly signer: LinkSigner
  readonly originOf: (request: IncomingMessage) => Origin
  /** An upload of which nothing comes for so long is ended. */
  readonly idleMs?: number
}

const hour = 60 * 60 * 1_000
/** What is read of a refused body, so that the answer reaches a client that is still sending. */
const drainBytes = 16 * 1024 * 1024
const drainMs = 5_000
/** A reader who goes away, in the middle or before the first byte, is no fault. */
const readerGone = new Set<string | undefined>(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])

/** Where bytes come in and go out under signed URLs. The URL is the whole right: no token is asked for. */
export function createObjectRoutes({ store, signer, originOf, idleMs = 30_000 }: ObjectRoutesDeps): Routes {
  const allowOrigin = (request: IncomingMessage, response: ServerResponse): void => {
    const origin = originOf(request)
    response.setHeader('vary', 'origin')
    if (origin.kind === 'allowed') response.setHeader('access-control-allow-origin', origin.origin)
  }

  const put = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    allowOrigin(request, response)
    try {
      const link = signer.checkUpload(request.url!)
      if (typeof link === 'string') throw refusedLink(link)
      checkAnnounced(request, link)
      request.setTimeout(idleMs, () => request.destroy(new Error('The upload has stopped.')))
      // Once all bytes are here it is our disk that is waited for.
      request.once('end', () => request.setTimeout(0))
      const { etag } = await store.put(link.key, request, { maxBytes: link.sizeBytes, minBytes: link.sizeBytes })
      response.writeHead(200, { etag: `"${etag}"`, 'content-length': 0, 'cache-control': 'no-store' })
      response.end()
    } catch (error) {
      await drain(request)
      throw asHttpError(error)
    }
  }

  const get = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    allowOrigin(request, response)
    const link = signer.checkDownload(request.url!)
    if (typeof link === 'string') throw refusedLink(link)
    const found = await store.stat(link.key)
    if (found === null) throw objectGone()
    const body =
      request.method === 'HEAD'
        ? null
        : await store.openRead(link.key).catch((error: unknown) => {
            throw asHttpError(error)
          })
    response.writeHead(200, {
      'content-type': link.contentType,
      'content-length': found.sizeBytes,
      'content-disposition': attachmentDisposition(link.filename),
      // What users have uploaded never runs as a page of ours.
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
      etag: `"${found.etag}"`,
    })
    if (body === null) {
      response.end()
      return
    }
    await pipeline(body, response).catch((error: NodeJS.ErrnoException) => {
      // Left open where the reader was gone before it began.
      body.destroy()
      if (!readerGone.has(error.code)) throw error
    })
  }

  return {
    [linkPaths.upload]: { PUT: put, OPTIONS: preflight('PUT', allowOrigin), bodyWithinMs: hour },
    [linkPaths.download]: { GET: get, OPTIONS: preflight('GET', allowOrigin) },
  }
}

function preflight(method: string, allowOrigin: (request: IncomingMessage, response: ServerResponse) => void) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    allowOrigin(request, response)
    response.writeHead(204, {
      'access-control-allow-methods': method,
      'access-control-allow-headers': 'content-type',
      'access-control-max-age': '600',
    })
    response.end()
  }
}

function checkAnnounced({ headers }: IncomingMessage, { sizeBytes, contentType }: SignedUpload): void {
  if ((headers['content-type'] ?? '').toLowerCase() !== contentType.toLowerCase())
    throw badInput(`Send the bytes with \`content-type: ${contentType}\`, as it was announced.`)
  const length = headers['content-length']
  if (length !== undefined && Number(length) !== sizeBytes) throw wrongSize(sizeBytes, Number(length) > sizeBytes)
}

function refusedLink(why: 'forged' | 'expired'): HttpError {
  return why === 'expired'
    ? new HttpError(403, 'FORBIDDEN', 'This URL has expired. Ask for a new one.')
    : new HttpError(
        403,
        'FORBIDDEN',
        'This URL is not signed by this service, or it was changed. Use it as it was given.',
      )
}

function asHttpError(error: unknown): unknown {
  if (error instanceof ObjectMissing) return objectGone()
  if (error instanceof ObjectExists)
    return new HttpError(409, 'BAD_USER_INPUT', 'These bytes have been sent already, and are never overwritten.')
  if (error instanceof ObjectTooLarge) return wrongSize(null, true)
  if (error instanceof ObjectTooSmall) return wrongSize(null, false)
  if (!(error instanceof HttpError) && wasCutOff(error))
    return new HttpError(408, 'BAD_USER_INPUT', 'The bytes stopped coming. Send them again, to the same URL.')
  return error
}

const objectGone = (): HttpError => new HttpError(404, 'NOT_FOUND', 'These bytes are not here any more.')

function wrongSize(sizeBytes: number | null, larger: boolean): HttpError {
  const announced = sizeBytes === null ? 'was announced' : `the ${sizeBytes} bytes that were announced`
  return larger
    ? new HttpError(413, 'BAD_USER_INPUT', `There are more bytes than ${announced}.`, { connection: 'close' })
    : badInput(`There are fewer bytes than ${announced}.`)
}

function badInput(message: string): HttpError {
  return new HttpError(400, 'BAD_USER_INPUT', message, { connection: 'close' })
}

const wasCutOff = (error: unknown): boolean =>
  ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '') ||
  (error as Error).message === 'The upload has stopped.'

async function drain(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  let bytes = 0
  const late = setTimeout(resolve, drainMs)
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > drainBytes) resolve()
  })
  for (const end of ['end', 'close', 'error']) request.once(end, resolve)
  await promise
  clearTimeout(late)
  request.pause()
}
