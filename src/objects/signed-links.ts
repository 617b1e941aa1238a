import { createHmac, timingSafeEqual } from 'node:crypto'
import { isObjectKey, type DownloadTerms, type UploadTerms } from './object-store.ts'

export type SignedUpload = Pick<UploadTerms, 'sizeBytes' | 'contentType'> & { readonly key: string }
export type SignedDownload = Pick<DownloadTerms, 'filename' | 'contentType'> & { readonly key: string }

/** `forged`: not ours, or changed on the way. */
export type Checked<Signed> = Signed | 'forged' | 'expired'

/**
 * Paths that carry their own right: who holds one may put exactly these bytes, or read this object, until it expires. Everything
 * they say is signed: method, key, size, type, name and end.
 */
export interface LinkSigner {
  upload(key: string, terms: UploadTerms): string
  download(key: string, terms: DownloadTerms): string
  /** `pathAndQuery` as it came with the request. */
  checkUpload(pathAndQuery: string): Checked<SignedUpload>
  checkDownload(pathAndQuery: string): Checked<SignedDownload>
}

/** Below these paths such links are served. */
export const linkPaths = { upload: '/uploads/', download: '/downloads/' } as const

type Method = 'PUT' | 'GET'

/** `secret` may serve for other things too: the key of the signatures is derived from it for this purpose alone. */
export function createLinkSigner(secret: string, now: () => number = Date.now): LinkSigner {
  const signingKey = createHmac('sha256', secret).update('stellwerk object links 1').digest()
  const signatureOf = (method: Method, path: string, query: URLSearchParams): Buffer =>
    createHmac('sha256', signingKey).update(`${method}\n${path}\n${query.toString()}`).digest()

  const sign = (
    method: Method,
    path: string,
    expiresInMs: number,
    fields: Readonly<Record<string, string>>,
  ): string => {
    const query = new URLSearchParams({ expires: String(Math.floor((now() + expiresInMs) / 1_000)), ...fields })
    const signature = signatureOf(method, path, query).toString('base64url')
    query.set('signature', signature)
    return `${path}?${query.toString()}`
  }

  const check = (
    method: Method,
    base: string,
    pathAndQuery: string,
  ): Checked<{ key: string; query: URLSearchParams }> => {
    const [path, text = ''] = pathAndQuery.split('?', 2) as [string, string?]
    const query = new URLSearchParams(text)
    const given = Buffer.from(query.get('signature') ?? '', 'base64url')
    query.delete('signature')
    const expected = signatureOf(method, path, query)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged'
    const key = path.slice(base.length)
    if (!path.startsWith(base) || !isObjectKey(key)) return 'forged'
    return Number(query.get('expires')) * 1_000 <= now() ? 'expired' : { key, query }
  }

  return {
    upload: (key, { sizeBytes, contentType, expiresInMs }) =>
      sign('PUT', `${linkPaths.upload}${key}`, expiresInMs, { size: String(sizeBytes), type: contentType }),
    download: (key, { filename, contentType, expiresInMs }) =>
      sign('GET', `${linkPaths.download}${key}`, expiresInMs, { name: filename, type: contentType }),
    checkUpload(pathAndQuery) {
      const checked = check('PUT', linkPaths.upload, pathAndQuery)
      if (typeof checked === 'string') return checked
      const { key, query } = checked
      return { key, sizeBytes: Number(query.get('size')), contentType: query.get('type')! }
    },
    checkDownload(pathAndQuery) {
      const checked = check('GET', linkPaths.download, pathAndQuery)
      if (typeof checked === 'string') return checked
      const { key, query } = checked
      return { key, filename: query.get('name')!, contentType: query.get('type')! }
    },
  }
}
