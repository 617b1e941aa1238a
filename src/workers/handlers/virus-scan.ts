import { NeverRetry, Snooze } from '../../jobs/errors.ts'
import type { ScanReply } from '../../jobs/scan-reply.ts'
import type { VirusScanPayload } from '../../jobs/virus-scan-payload.ts'
import { ObjectChanged, ObjectMissing, type ObjectFacts, type ObjectStore } from '../../objects/object-store.ts'
import { beginScan, type BegunScan } from '../../sql/begin-scan.ts'
import { recordScan } from '../../sql/record-scan.ts'
import type { Handler, HandlerContext, HandlerResult } from '../handler.ts'
import { ScannerError, type Clamd } from './scan/clamd.ts'
import { observeBytes } from './scan/observe-bytes.ts'
import { createZipLimit } from './scan/zip-limit.ts'
import { statementsIn } from './statements-in.ts'

export interface VirusScanDeps {
  readonly store: ObjectStore
  readonly scanner: Clamd
  /** What is larger is not looked at. */
  readonly maxBytes: number
  /** Told when a verdict is about to be committed that leaves objects behind. */
  readonly onLeftover: () => void
  readonly random?: () => number
}

type Context = HandlerContext<VirusScanPayload>

interface Verdict {
  readonly verdict: 'clean' | 'infected' | 'unscannable'
  /** Null: clean. */
  readonly signature: string | null
  /** Null: too large to be read at all. */
  readonly sha256: string | null
  readonly detectedType: string | null
  readonly scannerVersion: string | null
}

const mib = 1024 * 1024
const reportAbove = 5 * mib

/**
 * Scans one attachment. The bytes are first taken to a key that no URL writes to, and are read, judged, hashed and served from
 * there: whatever still arrives at the upload's URL changes nothing. What is found is a result of the job, not its failure.
 */
