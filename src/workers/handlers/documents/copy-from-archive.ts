import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentHeadBytes, documentType, type DocumentType } from '../../../jobs/document-type.ts'
import { measureStream } from '../../../objects/measure-stream.ts'
import { ObjectMissing, ObjectTooLarge } from '../../../objects/object-store.ts'
import type { WormArchive } from '../../../objects/worm-archive.ts'

interface Archived {
  readonly archiveKey: string
  readonly sha256: string
  readonly sizeBytes: number
}

/**
 * Copies an archived file to where it can be worked on, and checks while it passes that it is what was stored. Throws DocumentError
 * `integrity_violation`; what the archive cannot give at the moment is another error.
 */
export async function copyFromArchive(
  archive: WormArchive,
  { archiveKey, sha256, sizeBytes }: Archived,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const measure = measureStream({ maxBytes: sizeBytes })
  try {
    // Opened first: a stream that opens it by itself may still do so when its folder is being removed, and where it cannot be opened
    // nothing else stays open.
    await using file = await open(path, 'w', 0o600)
    const body = await archive.openRead(archiveKey)
    const through = (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> => measure.through(source)
    await pipeline(body, through, file.createWriteStream(), { signal })
  } catch (error) {
    if (error instanceof ObjectTooLarge) throw violation(`it has more than its ${sizeBytes} bytes`)
    if (error instanceof ObjectMissing)
      throw new Error(
        `The archive of this instance has no file ${archiveKey}. Let all instances share STELLWERK_ARCHIVE_DIR or a bucket, or bring the file back.`,
        { cause: error },
      )
    signal.throwIfAborted()
    throw error
  }
  const found = measure.result()
  if (found.sizeBytes !== sizeBytes) throw violation(`it has ${found.sizeBytes} bytes instead of ${sizeBytes}`)
  if (found.sha256 !== sha256) throw violation(`its SHA-256 is ${found.sha256} instead of ${sha256}`)
}

function violation(what: string): DocumentError {
  return new DocumentError(
    'integrity_violation',
    `The archived file is not the one that was stored: ${what}. Restore it from a backup, then replay the job.`,
  )
}

/** By the first bytes. Throws DocumentError `unsupported_type`. */
export async function typeOfFile(path: string, declared: string): Promise<DocumentType> {
  const file = await open(path, 'r')
  try {
    const head = Buffer.alloc(documentHeadBytes)
    const { bytesRead } = await file.read(head, 0, documentHeadBytes, 0)
    if (bytesRead === 0)
      throw new DocumentError('corrupt_document', 'The file is empty. Store it anew from its source.')
    const type = documentType(head.subarray(0, bytesRead))
    if (type !== null) return type
    throw new DocumentError(
      'unsupported_type',
      `This is no PDF, PNG, JPEG, TIFF, GIF, BMP, WebP or plain text (stored as ${declared}). Store it as PDF.`,
    )
  } finally {
    await file.close()
  }
}
