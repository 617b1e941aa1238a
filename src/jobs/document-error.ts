/** Why a document cannot be read, whoever tries it and how often. */
export type DocumentErrorCode =
  | 'missing_document'
  | 'integrity_violation'
  | 'corrupt_document'
  | 'encrypted_document'
  | 'unsupported_type'
  | 'too_large'
  | 'unreadable_document'

/** A document that cannot be read: the job goes to the dead-letter queue with `<code>: <message>`. */
export class DocumentError extends Error {
  readonly code: DocumentErrorCode
  constructor(code: DocumentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = code
    this.code = code
  }
}