export function createVirusScan({
  store,
  scanner,
  maxBytes,
  onLeftover,
  random = Math.random,
}: VirusScanDeps): Handler<VirusScanPayload> {
  return async (context) => {
    const { payload, job } = context
    const { attachment_id: id, etag = null, attempt_reason: reason } = payload
    const [begun] = await context.transaction((tx) =>
      beginScan(statementsIn(tx), id, job.tenantId, job.id, etag, reason, store.id),
    )
    if (begun === undefined)
      throw new NeverRetry(
        'There is no such attachment in this tenant, or it has no bytes: they were never committed, or are deleted.',
      )
    if (begun.store !== store.id) throw elsewhere(context)
    if (!begun.mine) return { result: { status: begun.status, scanned: false } }

    const { sizeBytes } = await takeBytes(begun)
    // A store whose copies are not atomic may show half of one that another run of this job is making.
    if (sizeBytes !== begun.sizeBytes)
      throw new Error(`There are ${sizeBytes} bytes in quarantine, ${begun.sizeBytes} were committed.`)
    const verdict = sizeBytes > maxBytes ? tooLarge : await judge(context, begun)
    return finish(context, begun, verdict)
  }

  /** Where another instance's folder holds the bytes, that one has to do it; the longer none has, the rarer it is looked for. */
  function elsewhere({ job, log }: Context): Snooze {
    log.warn(
      'The bytes lie in the object store of another instance. Let the instances share STELLWERK_OBJECTS_DIR or a bucket.',
    )
    const age = Date.now() - job.createdAt.getTime()
    return new Snooze(Math.min(Math.max(age / 4, 500), 60_000) * (1 + random()))
  }

  /** Takes the bytes out of the reach of their upload URL, unless an earlier run has. */
  async function takeBytes({ objectKey, incomingKey, etag, sizeBytes }: BegunScan): Promise<ObjectFacts> {
    const taken = await stored(store.stat(objectKey))
    if (taken?.sizeBytes === sizeBytes) return taken
    try {
      await stored(store.move(incomingKey, objectKey, etag))
    } catch (error) {
      if (error instanceof ObjectChanged) throw changed()
      if (!(error instanceof ObjectMissing)) throw error
      // Perhaps another run of this job was quicker.
    }
    const moved = await stored(store.stat(objectKey))
    if (moved !== null) return moved
    throw new NeverRetry('The bytes are gone: they are no longer where they were put. Upload the file again.')
  }

  async function judge(context: Context, begun: BegunScan): Promise<Verdict> {
    const limitMs = 30_000 + Math.ceil(begun.sizeBytes / 1_000)
    const limit = AbortSignal.timeout(limitMs)
    const signal = AbortSignal.any([context.signal, limit])
    const observed = observeBytes(progressOf(context, begun.sizeBytes))
    const unpacked = createZipLimit(maxBytes)
    const body = await stored(store.openRead(begun.objectKey))
    let reply: ScanReply
    let scannerVersion: string | null
    try {
      scannerVersion = await scanner.version(signal)
      reply = await scanner.scan(observed.through(readable(body, unpacked.push)), signal)
    } catch (error) {
      context.signal.throwIfAborted()
      if (limit.aborted) throw new ScannerError(`The scanner has not answered within ${Math.round(limitMs / 1_000)} s.`)
      throw error
    } finally {
      body.destroy()
    }
    if (reply.verdict === 'fault') throw new ScannerError(`${reply.message}. Look into the log of clamd.`)
    const { verdict, signature } = reply
    if (observed.passed() < begun.sizeBytes) {
      // It had said enough before it had seen all: what it has not seen cannot be clean.
      if (verdict === 'clean') throw new ScannerError('The scanner answered before it had all bytes.')
      return { verdict, signature, sha256: null, detectedType: null, scannerVersion }
    }
    const { sha256, detectedType } = await observed.result()
    if (begun.sha256 !== null && begun.sha256 !== sha256) throw changed()
    const facts = { sha256, detectedType, scannerVersion }
    if (verdict === 'clean' && unpacked.exceeded())
      return { verdict: 'unscannable', signature: 'Limits.UnpackedSize', ...facts }
    return { verdict, signature, ...facts }
  }

  async function finish({ job, payload }: Context, begun: BegunScan, found: Verdict): Promise<HandlerResult> {
    const { verdict, signature, sha256, detectedType, scannerVersion } = found
    const place = placeOf(found, begun, job.tenantId, payload.attachment_id, job.id)
    // Copied, not moved: until the commit the bytes have to be found where the row says.
    if (place !== begun.objectKey) await stored(store.copy(begun.objectKey, place))
    return {
      result: { status: verdict, ...(signature !== null && { signature }), scanned: true },
      async commit(tx) {
        const id = payload.attachment_id
        await recordScan(statementsIn(tx), id, job.id, verdict, signature, scannerVersion, sha256, detectedType, place)
        onLeftover()
      },
    }
  }
}

const tooLarge: Verdict = {
  verdict: 'unscannable',
  signature: 'Limits.UploadSize',
  sha256: null,
  detectedType: null,
  scannerVersion: null,
}

/** What is clean lies under its own hash, everything else in quarantine. */
function placeOf(
  { verdict, sha256 }: Verdict,
  { objectKey }: BegunScan,
  tenantId: string,
  id: string,
  jobId: string,
): string {
  if (verdict === 'clean') return `objects/${tenantId}/${sha256}`
  return objectKey.startsWith('quarantine/') ? objectKey : `quarantine/${tenantId}/${id}/${jobId}`
}

/** Small files are through before anybody could look. */
function progressOf({ progress }: Context, total: number): ((bytes: number) => void) | undefined {
  if (total <= reportAbove) return undefined
  let told = 0
  return (done) => {
    if (done - told < mib && done < total) return
    told = done
    void progress({ done, total, message: 'scanning' }).catch(() => undefined)
  }
}

function changed(): NeverRetry {
  return new NeverRetry('The bytes are not those that were committed: they were replaced. Upload the file again.')
}

/** Paths and hosts of a store are nobody's business but its operator's. */
async function stored<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ObjectMissing || error instanceof ObjectChanged) throw error
    throw storeFault(error)
  }
}

async function* readable(body: AsyncIterable<Buffer>, push: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      push(chunk)
      yield chunk
    }
  } catch (error) {
    throw storeFault(error)
  }
}

function storeFault(error: unknown): Error {
  const { code, name } = error as NodeJS.ErrnoException
  return new Error(`The object store failed (${code ?? name}).`, { cause: error })
}
