import type { getDocumentProxy } from 'unpdf'

/** An open PDF, and a page of it. */
export type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>
export type PdfPage = Awaited<ReturnType<Pdf['getPage']>>
