import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import S3rver, { type Store } from '@20minutes/s3rver'
import type { S3Settings } from '../../src/objects/s3-store.ts'

/** A server that speaks S3 over a folder. It knows no conditions (If-Match), as several stores do not. */
export interface S3Server {
  readonly settings: S3Settings
  stop(): Promise<void>
}

export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'stellwerk-s3-'))
  const bucket = 'objects'
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  })
  oneAtATime(server.store)
  const { port } = await server.run()
  return {
    settings: {
      bucket,
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
      pathStyle: true,
      prefix: 'stellwerk',
    },
    async stop() {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/**
 * Makes the store keep what S3 promises of one object: it is there whole, old or new, or not at all. As it comes, a delete that empties
 * a folder takes along what is being put beside it (6 of 400 objects were moved and lost), and a copy of what is being overwritten has no
 * bytes (53 of 100).
 */
function oneAtATime(store: Store): void {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Args extends unknown[]>(work: (...args: Args) => Promise<unknown>) => {
    const method = work.bind(store) as typeof work
    return (...args: Args): Promise<unknown> => {
      const done = last.then(() => method(...args))
      last = done.catch(() => undefined)
      return done
    }
  }
  store.getObject = inTurn(store.getObject)
  store.copyObject = inTurn(store.copyObject)
  store.deleteObject = inTurn(store.deleteObject)
  const put = store.putObject.bind(store)
  const replace = inTurn(async (object: Parameters<Store['putObject']>[0]) => {
    // Who reads the old one has its file.
    await rm(store.getResourcePath(object.bucket, object.key, 'object'), { force: true })
    return put(object)
  })
  store.putObject = async (object) => {
    // Nobody waits for a body that comes slowly.
    object.content = Readable.from([Buffer.isBuffer(object.content) ? object.content : await buffer(object.content)])
    return replace(object)
  }
}
