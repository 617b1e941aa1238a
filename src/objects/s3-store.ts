import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { attachmentDisposition } from './disposition.ts'
import { measureStream } from './measure-stream.ts'
import {
  checkObjectKey,
  ObjectChanged,
  ObjectExists,
  ObjectMissing,
  type DirectLinks,
  type ObjectFacts,
  type ObjectStore,
} from './object-store.ts'

export interface S3Settings {
  readonly bucket: string
  /** Null: Amazon's own. */
  readonly endpoint: string | null
  readonly region: string
  /** Null: as the SDK finds them in its environment. */
  readonly accessKeyId: string | null
  readonly secretAccessKey: string | null
  readonly pathStyle: boolean
  /** Stands before every key; null: nothing. */
  readonly prefix: string | null
}

/** S3 wants parts of at least 5 MiB; one at a time is held in memory. */
const partBytes = 8 * 1024 * 1024
const requestWithinMs = 60_000

/** Objects in a bucket of S3, or of a store that speaks its protocol. */
export function createS3Store(settings: S3Settings): ObjectStore & { readonly direct: DirectLinks; close(): void } {
  const { bucket: Bucket, prefix } = settings
  const client = createClient(settings)
  const at = (key: string) => ({ Bucket, Key: `${prefix === null ? '' : `${prefix}/`}${checkObjectKey(key)}` })

  const look = async (key: string): Promise<ObjectFacts | null> => {
    try {
      const { ContentLength, ETag } = await client.send(new HeadObjectCommand(at(key)))
      return { sizeBytes: ContentLength ?? 0, etag: bare(ETag) }
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  const putParts = async (key: string, parts: AsyncGenerator<Buffer>): Promise<void> => {
    const first = (await parts.next()).value ?? Buffer.alloc(0)
    const second = await parts.next()
    if (second.done === true) {
      await client.send(new PutObjectCommand({ ...at(key), Body: first, IfNoneMatch: '*' }))
      return
    }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at(key)))
    try {
      const Parts: { PartNumber: number; ETag: string | undefined }[] = []
      const send = async (Body: Buffer): Promise<void> => {
        const PartNumber = Parts.length + 1
        const { ETag } = await client.send(new UploadPartCommand({ ...at(key), UploadId, PartNumber, Body }))
        Parts.push({ PartNumber, ETag })
      }
      await send(first)
      await send(second.value)
      for await (const part of parts) await send(part)
      await client.send(
        new CompleteMultipartUploadCommand({ ...at(key), UploadId, MultipartUpload: { Parts }, IfNoneMatch: '*' }),
      )
    } catch (error) {
      // Otherwise its parts stay, and are paid for.
      await client.send(new AbortMultipartUploadCommand({ ...at(key), UploadId })).catch(() => undefined)
      throw error
    }
  }

  const copy = async (from: string, to: string, etag?: string): Promise<void> => {
    const { Key } = at(from)
    const CopySource = [Bucket, ...Key.split('/')].map(encodeURIComponent).join('/')
    try {
      await client.send(
        new CopyObjectCommand({ ...at(to), CopySource, ...(etag !== undefined && { CopySourceIfMatch: etag }) }),
      )
    } catch (error) {
      if (isMissing(error)) throw new ObjectMissing(from, { cause: error })
      if (statusOf(error) === 412) throw new ObjectChanged(from, { cause: error })
      throw error
    }
  }

  return {
    id: `s3:${Bucket}${prefix === null ? '' : `/${prefix}`}`,
    direct: createDirectLinks(client, at),
    stat: look,
    copy,
    async put(key, body, limits) {
      // Stores that do not know If-None-Match are asked before; two at once may then still overwrite one another.
      if ((await look(key)) !== null) throw new ObjectExists(key)
      const measure = measureStream(limits)
      const source = measure.through(limits.signal ? Readable.from(abortable(body, limits.signal)) : body)
      try {
        await putParts(key, inParts(source))
      } catch (error) {
        if (statusOf(error) === 412) throw new ObjectExists(key, { cause: error })
        throw error
      }
      return { ...(await look(key))!, ...measure.result() }
    },
    async openRead(key) {
      try {
        const { Body } = await client.send(new GetObjectCommand(at(key)))
        return Body as Readable
      } catch (error) {
        if (isMissing(error)) throw new ObjectMissing(key, { cause: error })
        throw error
      }
    },
    async move(from, to, etag) {
      await copy(from, to, etag)
      if (etag !== undefined) {
        // Some stores do not know the condition: who overwrote the object before the copy has changed what stands there now.
        const facts = await look(from)
        if (facts !== null && facts.etag !== etag) {
          await client.send(new DeleteObjectCommand(at(to)))
          throw new ObjectChanged(from)
        }
      }
      await client.send(new DeleteObjectCommand(at(from)))
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key)))
    },
    close: () => client.destroy(),
  }
}

function createClient({ endpoint, region, accessKeyId, secretAccessKey, pathStyle }: S3Settings): S3Client {
  return new S3Client({
    region,
    forcePathStyle: pathStyle,
    // The SDK's checksums in trailers are refused by stores other than Amazon's (seen: 400 on a streamed put).
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { requestTimeout: requestWithinMs, connectionTimeout: 10_000 },
    ...(endpoint !== null && { endpoint }),
    ...(accessKeyId !== null && secretAccessKey !== null && { credentials: { accessKeyId, secretAccessKey } }),
  })
}

function createDirectLinks(client: S3Client, at: (key: string) => { Bucket: string; Key: string }): DirectLinks {
  return {
    async upload(key, { sizeBytes, contentType, expiresInMs }) {
      const url = await getSignedUrl(
        client,
        new PutObjectCommand({ ...at(key), ContentLength: sizeBytes, ContentType: contentType }),
        // Signed, so that another size or type is refused by the store.
        { expiresIn: expiresInMs / 1_000, signableHeaders: new Set(['content-length', 'content-type', 'host']) },
      )
      return { url, headers: { 'content-type': contentType } }
    },
    download: (key, { filename, contentType, expiresInMs }) =>
      getSignedUrl(
        client,
        new GetObjectCommand({
          ...at(key),
          ResponseContentType: contentType,
          ResponseContentDisposition: attachmentDisposition(filename),
        }),
        { expiresIn: expiresInMs / 1_000 },
      ),
  }
}

/** Gathers a stream into parts of one size, the last one smaller. */
async function* inParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const chunk of source) {
    held.push(chunk)
    bytes += chunk.length
    if (bytes < partBytes) continue
    yield Buffer.concat(held)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held)
}

/** A stream that ends with the signal's reason. */
async function* abortable(body: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  const abort = (): void => void body.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort)
  try {
    signal.throwIfAborted()
    for await (const chunk of body) yield chunk as Buffer
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const bare = (etag: string | undefined): string => (etag ?? '').replaceAll('"', '')

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}

function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket'
}
