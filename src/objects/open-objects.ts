import { join } from 'node:path'
import type { Config } from '../config.ts'
import { StellwerkError } from '../jobs/errors.ts'
import { createFolderStore, folderSecret } from './folder-store.ts'
import type { DirectLinks, ObjectStore } from './object-store.ts'
import { createLinkSigner, type LinkSigner } from './signed-links.ts'

/** Short-lived URLs under which callers put and get bytes: of the store itself where it has any, else of this service. */
export type ObjectLinks = DirectLinks

/** The object store of this process, and how callers reach it. */
export interface Objects {
  readonly store: ObjectStore
  /** Making one throws SERVICE_UNAVAILABLE where there is no key to sign with. */
  readonly links: ObjectLinks
  /** Checks the links that come back here; null: there are none. */
  readonly signer: LinkSigner | null
  close(): void
}

interface OpenObjects {
  readonly config: Pick<Config, 's3' | 'objectsDir' | 'secretKey' | 'env'>
  readonly dataDir: string
  /** Where callers reach this service; asked for each link, since the port is known only once HTTP listens. */
  readonly baseUrl: () => string
}

/** Opens the bucket, or the folder in the data directory. */
export async function openObjects({ config, dataDir, baseUrl }: OpenObjects): Promise<Objects> {
  if (config.s3 !== null) {
    // The client is 35 MB of memory.
    const { createS3Store } = await import('./s3-store.ts')
    const store = createS3Store(config.s3)
    return { store, links: store.direct, signer: null, close: store.close }
  }
  const folder = config.objectsDir ?? join(dataDir, 'objects')
  const store = await createFolderStore(folder)
  const secret = config.secretKey ?? (config.env === 'development' ? await folderSecret(folder) : null)
  const signer = secret === null ? null : createLinkSigner(secret)
  return { store, links: linksOf(signer, baseUrl), signer, close() {} }
}

function linksOf(signer: LinkSigner | null, baseUrl: () => string): ObjectLinks {
  const ready = (): LinkSigner => {
    if (signer !== null) return signer
    throw new StellwerkError(
      'SERVICE_UNAVAILABLE',
      'Files cannot be sent or read here: there is no key to sign their URLs with. An operator sets STELLWERK_SECRET_KEY, or STELLWERK_S3_BUCKET.',
    )
  }
  return {
    upload: async (key, terms) => ({
      url: `${baseUrl()}${ready().upload(key, terms)}`,
      headers: { 'content-type': terms.contentType },
    }),
    download: async (key, terms) => `${baseUrl()}${ready().download(key, terms)}`,
  }
}
