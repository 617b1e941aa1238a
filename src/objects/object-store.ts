import type { Readable } from 'node:stream'

/** Where bytes lie that are too many for a row: uploads, attachments, import files, documents. */
export interface ObjectStore {
  /**
   * Stores the whole stream under a new key and answers what was stored; a reader never sees half of it. Throws ObjectTooLarge as
   * soon as `maxBytes` is passed, and ObjectExists when the key is taken; then nothing is stored.
   */
  put(
    key: string,
    body: Readable,
    limits: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ): Promise<StoredObject>
  /** Throws ObjectMissing. */
  openRead(key: string): Promise<Readable>
  /** Null: there is none. */
  stat(key: string): Promise<ObjectFacts | null>
  /** Throws ObjectMissing; what stood at `to` is replaced. */
  move(from: string, to: string): Promise<void>
  /** There is none afterwards, also where there was none. */
  remove(key: string): Promise<void>
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
