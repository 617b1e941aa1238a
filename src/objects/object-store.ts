import type { Readable } from 'node:stream'
import { StellwerkError } from '../jobs/errors.ts'

/** Where bytes lie that are too many for a row: uploads, attachments, import files, documents. */
export interface ObjectStore {
  /**
   * Names these bytes' place, e.g. `folder:<uuid>` or `s3:<bucket>`: what lies in another store cannot be found in this one. Kept
   * with the rows that refer to objects, since every instance may have a folder of its own.
   */
  readonly id: string
  /** Where callers reach the store itself; null: they come through signed URLs of this service. */
  readonly direct: DirectLinks | null
  /**
   * Stores the whole stream under a new key and answers what was stored; a reader never sees half of it. Throws ObjectTooLarge as
   * soon as `maxBytes` is passed, ObjectTooSmall when it ends below `minBytes`, and ObjectExists when the key is taken; then nothing
   * is stored.
   */
  put(key: string, body: Readable, limits: PutLimits): Promise<StoredObject>
  /** Throws ObjectMissing. What was stored when it was opened is read to its end, also when it is moved or removed meanwhile. */
  openRead(key: string): Promise<Readable>
  /** Null: there is none. */
  stat(key: string): Promise<ObjectFacts | null>
  /** Throws ObjectMissing, and ObjectChanged when the bytes at `from` are not those of `etag`; what stood at `to` is replaced. */
  move(from: string, to: string, etag?: string): Promise<void>
  /** Throws ObjectMissing; what stood at `to` is replaced. */
  copy(from: string, to: string): Promise<void>
  /** There is none afterwards, also where there was none. */
  remove(key: string): Promise<void>
}

export interface PutLimits {
  readonly maxBytes: number
  readonly minBytes?: number
  readonly signal?: AbortSignal
}

export interface ObjectFacts {
  readonly sizeBytes: number
  /** Changes when the bytes change. */
  readonly etag: string
}

export interface StoredObject extends ObjectFacts {
  /** Hexadecimal, taken while the bytes passed. */
  readonly sha256: string
}

/** Signed URLs of the store itself. */
export interface DirectLinks {
  /** Takes exactly this size and type. */
  upload(key: string, terms: UploadTerms): Promise<{ readonly url: string; readonly headers: Record<string, string> }>
  download(key: string, terms: DownloadTerms): Promise<string>
}

export interface UploadTerms {
  readonly sizeBytes: number
  readonly contentType: string
  readonly expiresInMs: number
}

export interface DownloadTerms {
  readonly filename: string
  readonly contentType: string
  readonly expiresInMs: number
}

export class ObjectMissing extends StellwerkError {
  constructor(key: string, options?: ErrorOptions) {
    super('OBJECT_MISSING', `There is no object ${key}.`, options)
  }
}

export class ObjectExists extends StellwerkError {
  constructor(key: string, options?: ErrorOptions) {
    super('OBJECT_EXISTS', `There is an object ${key} already; objects are never overwritten.`, options)
  }
}

export class ObjectChanged extends StellwerkError {
  constructor(key: string, options?: ErrorOptions) {
    super('OBJECT_CHANGED', `The object ${key} is not what it was.`, options)
  }
}

export class ObjectTooLarge extends StellwerkError {
  constructor(maxBytes: number) {
    super('OBJECT_TOO_LARGE', `There are more than ${maxBytes} bytes.`)
  }
}

export class ObjectTooSmall extends StellwerkError {
  constructor(minBytes: number, bytes: number) {
    super('OBJECT_TOO_SMALL', `There are ${bytes} bytes instead of ${minBytes}.`)
  }
}

const keyForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,199}){0,7}$/

/** Whether a text may be the key of an object: parts of letters, digits, `.`, `_` and `-`, none of which begins with a dot. */
export function isObjectKey(key: string): boolean {
  return keyForm.test(key)
}

/** Keys are made by us: one of another form is a fault of the code, and must not reach the file system. */
export function checkObjectKey(key: string): string {
  if (!isObjectKey(key)) throw new TypeError(`${JSON.stringify(key)} cannot be the key of an object.`)
  return key
}
